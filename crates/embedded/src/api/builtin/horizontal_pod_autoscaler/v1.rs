//! `autoscaling/v1`, the older form: a CPU percentage, and all else in annotations.
//!
//! The annotations are upstream's, so that a client of the older version that writes an object back loses
//! nothing.

use serde_json::{Map, Value, json};

use super::super::{forms::text, workload};
use crate::api::object;

const PREFIX: &str = "autoscaling.alpha.kubernetes.io";

/// How the parts of a metric are called in the older form. A leading `@` stands for the target of a spec or the
/// current value of a status, and `+` for the word `target` or `current` in a name.
const METRICS: [(&str, &[(&str, &str)]); 5] = [
    (
        "object",
        &[
            ("/describedObject", "target"),
            ("/metric/name", "metricName"),
            ("/metric/selector", "selector"),
            ("@/value", "+Value"),
            ("@/averageValue", "averageValue"),
        ],
    ),
    (
        "pods",
        &[
            ("/metric/name", "metricName"),
            ("/metric/selector", "selector"),
            ("@/averageValue", "+AverageValue"),
        ],
    ),
    (
        "resource",
        &[
            ("/name", "name"),
            ("@/averageUtilization", "+AverageUtilization"),
            ("@/averageValue", "+AverageValue"),
        ],
    ),
    (
        "containerResource",
        &[
            ("/name", "name"),
            ("/container", "container"),
            ("@/averageUtilization", "+AverageUtilization"),
            ("@/averageValue", "+AverageValue"),
        ],
    ),
    (
        "external",
        &[
            ("/metric/name", "metricName"),
            ("/metric/selector", "metricSelector"),
            ("@/value", "+Value"),
            ("@/averageValue", "+AverageValue"),
        ],
    ),
];

/// Fields that are called alike in both.
const SPEC: [&str; 3] = ["scaleTargetRef", "minReplicas", "maxReplicas"];
const STATUS: [&str; 4] = ["observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas"];

/// An object of `autoscaling/v2` as `autoscaling/v1` shows it.
pub fn to_v1(object: &Value) -> Value {
    let mut old =
        json!({ "apiVersion": "autoscaling/v1", "kind": object["kind"], "metadata": object["metadata"] });
    let (spec, status) = (&object["spec"], &object["status"]);
    old["spec"] = copy(spec, &SPEC);
    old["status"] = copy(status, &STATUS);
    // These two are always there.
    object::default(&mut old["status"], "currentReplicas", 0);
    object::default(&mut old["status"], "desiredReplicas", 0);
    let (metrics, current) = (object::items(spec, "/metrics"), object::items(status, "/currentMetrics"));
    if let Some(cpu) = metrics.iter().find(|metric| is_cpu_share(metric, "target")) {
        old["spec"]["targetCPUUtilizationPercentage"] =
            cpu["resource"]["target"]["averageUtilization"].clone();
    }
    if let Some(cpu) = current.iter().rfind(|metric| is_cpu_share(metric, "current")) {
        old["status"]["currentCPUUtilizationPercentage"] =
            cpu["resource"]["current"]["averageUtilization"].clone();
    }
    let others = metrics.iter().filter(|metric| !is_cpu_share(metric, "target"));
    let others: Vec<_> = others.map(|metric| older_metric(metric, "target")).collect();
    let current: Vec<_> = current.iter().map(|metric| older_metric(metric, "current")).collect();
    annotate(&mut old, "metrics", json!(others));
    annotate(&mut old, "current-metrics", json!(current));
    annotate(&mut old, "conditions", status["conditions"].clone());
    annotate(&mut old, "behavior", renamed(&spec["behavior"], capital));
    old
}

/// An object of `autoscaling/v1` as it is kept.
pub fn from_v1(old: &Value) -> Value {
    let mut object =
        json!({ "apiVersion": "autoscaling/v2", "kind": old["kind"], "metadata": old["metadata"] });
    object["spec"] = copy(&old["spec"], &SPEC);
    let mut metrics = annotated(old, "metrics", |metric| newer_metric(metric, "target"));
    if let Some(percent) = old["spec"]["targetCPUUtilizationPercentage"].as_i64() {
        let target = json!({ "type": "Utilization", "averageUtilization": percent });
        metrics.push(json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } }));
    }
    if !metrics.is_empty() {
        object["spec"]["metrics"] = metrics.into();
    }
    let behavior = annotation(old, "behavior").map(|behavior| renamed(&behavior, small));
    if let Some(behavior) = behavior.filter(|behavior| !object::is_empty(behavior)) {
        object["spec"]["behavior"] = behavior;
    }
    if old["status"].is_object() {
        object["status"] = copy(&old["status"], &STATUS);
        let mut current = annotated(old, "current-metrics", |metric| newer_metric(metric, "current"));
        let percent = &old["status"]["currentCPUUtilizationPercentage"];
        if current.is_empty() && !percent.is_null() {
            let now = json!({ "averageUtilization": percent });
            current.push(json!({ "type": "Resource", "resource": { "name": "cpu", "current": now } }));
        }
        for (field, list) in
            [("currentMetrics", current), ("conditions", annotated(old, "conditions", Value::clone))]
        {
            if !list.is_empty() {
                object["status"][field] = list.into();
            }
        }
    }
    drop_annotations(&mut object);
    object
}

fn copy(from: &Value, fields: &[&str]) -> Value {
    let kept = fields.iter().filter_map(|field| Some(((*field).to_owned(), from.get(field)?.clone())));
    Value::Object(kept.collect())
}

fn is_cpu_share(metric: &Value, side: &str) -> bool {
    let resource = &metric["resource"];
    metric["type"] == "Resource"
        && resource["name"] == "cpu"
        && !resource[side]["averageUtilization"].is_null()
}

/// The places of a part in the newer and the older form.
fn names(newer: &str, older: &str, side: &str) -> (String, String) {
    let newer = newer.strip_prefix('@').map_or_else(|| newer.to_owned(), |rest| format!("/{side}{rest}"));
    let older = older.strip_prefix('+').map_or_else(|| older.to_owned(), |rest| format!("{side}{rest}"));
    (newer, older)
}

fn older_metric(metric: &Value, side: &str) -> Value {
    let mut old = json!({ "type": metric["type"] });
    for (source, parts) in METRICS.iter().filter(|(source, _)| metric[*source].is_object()) {
        old[*source] = json!({});
        for (newer, older) in *parts {
            let (newer, older) = names(newer, older, side);
            if let Some(value) = metric[*source].pointer(&newer) {
                old[*source][older] = value.clone();
            }
        }
    }
    old
}

fn newer_metric(old: &Value, side: &str) -> Value {
    let mut metric = json!({ "type": old["type"] });
    for (source, parts) in METRICS.iter().filter(|(source, _)| old[*source].is_object()) {
        metric[*source] = json!({});
        for (newer, older) in *parts {
            let (newer, older) = names(newer, older, side);
            if let Some(value) = old[*source].get(&older) {
                put(&mut metric[*source], &newer, value.clone());
            }
        }
        if side == "target" {
            metric[*source]["target"]["type"] = target_type(&metric[*source]["target"]).into();
        }
    }
    metric
}

/// The older form tells the type of a target only by what it has.
fn target_type(target: &Value) -> &'static str {
    if !target["averageUtilization"].is_null() {
        "Utilization"
    } else if !target["averageValue"].is_null() {
        "AverageValue"
    } else {
        "Value"
    }
}

/// Sets a value at a path of one or two fields.
fn put(object: &mut Value, pointer: &str, value: Value) {
    let mut steps = pointer.split('/').skip(1);
    match (steps.next(), steps.next()) {
        (Some(field), None) => object[field] = value,
        (Some(outer), Some(inner)) => object[outer][inner] = value,
        _ => {}
    }
}

fn annotate(old: &mut Value, name: &str, value: Value) {
    let empty = object::is_empty(&value);
    if let Some(metadata) = workload::within(old, "metadata")
        && !empty
        && let Some(annotations) = object::child(metadata, "annotations")
    {
        annotations.insert(format!("{PREFIX}/{name}"), value.to_string().into());
    }
}

/// What an annotation says; one that is malformed says nothing.
fn annotation(old: &Value, name: &str) -> Option<Value> {
    serde_json::from_str(text(&old["metadata"]["annotations"], &format!("{PREFIX}/{name}"))).ok()
}

fn annotated(old: &Value, name: &str, read: impl Fn(&Value) -> Value) -> Vec<Value> {
    let list = annotation(old, name);
    list.as_ref().and_then(Value::as_array).into_iter().flatten().map(read).collect()
}

fn drop_annotations(object: &mut Value) {
    let Some(metadata) = object["metadata"].as_object_mut() else { return };
    let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) else { return };
    for name in ["metrics", "current-metrics", "conditions", "behavior"] {
        annotations.remove(&format!("{PREFIX}/{name}"));
    }
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
}

/// An object with other names for its fields, four levels deep at most: a behaviour has no more.
fn renamed(value: &Value, rename: fn(&str) -> String) -> Value {
    fn walk(value: &Value, rename: fn(&str) -> String, levels: usize) -> Value {
        match value {
            Value::Object(fields) if levels > 0 => {
                let fields =
                    fields.iter().map(|(name, value)| (rename(name), walk(value, rename, levels - 1)));
                Value::Object(fields.filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>())
            }
            Value::Array(items) if levels > 0 => {
                items.iter().map(|item| walk(item, rename, levels - 1)).collect()
            }
            other => other.clone(),
        }
    }
    walk(value, rename, 4)
}

/// Upstream writes behaviours as its own code calls the fields.
fn capital(name: &str) -> String {
    let mut characters = name.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

fn small(name: &str) -> String {
    let mut characters = name.chars();
    characters.next().map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
}
