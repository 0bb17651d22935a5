//! Node: a machine that runs pods. Unlike other kinds it may bring its status along at creation.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    forms::{each, required_one_of, text},
    pod_spec::TAINT_EFFECTS,
};
use crate::api::{
    behaviour::{AGE, Behaviour, Column, NAME, Part, column, wide},
    fault::{Faults, Path},
    object::{age, child, default, is_empty, items, keep_other_part, keep_spec, name},
    quantity::{self, Quantity},
    valid,
};

pub struct Node;

const COLUMNS: &[Column] = &[
    NAME,
    column("Status", "string", "The status of the node"),
    column("Roles", "string", "The roles of the node"),
    AGE,
    column("Version", "string", "Kubelet Version reported by the node."),
    wide("Internal-IP", "string", "List of addresses reachable to the node."),
    wide("External-IP", "string", "List of addresses reachable to the node."),
    wide("OS-Image", "string", "OS Image reported by the node."),
    wide("Kernel-Version", "string", "Kernel Version reported by the node."),
    wide("Container-Runtime", "string", "ContainerRuntime Version reported by the node."),
];

impl Behaviour for Node {
    fn default(&self, object: &mut Value) {
        child(object, "spec");
        if child(object, "status").is_none() {
            return;
        }
        let status = &mut object["status"];
        if status["allocatable"].is_null() && !status["capacity"].is_null() {
            status["allocatable"] = status["capacity"].clone();
        }
        for field in ["capacity", "allocatable"] {
            if let Some(quantities) = status.get_mut(field) {
                quantity::normalize(quantities);
            }
        }
        default(status, "daemonEndpoints", json!({}));
        default(&mut status["daemonEndpoints"], "kubeletEndpoint", json!({ "Port": 0 }));
        default(status, "nodeInfo", json!({}));
        for field in [
            "architecture",
            "bootID",
            "containerRuntimeVersion",
            "kernelVersion",
            "kubeProxyVersion",
            "kubeletVersion",
            "machineID",
            "operatingSystem",
            "osImage",
            "systemUUID",
        ] {
            default(&mut status["nodeInfo"], field, "");
        }
    }

    fn prepare_create(&self, _object: &mut Value) {}

    fn prepare_update(&self, new: &mut Value, old: &Value, part: Part) {
        match part {
            Part::Main => keep_other_part(new, old, part),
            Part::Status => keep_spec(new, old),
        }
    }

    fn validate(&self, object: &Value, faults: &mut Faults) {
        validate_taints(object, faults);
        for field in ["capacity", "allocatable"] {
            validate_quantities(&object["status"][field], &Path::new("status").child(field), faults);
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, part: Part, faults: &mut Faults) {
        let fixed = |field: &str| !is_empty(&old["spec"][field]) && new["spec"][field] != old["spec"][field];
        for (field, what) in [("podCIDRs", "podCIDR"), ("providerID", "providerID")] {
            if fixed(field) {
                let detail = format!("node updates may not change {what} except from \"\" to valid");
                faults.forbidden(&Path::new("spec").child(field), detail);
            }
        }
        if part == Part::Status {
            for field in ["capacity", "allocatable"] {
                validate_quantities(&new["status"][field], &Path::new("status").child(field), faults);
            }
        }
        let mut seen = BTreeSet::new();
        for (path, address) in each(&new["status"], "addresses", &Path::new("status")) {
            if !seen.insert((text(address, "type"), text(address, "address"))) {
                faults.duplicate(&path, address);
            }
        }
    }

    fn has_status(&self) -> bool {
        true
    }

    fn fields(&self, object: &Value) -> Vec<(&'static str, String)> {
        vec![("spec.unschedulable", (object["spec"]["unschedulable"] == true).to_string())]
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let info = &object["status"]["nodeInfo"];
        let known = |field: &str| match text(info, field) {
            "" => "<unknown>",
            value => value,
        };
        let kernel = match text(info, "architecture") {
            "" => known("kernelVersion").to_owned(),
            architecture => format!("{} ({architecture})", known("kernelVersion")),
        };
        vec![
            name(object).into(),
            condition(object).into(),
            roles(object).into(),
            age(object, now).into(),
            text(info, "kubeletVersion").into(),
            address(object, "InternalIP").into(),
            address(object, "ExternalIP").into(),
            known("osImage").into(),
            kernel.into(),
            known("containerRuntimeVersion").into(),
        ]
    }
}

fn condition(object: &Value) -> String {
    let ready = items(object, "/status/conditions").iter().rfind(|condition| condition["type"] == "Ready");
    let mut status = match ready {
        None => "Unknown",
        Some(ready) if ready["status"] == "True" => "Ready",
        Some(_) => "NotReady",
    }
    .to_owned();
    if object["spec"]["unschedulable"] == true {
        status.push_str(",SchedulingDisabled");
    }
    status
}

fn roles(object: &Value) -> String {
    let labels = object["metadata"]["labels"].as_object();
    let role = |(key, value): (&String, &Value)| match key.strip_prefix("node-role.kubernetes.io/") {
        Some(role) => Some(role.to_owned()),
        None if key == "kubernetes.io/role" => value.as_str().map(str::to_owned),
        None => None,
    };
    let roles: BTreeSet<_> =
        labels.into_iter().flatten().filter_map(role).filter(|role| !role.is_empty()).collect();
    if roles.is_empty() { "<none>".to_owned() } else { Vec::from_iter(roles).join(",") }
}

fn address<'a>(object: &'a Value, kind: &str) -> &'a str {
    let found = items(object, "/status/addresses").iter().find(|address| address["type"] == kind);
    found.map_or("<none>", |address| text(address, "address"))
}

fn validate_taints(object: &Value, faults: &mut Faults) {
    let mut seen = BTreeSet::new();
    // The real server looks for taints in the spec and reports them in the metadata.
    for (path, taint) in each(&object["spec"], "taints", &Path::new("metadata")) {
        if let Some(fault) = valid::qualified_name(text(taint, "key")) {
            faults.invalid_text(&path.child("key"), text(taint, "key"), fault);
        }
        if let Some(fault) = valid::label_value(text(taint, "value")) {
            faults.invalid(&path.child("value"), &taint["value"], fault);
        }
        required_one_of(&taint["effect"], &TAINT_EFFECTS, &path.child("effect"), faults);
        if !seen.insert((text(taint, "key"), text(taint, "effect"))) {
            faults.duplicate(&path, taint);
        }
    }
}

fn validate_quantities(map: &Value, path: &Path, faults: &mut Faults) {
    for (name, value) in map.as_object().into_iter().flatten() {
        match Quantity::of(value) {
            Some(quantity) if quantity.is_negative() => {
                faults.invalid(&path.child(name), value, "must be greater than or equal to 0");
            }
            Some(_) => {}
            None => faults.invalid(&path.child(name), value, "must be a valid resource quantity"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_sums_up_a_node() {
        let node = json!({
            "metadata": { "name": "a", "labels": {
                "node-role.kubernetes.io/worker": "", "kubernetes.io/role": "edge", "node-role.kubernetes.io/": ""
            } },
            "spec": { "unschedulable": true },
            "status": {
                "conditions": [{ "type": "Ready", "status": "Unknown" }],
                "addresses": [{ "type": "InternalIP", "address": "10.0.0.1" }],
                "nodeInfo": { "kubeletVersion": "v1.36.3", "kernelVersion": "6.1", "architecture": "arm64" }
            }
        });
        let cells = Node.cells(&node, Timestamp::UNIX_EPOCH);
        let expected = json!([
            "a",
            "NotReady,SchedulingDisabled",
            "edge,worker",
            "<unknown>",
            "v1.36.3",
            "10.0.0.1",
            "<none>",
            "<unknown>",
            "6.1 (arm64)",
            "<unknown>"
        ]);
        assert_eq!(json!(cells), expected);
    }

    #[test]
    fn a_provider_is_named_once() {
        let fields = |old: Value, new: Value| {
            let mut faults = Faults::default();
            Node.validate_update(&json!({ "spec": new }), &json!({ "spec": old }), Part::Main, &mut faults);
            faults.iter().map(|fault| fault.field.clone()).collect::<Vec<_>>()
        };
        assert!(fields(json!({}), json!({ "providerID": "a" })).is_empty());
        assert_eq!(fields(json!({ "providerID": "a" }), json!({})), ["spec.providerID"]);
    }
}
