//! ReplicaSet: a number of pods from one template.

use jiff::Timestamp;
use serde_json::Value;

use super::{selector, workload};
use crate::api::{
    behaviour::{AGE, Behaviour, Column, NAME, Part, column},
    fault::{Faults, Path},
    object, valid,
};

pub struct ReplicaSet;

const COLUMNS: &[Column] = &[
    NAME,
    column("Desired", "integer", "Number of pods wanted."),
    column("Current", "integer", "Number of pods that are there."),
    column("Ready", "integer", "Number of pods that are ready."),
    AGE,
    workload::CONTAINERS,
    workload::IMAGES,
    workload::SELECTOR,
];

/// Always there in a status.
const COUNTERS: &[&str] = &["replicas"];

/// Not there in a status while they are zero.
const ZEROS: &[&str] = &["availableReplicas", "fullyLabeledReplicas", "observedGeneration", "readyReplicas"];

impl Behaviour for ReplicaSet {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = workload::within(object, "spec") {
            object::default(spec, "replicas", 1);
            workload::default_template(spec);
        }
        workload::default_status(object, COUNTERS);
        workload::drop_zeros(object, "spec", &["minReadySeconds"]);
        workload::drop_zeros(object, "status", ZEROS);
    }

    fn prepare_create(&self, object: &mut Value) {
        workload::reset_status(object, COUNTERS);
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, part: Part) {
        workload::keep_other_part(new, old, part);
    }

    fn validate(&self, object: &Value, faults: &mut Faults) {
        let (spec, path) = (&object["spec"], Path::new("spec"));
        workload::not_negative(spec, &["replicas", "minReadySeconds"], &path, faults);
        // Upstream's words: it checks ReplicaSets as Deployments here.
        workload::validate_selected_template(spec, &path, ("deployment", "ReplicaSet"), faults);
    }

    fn validate_update(&self, new: &Value, old: &Value, part: Part, faults: &mut Faults) {
        match part {
            Part::Main => {
                let path = Path::new("spec.selector");
                valid::immutable(&new["spec"]["selector"], &old["spec"]["selector"], &path, faults);
            }
            Part::Status => validate_status(&new["status"], &Path::new("status"), faults),
        }
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        if old.is_some() { Vec::new() } else { workload::name_warning(object).into_iter().collect() }
    }

    fn has_status(&self) -> bool {
        true
    }

    fn has_generation(&self) -> bool {
        true
    }

    fn fields(&self, object: &Value) -> Vec<(&'static str, String)> {
        vec![("status.replicas", workload::number(object, "/status/replicas").to_string())]
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let [containers, images] = workload::container_cells(&object["spec"]["template"]);
        vec![
            object::name(object).into(),
            workload::number(object, "/spec/replicas").into(),
            workload::number(object, "/status/replicas").into(),
            workload::number(object, "/status/readyReplicas").into(),
            object::age(object, now).into(),
            containers,
            images,
            selector::cell(&object["spec"]["selector"]).into(),
        ]
    }
}

fn validate_status(status: &Value, path: &Path, faults: &mut Faults) {
    let counters = [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ];
    workload::not_negative(status, &counters, path, faults);
    let bounded = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
    workload::within_replicas(status, &bounded, path, faults);
    workload::available_within_ready(status, "readyReplicas", path, faults);
}
