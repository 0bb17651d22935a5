//! The metrics that an autoscaler goes by: what may be wrong with them, and how a table shows them.

use serde_json::{Value, json};

use super::super::{
    forms::{each, required, text},
    workload,
};
use crate::api::{
    fault::{Faults, Path},
    object,
    quantity::Quantity,
    valid,
};

/// Types of metrics and the fields that describe them.
const SOURCES: [(&str, &str); 5] = [
    ("ContainerResource", "containerResource"),
    ("External", "external"),
    ("Object", "object"),
    ("Pods", "pods"),
    ("Resource", "resource"),
];

fn field_of(metric: &Value) -> Option<&'static str> {
    SOURCES.iter().find(|(kind, _)| metric["type"] == *kind).map(|(_, field)| *field)
}

/// Writes the quantities of all targets in their canonical form.
pub fn normalize(spec: &mut Value) {
    for metric in workload::items_mut(spec, "metrics") {
        for (_, field) in SOURCES {
            let Some(target) = metric.get_mut(field).and_then(|source| source.get_mut("target")) else {
                continue;
            };
            for value in ["value", "averageValue"] {
                if let Some(quantity) = target.get(value).and_then(Quantity::of) {
                    target[value] = quantity.to_string().into();
                }
            }
        }
    }
}

/// What is wrong with a metric.
pub fn validate(metric: &Value, path: &Path, faults: &mut Faults) {
    let kinds = SOURCES.map(|(kind, _)| kind);
    let Some(expected) = field_of(metric) else {
        let kind = json!(text(metric, "type"));
        return faults.not_supported(&path.child("type"), &kind, &kinds);
    };
    for (_, field) in SOURCES {
        let (source, path) = (&metric[field], path.child(field));
        match (source.is_null(), field == expected) {
            (true, true) => faults.required(&path, "must populate information for the given metric source"),
            (false, false) => faults.forbidden(&path, "must populate the given metric source only"),
            (false, true) => validate_source(source, field, &path, faults),
            (true, false) => {}
        }
    }
}

fn validate_source(source: &Value, field: &str, path: &Path, faults: &mut Faults) {
    match field {
        "object" => {
            validate_reference(&source["describedObject"], &path.child("describedObject"), faults);
            validate_identifier(&source["metric"], &path.child("metric"), faults);
        }
        "external" | "pods" => validate_identifier(&source["metric"], &path.child("metric"), faults),
        _ => {
            if text(source, "name").is_empty() {
                faults.required(&path.child("name"), "must specify a resource name");
            }
        }
    }
    if field == "containerResource" {
        match text(source, "container") {
            "" => faults.required(&path.child("container"), "must specify a container"),
            name => {
                if let Some(fault) = valid::dns_label(name) {
                    faults.invalid_text(&path.child("container"), name, fault);
                }
            }
        }
    }
    let path = path.child("target");
    validate_target(&source["target"], &path, faults);
    validate_choice(&source["target"], field, &path, faults);
}

/// Which of a target's numbers a source can have.
fn validate_choice(target: &Value, field: &str, path: &Path, faults: &mut Faults) {
    let has = |field: &str| !target[field].is_null();
    let average = path.child("averageValue");
    match field {
        "object" if !has("value") && !has("averageValue") => {
            faults.required(&average, "must set either a target value or averageValue");
        }
        "external" if !has("value") && !has("averageValue") => {
            faults.required(&average, "must set either a target value for metric or a per-pod target");
        }
        "external" if has("value") && has("averageValue") => {
            let detail = "may not set both a target value for metric and a per-pod target";
            faults.forbidden(&path.child("value"), detail);
        }
        "pods" if !has("averageValue") => {
            faults.required(&average, "must specify a positive target averageValue");
        }
        "resource" | "containerResource" if !has("averageUtilization") && !has("averageValue") => {
            let detail = "must set either a target raw value or a target utilization";
            faults.required(&path.child("averageUtilization"), detail);
        }
        "resource" | "containerResource" if has("averageUtilization") && has("averageValue") => {
            faults.forbidden(&average, "may not set both a target raw value and a target utilization");
        }
        _ => {}
    }
}

fn validate_target(target: &Value, path: &Path, faults: &mut Faults) {
    if !["Utilization", "Value", "AverageValue"].iter().any(|kind| target["type"] == *kind) {
        let detail = "must be either Utilization, Value, or AverageValue";
        faults.invalid_text(&path.child("type"), text(target, "type"), detail);
    }
    for field in ["value", "averageValue"] {
        if Quantity::of(&target[field]).is_some_and(|number| number.is_negative() || number.is_zero()) {
            faults.invalid(&path.child(field), &target[field], "must be positive");
        }
    }
    if target["averageUtilization"].as_i64().is_some_and(|percent| percent < 1) {
        faults.invalid(
            &path.child("averageUtilization"),
            &target["averageUtilization"],
            "must be greater than 0",
        );
    }
}

fn validate_identifier(metric: &Value, path: &Path, faults: &mut Faults) {
    match text(metric, "name") {
        "" => faults.required(&path.child("name"), "must specify a metric name"),
        name => {
            if let Some(fault) = valid::path_segment(name) {
                faults.invalid_text(&path.child("name"), name, fault);
            }
        }
    }
}

/// An object of any kind, by its name.
pub fn validate_reference(reference: &Value, path: &Path, faults: &mut Faults) {
    for field in ["kind", "name"] {
        let value = required(reference, field, path, faults);
        if let Some(fault) = valid::path_segment(value) {
            faults.invalid_text(&path.child(field), value, fault);
        }
    }
}

/// `cpu: 10%/80%, 5/1k (avg) + 1 more...`
pub fn cell(autoscaler: &Value) -> String {
    let current = object::items(autoscaler, "/status/currentMetrics");
    let cells: Vec<_> = each(&autoscaler["spec"], "metrics", &Path::root())
        .enumerate()
        .map(|(index, (_, metric))| one_cell(metric, current.get(index).unwrap_or(&Value::Null)))
        .collect();
    match cells.len() {
        0 => "<none>".to_owned(),
        1 | 2 => cells.join(", "),
        more => format!("{} + {} more...", cells[..2].join(", "), more - 2),
    }
}

fn one_cell(metric: &Value, status: &Value) -> String {
    let Some(field) = field_of(metric) else { return "<unknown type>".to_owned() };
    let (source, target, now) = (&metric[field], &metric[field]["target"], &status[field]["current"]);
    let quantity = |from: &Value, field: &str| {
        from[field].as_str().map_or_else(|| "<unknown>".to_owned(), ToOwned::to_owned)
    };
    let percent = |from: &Value, none: &str| {
        from["averageUtilization"].as_i64().map_or_else(|| none.to_owned(), |percent| format!("{percent}%"))
    };
    let averaged = !target["averageValue"].is_null();
    match field {
        "resource" | "containerResource" => {
            let name = text(source, "name");
            if averaged {
                format!("{name}: {}/{}", quantity(now, "averageValue"), quantity(target, "averageValue"))
            } else {
                format!("{name}: {}/{}", percent(now, "<unknown>"), percent(target, "<auto>"))
            }
        }
        "pods" => format!("{}/{}", quantity(now, "averageValue"), quantity(target, "averageValue")),
        _ if averaged => {
            format!("{}/{} (avg)", quantity(now, "averageValue"), quantity(target, "averageValue"))
        }
        _ => format!("{}/{}", quantity(now, "value"), quantity(target, "value")),
    }
}
