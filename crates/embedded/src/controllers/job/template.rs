//! The pods that a Job makes.

use serde_json::{Map, Value, json};

use super::{
    failure_policy::meaning,
    pods::{FAILURES, IGNORED_FAILURES, INDEX, TRACKING, failures_before, ignored_failures_before},
};
use crate::controllers::records::{Job, Pod};

const INDEX_VARIABLE: &str = "JOB_COMPLETION_INDEX";
/// The longest beginning of a generated name.
const LONGEST_PREFIX: usize = 58;

/// A reference by which a Job owns its pods.
pub fn reference(job: &Job) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "name": job.metadata.name, "uid": job.metadata.uid,
        "controller": true, "blockOwnerDeletion": true,
    })
}

/// A pod of a Job, with this index and in place of another pod, if so.
pub fn pod(job: &Job, index: Option<u32>, replaces: Option<&Pod>) -> Value {
    let template = &job.spec.template;
    let name = job.metadata.name.as_deref().unwrap_or_default();
    let mut metadata: Map<String, Value> = ["labels", "annotations", "finalizers"]
        .into_iter()
        .filter_map(|field| Some((field.to_owned(), template["metadata"].get(field)?.clone())))
        .collect();
    metadata.insert("namespace".to_owned(), json!(job.metadata.namespace));
    metadata.insert("generateName".to_owned(), json!(prefix(name, index)));
    metadata.insert("ownerReferences".to_owned(), json!([reference(job)]));
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"],
    });
    let finalizers = &mut pod["metadata"]["finalizers"];
    match finalizers.as_array_mut() {
        Some(list) if list.iter().any(|finalizer| finalizer == TRACKING) => {}
        Some(list) => list.push(TRACKING.into()),
        None => *finalizers = json!([TRACKING]),
    }
    if let Some(index) = index {
        give_index(&mut pod, name, index);
        if job.spec.backoff_limit_per_index.is_some() {
            carry_failures(&mut pod, job, replaces);
        }
    }
    pod
}

/// How the names of pods begin. The server cuts what is too long, but must not cut an index.
fn prefix(name: &str, index: Option<u32>) -> String {
    let Some(index) = index else { return format!("{name}-") };
    let end = format!("-{index}-");
    let longest = LONGEST_PREFIX.saturating_sub(end.len()).min(name.len());
    let cut = (0..=longest).rev().find(|cut| name.is_char_boundary(*cut)).unwrap_or_default();
    format!("{}{end}", &name[..cut])
}

fn give_index(pod: &mut Value, name: &str, index: u32) {
    for field in ["labels", "annotations"] {
        pod["metadata"][field][INDEX] = index.to_string().into();
    }
    pod["spec"]["hostname"] = format!("{name}-{index}").into();
    let variable = json!({
        "name": INDEX_VARIABLE,
        "valueFrom": { "fieldRef": { "fieldPath": format!("metadata.labels['{INDEX}']") } },
    });
    for list in ["initContainers", "containers"] {
        for container in pod["spec"].get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let variables = &mut container["env"];
            match variables.as_array_mut() {
                Some(list) if list.iter().any(|known| known["name"] == INDEX_VARIABLE) => {}
                Some(list) => list.push(variable.clone()),
                None => *variables = json!([variable]),
            }
        }
    }
}

/// A pod knows how many of its index failed before it.
fn carry_failures(pod: &mut Value, job: &Job, replaces: Option<&Pod>) {
    let (mut failures, mut ignored) = (0, 0);
    if let Some(before) = replaces {
        (failures, ignored) = (failures_before(before), ignored_failures_before(before));
        let count = if meaning(job, before).counts() { &mut failures } else { &mut ignored };
        *count = count.saturating_add(1);
    }
    let annotations = &mut pod["metadata"]["annotations"];
    annotations[FAILURES] = failures.to_string().into();
    if ignored > 0 {
        annotations[IGNORED_FAILURES] = ignored.to_string().into();
    }
}
