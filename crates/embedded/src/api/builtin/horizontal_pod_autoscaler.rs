//! HorizontalPodAutoscaler: how many replicas, by metrics. Stored, but nothing here scales.
//!
//! Objects are kept as `autoscaling/v2`; `v1` is a view of them, made in `horizontal_pod_autoscaler/v1.rs`.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    forms::{each, text},
    workload,
};
use crate::api::{
    behaviour::{AGE, Behaviour, Column, NAME, Part, column},
    fault::{Faults, Path},
    object,
    quantity::Quantity,
    valid,
};

mod metric;
mod v1;

pub use v1::{from_v1, to_v1};

pub struct HorizontalPodAutoscaler;

const COLUMNS: &[Column] = &[
    NAME,
    column("Reference", "string", "What is scaled."),
    column("Targets", "string", "Metrics as they are, and as they should be."),
    column("MinPods", "string", "The least number of replicas."),
    column("MaxPods", "string", "The greatest number of replicas."),
    column("Replicas", "string", "The number of replicas now."),
    AGE,
];

/// What is aimed for where no metric is named: this percentage of the requested CPU.
const DEFAULT_CPU: i64 = 80;
const MAX_WINDOW_SECONDS: i64 = 3600;
const MAX_PERIOD_SECONDS: i64 = 1800;

impl Behaviour for HorizontalPodAutoscaler {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = workload::within(object, "spec") {
            workload::within(spec, "scaleTargetRef");
            object::default(spec, "maxReplicas", 0);
            object::default(spec, "minReplicas", 1);
            let target = json!({ "type": "Utilization", "averageUtilization": DEFAULT_CPU });
            let cpu = json!([{ "type": "Resource", "resource": { "name": "cpu", "target": target } }]);
            object::fill(spec, "metrics", cpu);
            metric::normalize(spec);
            if let Some(behavior) = spec.get_mut("behavior") {
                default_behavior(behavior);
            }
        }
        default_status(object);
    }

    fn prepare_create(&self, object: &mut Value) {
        workload::reset_status(object, &[]);
        default_status(object);
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, part: Part) {
        workload::keep_other_part(new, old, part);
    }

    fn validate(&self, object: &Value, faults: &mut Faults) {
        let (spec, path) = (&object["spec"], Path::new("spec"));
        let (min, max) = (spec["minReplicas"].as_i64(), workload::number(spec, "/maxReplicas"));
        if min.is_some_and(|min| min < 1) {
            let detail = "must be greater than or equal to 1";
            faults.invalid(&path.child("minReplicas"), &spec["minReplicas"], detail);
        }
        let place = path.child("maxReplicas");
        match max {
            0 => faults.required(&place, "must be set and greater than 0"),
            ..0 => faults.invalid(&place, &spec["maxReplicas"], "must be greater than or equal to 1"),
            _ => {}
        }
        if min.is_some_and(|min| max < min) {
            faults.invalid(&place, &max.into(), "must be greater than or equal to `minReplicas`");
        }
        validate_target(&spec["scaleTargetRef"], &path.child("scaleTargetRef"), faults);
        for (path, metric) in each(spec, "metrics", &path) {
            metric::validate(metric, &path, faults);
        }
        let outside = |metric: &Value| metric["type"] == "Object" || metric["type"] == "External";
        if min == Some(0) && !object::items(spec, "/metrics").iter().any(outside) {
            let detail =
                "must specify at least one Object or External metric to support scaling to zero replicas";
            faults.forbidden(&path.child("metrics"), detail);
        }
        for direction in ["scaleUp", "scaleDown"] {
            let rules = &spec["behavior"][direction];
            if !rules.is_null() {
                validate_rules(rules, &path.child("behavior").child(direction), faults);
            }
        }
    }

    fn validate_update(&self, new: &Value, _old: &Value, part: Part, faults: &mut Faults) {
        if part == Part::Status {
            let counters = ["currentReplicas", "desiredReplicas"];
            workload::not_negative(&new["status"], &counters, &Path::new("status"), faults);
        }
    }

    fn warnings(&self, _object: &Value, _old: Option<&Value>) -> Vec<String> {
        vec![workload::inert("HorizontalPodAutoscalers")]
    }

    fn has_status(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let spec = &object["spec"];
        let target = &spec["scaleTargetRef"];
        let min = spec["minReplicas"].as_i64().map_or("<unset>".to_owned(), |min| min.to_string());
        vec![
            object::name(object).into(),
            format!("{}/{}", text(target, "kind"), text(target, "name")).into(),
            metric::cell(object).into(),
            min.into(),
            workload::number(spec, "/maxReplicas").into(),
            workload::number(object, "/status/currentReplicas").into(),
            object::age(object, now).into(),
        ]
    }
}

fn default_status(object: &mut Value) {
    workload::default_status(object, &["desiredReplicas"]);
    workload::drop_zeros(object, "status", &["currentReplicas"]);
    if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut)
        && status.get("currentMetrics").is_none_or(object::is_empty)
    {
        status.insert("currentMetrics".to_owned(), Value::Null);
    }
}

/// Who sets any rule gets all of them, with what has always been done.
fn default_behavior(behavior: &mut Value) {
    let policy = |kind: &str, value: i64| json!({ "type": kind, "value": value, "periodSeconds": 15 });
    if let Some(up) = workload::within(behavior, "scaleUp") {
        object::default(up, "stabilizationWindowSeconds", 0);
        object::default(up, "selectPolicy", "Max");
        object::default(up, "policies", json!([policy("Pods", 4), policy("Percent", 100)]));
    }
    if let Some(down) = workload::within(behavior, "scaleDown") {
        object::default(down, "selectPolicy", "Max");
        object::default(down, "policies", json!([policy("Percent", 100)]));
    }
}

fn validate_target(target: &Value, path: &Path, faults: &mut Faults) {
    metric::validate_reference(target, path, faults);
    let version = text(target, "apiVersion");
    let has_group = version.split_once('/').is_some_and(|(group, _)| !group.is_empty());
    if !has_group && target["kind"] != "ReplicationController" {
        faults.invalid_text(&path.child("apiVersion"), version, "apiVersion must specify API group");
    }
}

fn validate_rules(rules: &Value, path: &Path, faults: &mut Faults) {
    let (window, place) = (&rules["stabilizationWindowSeconds"], path.child("stabilizationWindowSeconds"));
    if let Some(seconds) = window.as_i64() {
        if seconds < 0 {
            faults.invalid(&place, window, "must be greater than or equal to zero");
        } else if seconds > MAX_WINDOW_SECONDS {
            faults.invalid(&place, window, format!("must be less than or equal to {MAX_WINDOW_SECONDS}"));
        }
    }
    let select = ["Disabled", "Max", "Min"];
    valid::one_of(&rules["selectPolicy"], &select, &path.child("selectPolicy"), faults);
    if object::is_empty(&rules["policies"]) {
        faults.required(&path.child("policies"), "must specify at least one Policy");
    }
    for (path, policy) in each(rules, "policies", path) {
        valid::one_of(&json!(text(policy, "type")), &["Percent", "Pods"], &path.child("type"), faults);
        for field in ["value", "periodSeconds"] {
            let number = workload::number(policy, &format!("/{field}"));
            if number <= 0 {
                faults.invalid(&path.child(field), &number.into(), "must be greater than zero");
            }
            if field == "periodSeconds" && number > MAX_PERIOD_SECONDS {
                let detail = format!("must be less than or equal to {MAX_PERIOD_SECONDS}");
                faults.invalid(&path.child(field), &number.into(), detail);
            }
        }
    }
    if Quantity::of(&rules["tolerance"]).is_some_and(Quantity::is_negative) {
        let detail = "must be greater than or equal to 0";
        faults.invalid(&path.child("tolerance"), &rules["tolerance"], detail);
    }
}

#[cfg(test)]
mod tests;
