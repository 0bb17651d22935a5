//! Pod: containers that run together on a node.
//!
//! Here is what every write goes through. Beside it: what the server adds when a pod is made (`admission`), what may
//! change afterwards (`change`), binding, deletion and logs (`lifecycle`), and the lines of a table (`print`).

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{
    forms::{each, text},
    pod_spec,
};
use crate::api::{
    behaviour::{AGE, Behaviour, Column, NAME, Part, column, wide},
    fault::{Faults, Path},
    object::{self, child, default, fill, is_empty, items, keep_other_part, keep_spec, name, restore},
    quantity::{Quantity, quantities},
    valid,
};

mod admission;
mod change;
mod lifecycle;
mod print;

pub use admission::{pod_admission, pod_update_admission, service_account};
pub use change::change_ephemeral_containers;
pub use lifecycle::{bind, grace_period, log_container};

pub struct Pod;

const COLUMNS: &[Column] = &[
    NAME,
    column("Ready", "string", "The aggregate readiness state of this pod for accepting traffic."),
    column("Status", "string", "The aggregate status of the containers in this pod."),
    column(
        "Restarts",
        "string",
        "The number of times the containers in this pod have been restarted and when the last container in this pod \
         has restarted.",
    ),
    AGE,
    wide("IP", "string", "podIP address allocated to the pod."),
    wide("Node", "string", "NodeName indicates in which node this pod is scheduled."),
    wide("Nominated Node", "string", "The node that this pod will run on once others have made room."),
    wide(
        "Readiness Gates",
        "string",
        "Conditions that are evaluated for pod readiness, and how many are true.",
    ),
];

impl Behaviour for Pod {
    fn default(&self, object: &mut Value) {
        default(object, "spec", json!({}));
        let spec = &mut object["spec"];
        if !spec.is_object() {
            return;
        }
        for field in ["containers", "initContainers"] {
            for container in spec.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten() {
                requests_from_limits(container);
            }
        }
        default(spec, "enableServiceLinks", true);
        if spec["hostNetwork"] == true {
            share_host_ports(spec);
        }
        pod_spec::default_spec(spec);
        default_addresses(object);
    }

    fn prepare_create(&self, object: &mut Value) {
        object["status"] = json!({ "phase": "Pending", "qosClass": quality_of_service(&object["spec"]) });
        if !items(object, "/spec/schedulingGates").is_empty() {
            object["status"]["conditions"] = json!([{
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
                "lastProbeTime": null,
                "lastTransitionTime": object["metadata"]["creationTimestamp"],
            }]);
        }
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, part: Part) {
        match part {
            Part::Main => keep_other_part(new, old, part),
            Part::Status => {
                keep_spec(new, old);
                keep_owners(new, old);
                keep_observations(new, old);
            }
        }
    }

    fn validate(&self, object: &Value, faults: &mut Faults) {
        let (spec, path) = (&object["spec"], Path::new("spec"));
        pod_spec::validate_spec(spec, &path, faults);
        for field in ["containers", "initContainers", "ephemeralContainers"] {
            for (path, container) in each(spec, field, &path) {
                let image = text(container, "image");
                if image.trim() != image {
                    let detail = "must not have leading or trailing whitespace";
                    faults.invalid_text(&path.child("image"), image, detail);
                }
            }
        }
    }

    fn validate_create(&self, object: &Value, faults: &mut Faults) {
        let spec = &object["spec"];
        if !is_empty(&spec["ephemeralContainers"]) {
            faults.forbidden(&Path::new("spec.ephemeralContainers"), "cannot be set on create");
        }
        if !is_empty(&spec["nodeName"]) && !is_empty(&spec["schedulingGates"]) {
            let detail = "cannot be set until all schedulingGates have been cleared";
            faults.forbidden(&Path::new("spec.nodeName"), detail);
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, part: Part, faults: &mut Faults) {
        match part {
            Part::Main => change::validate_spec_change(new, old, faults),
            Part::Status => change::validate_status_change(new, old, faults),
        }
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        if old.is_some() {
            return Vec::new();
        }
        let hostname = valid::dns_label(name(object)).map(|fault| {
            format!(
                "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS \
                 label is recommended: [{fault}]"
            )
        });
        hostname.into_iter().chain(pod_spec::warnings(&object["spec"], &Path::new("spec"))).collect()
    }

    fn has_status(&self) -> bool {
        true
    }

    fn has_generation(&self) -> bool {
        true
    }

    fn fields(&self, object: &Value) -> Vec<(&'static str, String)> {
        let at = |pointer: &str| object::text(object, pointer).to_owned();
        vec![
            ("spec.nodeName", at("/spec/nodeName")),
            ("spec.restartPolicy", at("/spec/restartPolicy")),
            ("spec.schedulerName", at("/spec/schedulerName")),
            ("spec.serviceAccountName", at("/spec/serviceAccountName")),
            ("spec.hostNetwork", (object["spec"]["hostNetwork"] == true).to_string()),
            ("status.phase", at("/status/phase")),
            ("status.podIP", at("/status/podIP")),
            ("status.nominatedNodeName", at("/status/nominatedNodeName")),
        ]
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        print::cells(object, now)
    }
}

/// Who states a limit and no request asks for the limit. This holds for pods only, not for templates.
fn requests_from_limits(container: &mut Value) {
    let Some(limits) = container["resources"]["limits"].as_object().cloned() else { return };
    if limits.is_empty() {
        return;
    }
    if container["resources"]["requests"].is_null() {
        container["resources"]["requests"] = json!({});
    }
    for (resource, limit) in limits {
        default(&mut container["resources"]["requests"], &resource, limit);
    }
}

/// On the host's network a container's ports are the host's.
fn share_host_ports(spec: &mut Value) {
    for field in ["containers", "initContainers"] {
        for container in spec.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten() {
            for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
                let number = port["containerPort"].clone();
                fill(port, "hostPort", number);
            }
        }
    }
}

/// `podIP` is the first of `podIPs`; if they differ the former wins.
fn default_addresses(object: &mut Value) {
    let Some(status) = child(object, "status") else { return };
    let one = status.get("podIP").filter(|address| !is_empty(address)).cloned();
    let first = status.get("podIPs").and_then(|addresses| addresses.get(0)?.get("ip")).cloned();
    match (one, first) {
        (Some(one), first) if first.as_ref() != Some(&one) => {
            status.insert("podIPs".to_owned(), json!([{ "ip": one }]));
        }
        (None, Some(first)) => {
            status.insert("podIP".to_owned(), first);
        }
        _ => {}
    }
}

/// How sure a pod can be of its share: `Guaranteed` if every container's requests equal its limits for both cpu and
/// memory, `BestEffort` if there are none at all.
fn quality_of_service(spec: &Value) -> &'static str {
    let own = &spec["resources"];
    let asked: Vec<&Value> = if own.is_null() {
        let containers = ["containers", "initContainers"].map(|field| spec[field].as_array());
        containers.into_iter().flatten().flatten().map(|container| &container["resources"]).collect()
    } else {
        vec![own]
    };
    let compute = |map: &Value| -> Vec<(String, Quantity)> {
        let named = quantities(map).filter(|(name, _)| ["cpu", "memory"].contains(name));
        named.filter(|(_, quantity)| !quantity.is_zero()).map(|(name, q)| (name.to_owned(), q)).collect()
    };
    let asked: Vec<_> = asked.iter().map(|r| (compute(&r["requests"]), compute(&r["limits"]))).collect();
    if asked.iter().all(|(requests, limits)| requests.is_empty() && limits.is_empty()) {
        "BestEffort"
    } else if asked.iter().all(|(requests, limits)| limits.len() == 2 && requests == limits) {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

/// Nodes write the status and may not touch whom a pod belongs to.
fn keep_owners(new: &mut Value, old: &Value) {
    let none = Map::new();
    if let Some(metadata) = new["metadata"].as_object_mut() {
        restore(metadata, old["metadata"].as_object().unwrap_or(&none), "ownerReferences");
    }
}

/// What a client leaves out of these is not taken for a wish to remove it.
fn keep_observations(new: &mut Value, old: &Value) {
    if child(new, "status").is_none() {
        return;
    }
    for field in ["qosClass", "observedGeneration"] {
        if let Some(value) = old["status"].get(field) {
            fill(&mut new["status"], field, value.clone());
        }
    }
    let mut before = BTreeMap::new();
    for condition in items(old, "/status/conditions") {
        before.entry(text(condition, "type")).or_insert(&condition["observedGeneration"]);
    }
    for condition in new["status"].get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(generation) = before.get(text(condition, "type")).filter(|value| !value.is_null()) {
            fill(condition, "observedGeneration", (*generation).clone());
        }
    }
}

#[cfg(test)]
mod tests;
