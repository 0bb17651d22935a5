//! DaemonSet: a pod on every node. Stored, but nothing here makes the pods.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{amount, selector, workload};
use crate::api::{
    behaviour::{AGE, Behaviour, Column, NAME, Part, column},
    fault::{Faults, Path},
    object, valid,
};

pub struct DaemonSet;

const COLUMNS: &[Column] = &[
    NAME,
    column("Desired", "integer", "Number of nodes that should run the pod."),
    column("Current", "integer", "Number of nodes that run the pod and should."),
    column("Ready", "integer", "Number of nodes whose pod is ready."),
    column("Up-to-date", "integer", "Number of nodes whose pod is made from the current template."),
    column("Available", "integer", "Number of nodes whose pod has been ready for at least minReadySeconds."),
    column("Node Selector", "string", "Labels of the nodes that should run the pod."),
    AGE,
    workload::CONTAINERS,
    workload::IMAGES,
    workload::SELECTOR,
];

/// Always there in a status.
const COUNTERS: &[&str] =
    &["currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady"];

/// Not there in a status while they are zero.
const ZEROS: &[&str] =
    &["numberAvailable", "numberUnavailable", "observedGeneration", "updatedNumberScheduled"];

/// Counts the templates; only the server writes it.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

impl Behaviour for DaemonSet {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = workload::within(object, "spec") {
            object::default(spec, "revisionHistoryLimit", 10);
            default_strategy(spec);
            workload::default_template(spec);
        }
        workload::default_status(object, COUNTERS);
        workload::drop_zeros(object, "spec", &["minReadySeconds"]);
        workload::drop_zeros(object, "status", ZEROS);
    }

    fn prepare_create(&self, object: &mut Value) {
        workload::reset_status(object, COUNTERS);
        let generation = template_generation(object).max(1);
        set_template_generation(object, generation);
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, part: Part) {
        workload::keep_other_part(new, old, part);
        let changed = new["spec"]["template"] != old["spec"]["template"];
        set_template_generation(new, template_generation(old) + i64::from(changed));
    }

    fn validate(&self, object: &Value, faults: &mut Faults) {
        let (spec, path) = (&object["spec"], Path::new("spec"));
        if workload::validate_selector(spec, &path, "daemonset", faults) {
            workload::validate_labels(spec, &path, faults);
        }
        workload::validate_lasting_template(spec, &path, "DaemonSet", faults);
        workload::not_negative(spec, &["minReadySeconds"], &path, faults);
        validate_strategy(&spec["updateStrategy"], &path.child("updateStrategy"), faults);
        workload::not_negative(spec, &["revisionHistoryLimit"], &path, faults);
    }

    fn validate_update(&self, new: &Value, old: &Value, part: Part, faults: &mut Faults) {
        match part {
            Part::Main => {
                let path = Path::new("spec.selector");
                valid::immutable(&new["spec"]["selector"], &old["spec"]["selector"], &path, faults);
            }
            Part::Status => {
                validate_status(&new["status"], &Path::new("status"), faults);
                workload::collisions_never_fall(new, old, faults);
            }
        }
    }

    fn warnings(&self, _object: &Value, _old: Option<&Value>) -> Vec<String> {
        vec![workload::inert("DaemonSets")]
    }

    fn has_status(&self) -> bool {
        true
    }

    fn has_generation(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let counter = |field: &str| workload::number(&object["status"], &format!("/{field}")).into();
        let template = &object["spec"]["template"];
        let [containers, images] = workload::container_cells(template);
        vec![
            object::name(object).into(),
            counter("desiredNumberScheduled"),
            counter("currentNumberScheduled"),
            counter("numberReady"),
            counter("updatedNumberScheduled"),
            counter("numberAvailable"),
            selector::cell(&json!({ "matchLabels": template["spec"]["nodeSelector"] })).into(),
            object::age(object, now).into(),
            containers,
            images,
            selector::cell(&object["spec"]["selector"]).into(),
        ]
    }
}

fn template_generation(object: &Value) -> i64 {
    let annotation = object["metadata"]["annotations"][TEMPLATE_GENERATION].as_str();
    annotation.and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn set_template_generation(object: &mut Value, generation: i64) {
    if let Some(annotations) =
        workload::within(object, "metadata").and_then(|metadata| object::child(metadata, "annotations"))
    {
        annotations.insert(TEMPLATE_GENERATION.to_owned(), generation.to_string().into());
    }
}

fn default_strategy(spec: &mut Value) {
    let Some(strategy) = workload::within(spec, "updateStrategy") else { return };
    object::fill(strategy, "type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate"
        && let Some(rolling) = workload::within(strategy, "rollingUpdate")
    {
        object::default(rolling, "maxUnavailable", 1);
        object::default(rolling, "maxSurge", 0);
    }
}

fn validate_strategy(strategy: &Value, path: &Path, faults: &mut Faults) {
    match strategy["type"].as_str() {
        Some("OnDelete") => {}
        Some("RollingUpdate") => {
            let (rolling, path) = (&strategy["rollingUpdate"], path.child("rollingUpdate"));
            let (unavailable, surge) = (path.child("maxUnavailable"), path.child("maxSurge"));
            amount::validate(&rolling["maxUnavailable"], &unavailable, faults);
            amount::validate(&rolling["maxSurge"], &surge, faults);
            amount::not_more_than_all(&rolling["maxUnavailable"], &unavailable, faults);
            amount::not_more_than_all(&rolling["maxSurge"], &surge, faults);
            match (amount::is_zero(&rolling["maxUnavailable"]), amount::is_zero(&rolling["maxSurge"])) {
                (false, false) => {
                    let detail = "may not be set when maxUnavailable is non-zero";
                    faults.invalid(&surge, &rolling["maxSurge"], detail);
                }
                (true, true) => faults.required(&unavailable, "cannot be 0 when maxSurge is 0"),
                _ => {}
            }
        }
        _ => faults.not_supported(path, strategy, &["RollingUpdate", "OnDelete"]),
    }
}

fn validate_status(status: &Value, path: &Path, faults: &mut Faults) {
    let counters = [
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ];
    workload::not_negative(status, &counters, path, faults);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_new_template_raises_its_generation() {
        let mut old =
            json!({ "metadata": { "name": "a" }, "spec": { "template": { "spec": { "hostPID": true } } } });
        DaemonSet.prepare_create(&mut old);
        let mut new = old.clone();
        new["metadata"]["annotations"] = json!({ "mine": "1" });
        new["spec"]["minReadySeconds"] = 3.into();
        DaemonSet.prepare_update(&mut new, &old, Part::Main);
        assert_eq!(new["metadata"]["annotations"], json!({ "mine": "1", TEMPLATE_GENERATION: "1" }));
        new["spec"]["template"]["spec"]["hostPID"] = false.into();
        DaemonSet.prepare_update(&mut new, &old, Part::Main);
        assert_eq!(new["metadata"]["annotations"][TEMPLATE_GENERATION], "2");
    }
}
