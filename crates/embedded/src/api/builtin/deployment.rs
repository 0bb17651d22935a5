//! Deployment: pods from a template, rolled out step by step.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{amount, selector, workload};
use crate::api::{
    behaviour::{AGE, Behaviour, Column, NAME, Part, column},
    fault::{Faults, Path},
    object, valid,
};

pub struct Deployment;

const COLUMNS: &[Column] = &[
    NAME,
    column("Ready", "string", "Number of pods that are ready, and of those wanted."),
    column("Up-to-date", "string", "Number of pods made from the current template."),
    column("Available", "string", "Number of pods that have been ready for at least minReadySeconds."),
    AGE,
    workload::CONTAINERS,
    workload::IMAGES,
    workload::SELECTOR,
];

/// Not there in a status while they are zero.
const ZEROS: &[&str] = &[
    "availableReplicas",
    "observedGeneration",
    "readyReplicas",
    "replicas",
    "unavailableReplicas",
    "updatedReplicas",
];

impl Behaviour for Deployment {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = workload::within(object, "spec") {
            object::default(spec, "replicas", 1);
            object::default(spec, "revisionHistoryLimit", 10);
            object::default(spec, "progressDeadlineSeconds", 600);
            default_strategy(spec);
            workload::default_template(spec);
        }
        workload::default_status(object, &[]);
        workload::drop_zeros(object, "spec", &["minReadySeconds", "paused"]);
        workload::drop_zeros(object, "status", ZEROS);
    }

    fn prepare_create(&self, object: &mut Value) {
        workload::reset_status(object, &[]);
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, part: Part) {
        workload::keep_other_part(new, old, part);
        if part == Part::Status
            && let (Some(metadata), Some(kept)) =
                (object::child(new, "metadata"), old["metadata"].as_object())
        {
            object::restore(metadata, kept, "labels");
        }
    }

    fn validate(&self, object: &Value, faults: &mut Faults) {
        let (spec, path) = (&object["spec"], Path::new("spec"));
        valid::not_negative(&spec["replicas"], &path.child("replicas"), faults);
        workload::validate_selected_template(spec, &path, ("deployment", "ReplicaSet"), faults);
        validate_strategy(&spec["strategy"], &path.child("strategy"), faults);
        let limits = ["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"];
        workload::not_negative(spec, &limits, &path, faults);
        let deadline = &spec["progressDeadlineSeconds"];
        if deadline.as_i64().is_some_and(|deadline| deadline <= workload::number(spec, "/minReadySeconds")) {
            let path = path.child("progressDeadlineSeconds");
            faults.invalid(&path, deadline, "must be greater than minReadySeconds");
        }
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

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        if old.is_some() { Vec::new() } else { workload::name_warning(object).into_iter().collect() }
    }

    fn has_status(&self) -> bool {
        true
    }

    fn has_generation(&self) -> bool {
        true
    }

    /// Annotations count because they are copied to the ReplicaSets.
    fn counts(&self, new: &Value, old: &Value) -> bool {
        let annotations = |object: &Value| {
            let annotations = object["metadata"]["annotations"].as_object();
            annotations.filter(|annotations| !annotations.is_empty()).cloned()
        };
        new.get("spec") != old.get("spec") || annotations(new) != annotations(old)
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let number = |pointer| workload::number(object, pointer);
        let [containers, images] = workload::container_cells(&object["spec"]["template"]);
        vec![
            object::name(object).into(),
            format!("{}/{}", number("/status/readyReplicas"), number("/spec/replicas")).into(),
            number("/status/updatedReplicas").into(),
            number("/status/availableReplicas").into(),
            object::age(object, now).into(),
            containers,
            images,
            selector::text(&object["spec"]["selector"]).into(),
        ]
    }
}

fn default_strategy(spec: &mut Value) {
    let Some(strategy) = workload::within(spec, "strategy") else { return };
    object::fill(strategy, "type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate"
        && let Some(rolling) = workload::within(strategy, "rollingUpdate")
    {
        object::default(rolling, "maxUnavailable", "25%");
        object::default(rolling, "maxSurge", "25%");
    }
}

fn validate_strategy(strategy: &Value, path: &Path, faults: &mut Faults) {
    let (rolling, rolling_path) = (&strategy["rollingUpdate"], path.child("rollingUpdate"));
    match strategy["type"].as_str() {
        Some("Recreate") => {
            if !rolling.is_null() {
                faults.forbidden(&rolling_path, "may not be specified when strategy `type` is 'Recreate'");
            }
        }
        Some("RollingUpdate") => {
            let (unavailable, surge) = (&rolling["maxUnavailable"], &rolling["maxSurge"]);
            let path = rolling_path.child("maxUnavailable");
            amount::validate(unavailable, &path, faults);
            amount::validate(surge, &rolling_path.child("maxSurge"), faults);
            if amount::is_zero(unavailable) && amount::is_zero(surge) {
                faults.invalid(&path, unavailable, "may not be 0 when `maxSurge` is 0");
            }
            amount::not_more_than_all(unavailable, &path, faults);
        }
        _ => faults.not_supported(path, &json!(strategy), &["Recreate", "RollingUpdate"]),
    }
}

fn validate_status(status: &Value, path: &Path, faults: &mut Faults) {
    let counters = [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ];
    workload::not_negative(status, &counters, path, faults);
    let bounded = ["updatedReplicas", "readyReplicas", "availableReplicas"];
    workload::within_replicas(status, &bounded, path, faults);
    workload::available_within_ready(status, "readyReplicas", path, faults);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment(spec: Value) -> Value {
        let mut object = json!({
            "metadata": { "name": "web" },
            "spec": {
                "selector": { "matchLabels": { "app": "web" } },
                "template": {
                    "metadata": { "labels": { "app": "web" } },
                    "spec": { "containers": [{ "name": "main", "image": "registry.invalid/app:1" }] }
                }
            }
        });
        json_patch::merge(&mut object["spec"], &spec);
        Deployment.default(&mut object);
        object
    }

    fn faults(object: &Value) -> Vec<String> {
        let mut faults = Faults::default();
        Deployment.validate(object, &mut faults);
        faults.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_rolling_update_must_be_able_to_move() {
        let rolling = |surge: Value, unavailable: Value| {
            let numbers = json!({ "maxSurge": surge, "maxUnavailable": unavailable });
            faults(&deployment(json!({ "strategy": { "rollingUpdate": numbers } })))
        };
        assert!(rolling(json!("0%"), json!(1)).is_empty() && rolling(json!("200%"), json!(0)).is_empty());
        let path = "spec.strategy.rollingUpdate.maxUnavailable: Invalid value:";
        assert_eq!(
            rolling(json!(0), json!("0%")),
            [format!("{path} \"0%\": may not be 0 when `maxSurge` is 0")]
        );
        assert_eq!(
            rolling(json!(0), json!("101%")),
            [format!("{path} \"101%\": must not be greater than 100%")]
        );
        assert!(rolling(json!("some"), json!(1))[0].contains("a valid percent string"));
    }

    #[test]
    fn recreating_has_no_rolling_update() {
        let strategy = json!({ "type": "Recreate", "rollingUpdate": { "maxSurge": 1 } });
        let expected =
            "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'";
        assert_eq!(faults(&deployment(json!({ "strategy": strategy }))), [expected]);
    }

    #[test]
    fn the_selector_is_required_and_must_match_the_template() {
        let other = json!({ "selector": { "matchLabels": { "app": "other" } } });
        let expected = "spec.template.metadata.labels: Invalid value: {\"app\":\"web\"}: `selector` does not match \
                        template `labels`";
        assert_eq!(faults(&deployment(other)), [expected]);
        let absent = faults(&deployment(json!({ "selector": null })));
        assert_eq!(absent, ["spec.selector: Required value", expected]);
    }

    #[test]
    fn a_status_may_carry_annotations_but_no_labels() {
        let old = deployment(json!({}));
        let mut new = old.clone();
        new["spec"]["replicas"] = 9.into();
        new["metadata"] = json!({ "name": "web", "labels": { "a": "b" }, "annotations": { "a": "b" } });
        new["status"] = json!({ "replicas": 1 });
        Deployment.prepare_update(&mut new, &old, Part::Status);
        assert_eq!(new["metadata"], json!({ "name": "web", "annotations": { "a": "b" } }));
        assert_eq!((&new["spec"], &new["status"]), (&old["spec"], &json!({ "replicas": 1 })));
    }

    #[test]
    fn cells_tell_how_far_a_rollout_is() {
        let mut object = deployment(json!({ "replicas": 3 }));
        object["status"] = json!({ "readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1 });
        let cells = Deployment.cells(&object, Timestamp::UNIX_EPOCH);
        let expected = json!(["web", "1/3", 2, 1, "<unknown>", "main", "registry.invalid/app:1", "app=web"]);
        assert_eq!(json!(cells), expected);
    }
}
