//! PodDisruptionBudget: how many pods must stay, or may go, when pods are evicted.

use jiff::Timestamp;
use serde_json::Value;

use super::{
    amount,
    forms::{each, required},
    workload,
};
use crate::api::{
    behaviour::{AGE, Behaviour, Column, NAME, Part, column},
    fault::{Faults, Path},
    object, valid,
};

pub struct PodDisruptionBudget;

const COLUMNS: &[Column] = &[
    NAME,
    column("Min Available", "string", "The minimum number of pods that must be available."),
    column("Max Unavailable", "string", "The maximum number of pods that may be unavailable."),
    column("Allowed Disruptions", "integer", "Number of pods that may be disrupted now."),
    AGE,
];

/// Always there in a status.
const COUNTERS: &[&str] = &["currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"];

impl Behaviour for PodDisruptionBudget {
    fn default(&self, object: &mut Value) {
        workload::within(object, "spec");
        workload::default_status(object, COUNTERS);
        workload::drop_zeros(object, "status", &["observedGeneration"]);
    }

    fn prepare_create(&self, object: &mut Value) {
        workload::reset_status(object, COUNTERS);
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, part: Part) {
        workload::keep_other_part(new, old, part);
    }

    fn validate(&self, object: &Value, faults: &mut Faults) {
        let (spec, path) = (&object["spec"], Path::new("spec"));
        let bounds = ["minAvailable", "maxUnavailable"];
        if bounds.iter().all(|bound| !spec[*bound].is_null()) {
            faults.invalid(&path, spec, "minAvailable and maxUnavailable cannot be both set");
        }
        for bound in bounds {
            let path = path.child(bound);
            amount::validate(&spec[bound], &path, faults);
            amount::not_more_than_all(&spec[bound], &path, faults);
        }
        valid::label_selector(&spec["selector"], &path.child("selector"), faults);
        let policies = ["AlwaysAllow", "IfHealthyBudget"];
        let path = path.child("unhealthyPodEvictionPolicy");
        valid::one_of(&spec["unhealthyPodEvictionPolicy"], &policies, &path, faults);
    }

    fn validate_update(&self, new: &Value, _old: &Value, part: Part, faults: &mut Faults) {
        if part == Part::Status {
            let path = Path::new("status");
            for (path, condition) in each(&new["status"], "conditions", &path) {
                for field in ["type", "status", "lastTransitionTime", "reason"] {
                    required(condition, field, &path, faults);
                }
            }
            let counters = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];
            workload::not_negative(&new["status"], &counters, &path, faults);
        }
    }

    fn has_status(&self) -> bool {
        true
    }

    fn has_generation(&self) -> bool {
        true
    }

    fn unconditional_update(&self) -> bool {
        false
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let spec = &object["spec"];
        vec![
            object::name(object).into(),
            amount::cell(&spec["minAvailable"]).into(),
            amount::cell(&spec["maxUnavailable"]).into(),
            workload::number(object, "/status/disruptionsAllowed").into(),
            object::age(object, now).into(),
        ]
    }
}
