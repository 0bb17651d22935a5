//! StatefulSet: pods with names and volumes of their own. Stored, but nothing here makes the pods.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{forms::each, persistent_volume_claim, workload};
use crate::api::{
    behaviour::{AGE, Behaviour, Column, NAME, Names, Part, column},
    fault::{Faults, Path},
    object, valid,
};

pub struct StatefulSet;

const COLUMNS: &[Column] = &[
    NAME,
    column("Ready", "string", "Number of pods that are ready, and of those wanted."),
    AGE,
    workload::CONTAINERS,
    workload::IMAGES,
];

/// Always there in a status.
const COUNTERS: &[&str] = &["availableReplicas", "replicas"];

/// Not there in a status while they are zero.
const ZEROS: &[&str] = &["currentReplicas", "observedGeneration", "readyReplicas", "updatedReplicas"];

/// What an update may change of the spec.
const MUTABLE: &[&str] = &[
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

impl Behaviour for StatefulSet {
    fn names(&self) -> Names {
        Names::Label
    }

    fn default(&self, object: &mut Value) {
        if let Some(spec) = workload::within(object, "spec") {
            object::fill(spec, "podManagementPolicy", "OrderedReady");
            object::default(spec, "serviceName", "");
            object::default(spec, "replicas", 1);
            object::default(spec, "revisionHistoryLimit", 10);
            default_strategy(spec);
            if let Some(policy) = workload::within(spec, "persistentVolumeClaimRetentionPolicy") {
                object::fill(policy, "whenDeleted", "Retain");
                object::fill(policy, "whenScaled", "Retain");
            }
            workload::default_template(spec);
            for claim in workload::items_mut(spec, "volumeClaimTemplates") {
                default_claim(claim);
            }
        }
        workload::default_status(object, COUNTERS);
        workload::drop_zeros(object, "spec", &["minReadySeconds"]);
        workload::drop_zeros(object, "status", ZEROS);
    }

    fn prepare_create(&self, object: &mut Value) {
        workload::reset_status(object, COUNTERS);
        drop_disabled(object);
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, part: Part) {
        workload::keep_other_part(new, old, part);
        drop_disabled(new);
    }

    fn validate(&self, object: &Value, faults: &mut Faults) {
        let (spec, path) = (&object["spec"], Path::new("spec"));
        let policies = ["OrderedReady", "Parallel"];
        if !policies.iter().any(|policy| spec["podManagementPolicy"] == *policy) {
            let detail = "must be 'OrderedReady' or 'Parallel'";
            faults.invalid(&path.child("podManagementPolicy"), &spec["podManagementPolicy"], detail);
        }
        validate_strategy(&spec["updateStrategy"], &path.child("updateStrategy"), faults);
        let retention = &spec["persistentVolumeClaimRetentionPolicy"];
        for when in ["whenDeleted", "whenScaled"] {
            let path = path.child("persistentVolumeClaimRetentionPolicy").child(when);
            valid::one_of(&retention[when], &["Retain", "Delete"], &path, faults);
        }
        for (path, claim) in each(spec, "volumeClaimTemplates", &path) {
            persistent_volume_claim::validate_spec(&claim["spec"], &path.child("spec"), faults);
        }
        workload::not_negative(spec, &["replicas", "minReadySeconds"], &path, faults);
        valid::not_negative(&spec["ordinals"]["start"], &path.child("ordinals.start"), faults);
        let service = spec["serviceName"].as_str().unwrap_or_default();
        if let Some(fault) = valid::dns_label(service).filter(|_| !service.is_empty()) {
            faults.invalid_text(&path.child("serviceName"), service, fault);
        }
        let kinds = ("statefulset", "StatefulSet");
        workload::validate_selected_template(&with_claims(spec), &path, kinds, faults);
    }

    fn validate_update(&self, new: &Value, old: &Value, part: Part, faults: &mut Faults) {
        match part {
            Part::Main => {
                if fixed(new) != fixed(old) {
                    let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', \
                                  'template', 'updateStrategy', 'revisionHistoryLimit', \
                                  'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
                    faults.forbidden(&Path::new("spec"), detail);
                }
            }
            Part::Status => {
                validate_status(&new["status"], &Path::new("status"), faults);
                workload::collisions_never_fall(new, old, faults);
            }
        }
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        let mut warnings = vec![workload::inert("StatefulSets")];
        if workload::number(object, "/spec/revisionHistoryLimit") < 0 {
            warnings.push(
                "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is \
                 recommended"
                    .to_owned(),
            );
        }
        warnings
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
        let number = |pointer| workload::number(object, pointer);
        let [containers, images] = workload::container_cells(&object["spec"]["template"]);
        vec![
            object::name(object).into(),
            format!("{}/{}", number("/status/readyReplicas"), number("/spec/replicas")).into(),
            object::age(object, now).into(),
            containers,
            images,
        ]
    }
}

fn default_strategy(spec: &mut Value) {
    let Some(strategy) = workload::within(spec, "updateStrategy") else { return };
    // Only who names no type gets the numbers too.
    if strategy["type"].is_null() {
        object::default(strategy, "type", "RollingUpdate");
        object::default(strategy, "rollingUpdate", json!({}));
    }
    if strategy["type"] == "RollingUpdate" && strategy["rollingUpdate"].is_object() {
        object::default(&mut strategy["rollingUpdate"], "partition", 0);
    }
}

/// Upstream has this field but leaves it switched off.
fn drop_disabled(object: &mut Value) {
    if let Some(rolling) =
        object.pointer_mut("/spec/updateStrategy/rollingUpdate").and_then(Value::as_object_mut)
    {
        rolling.remove("maxUnavailable");
    }
}

fn default_claim(claim: &mut Value) {
    object::default(claim, "apiVersion", "v1");
    object::default(claim, "kind", "PersistentVolumeClaim");
    if let Some(spec) = workload::within(claim, "spec") {
        persistent_volume_claim::default_spec(spec);
    }
    if let Some(status) = workload::within(claim, "status") {
        object::default(status, "phase", "Pending");
    }
}

/// The spec with a volume for each claim, as the pods will have it, and without what the controller sets itself.
fn with_claims(spec: &Value) -> Value {
    let mut spec = spec.clone();
    let claims = object::items(&spec, "/volumeClaimTemplates").iter();
    let mut volumes: Vec<_> = claims
        .map(|claim| {
            let name = object::name(claim);
            json!({ "name": name, "persistentVolumeClaim": { "claimName": name } })
        })
        .collect();
    if let Some(pod) = spec.pointer_mut("/template/spec").and_then(Value::as_object_mut) {
        pod.remove("subdomain");
        pod.remove("hostname");
        if !volumes.is_empty() {
            let own = pod.remove("volumes").and_then(|own| own.as_array().cloned()).unwrap_or_default();
            let own: Vec<_> = own
                .into_iter()
                .filter(|volume| !volumes.iter().any(|claimed| claimed["name"] == volume["name"]))
                .collect();
            volumes.extend(own);
            pod.insert("volumes".to_owned(), volumes.into());
        }
    }
    spec
}

/// The spec without what may change.
fn fixed(object: &Value) -> Value {
    let mut spec = object["spec"].clone();
    if let Some(fields) = spec.as_object_mut() {
        fields.retain(|field, _| !MUTABLE.contains(&field.as_str()));
    }
    spec
}

fn validate_strategy(strategy: &Value, path: &Path, faults: &mut Faults) {
    let (rolling, rolling_path) = (&strategy["rollingUpdate"], path.child("rollingUpdate"));
    match strategy["type"].as_str() {
        Some("OnDelete") => {
            if !rolling.is_null() {
                faults.invalid(&rolling_path, rolling, "only allowed for updateStrategy 'RollingUpdate'");
            }
        }
        Some("RollingUpdate") => {
            valid::not_negative(&rolling["partition"], &rolling_path.child("partition"), faults);
        }
        _ => faults.invalid(path, strategy, "must be 'RollingUpdate' or 'OnDelete'"),
    }
}

fn validate_status(status: &Value, path: &Path, faults: &mut Faults) {
    let counters = [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ];
    workload::not_negative(status, &counters, path, faults);
    let bounded = ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
    workload::within_replicas(status, &bounded, path, faults);
    workload::available_within_ready(status, "status.readyReplicas", path, faults);
}
