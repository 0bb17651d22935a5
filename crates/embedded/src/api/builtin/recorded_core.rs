//! Our rules against what a real API server (v1.36.3) said. `testdata/core/<kind>.json` holds objects as a client sends
//! them and as the server answered (`kubectl create --dry-run=server -o json`), with its warnings;
//! `testdata/core/<kind>_faults.json` objects that it refused, with the causes. What differs each time (uid, times,
//! allocated addresses, the token volume's suffix) is taken out, and so is null, which says as much as nothing.

use serde_json::{Value, json};

use super::{
    config_map, endpoints, event, namespace, node, persistent_volume_claim, pod, pod_spec, secret, service,
    service_account,
};
use crate::api::{behaviour::Behaviour, fault::Faults};

macro_rules! recorded {
    ($name:literal) => {
        serde_json::from_str::<Vec<Value>>(include_str!(concat!("testdata/core/", $name, ".json"))).unwrap()
    };
}

/// Does what a create does, as far as it is in our hands.
fn create(behaviour: &dyn Behaviour, given: &Value) -> (Value, Vec<(String, String)>) {
    let mut object = given.clone();
    let kind = given["kind"].as_str().unwrap_or_default().to_owned();
    if kind != "Namespace" && kind != "Node" {
        object["metadata"]["namespace"] = "default".into();
    }
    if given["apiVersion"] == "events.k8s.io/v1" {
        object = event::from_events_v1(&object);
    }
    behaviour.default(&mut object);
    if kind == "Pod" {
        pod::pod_admission(&mut object, &json!({}), "xxxxx").unwrap();
    }
    behaviour.prepare_create(&mut object);
    let mut faults = Faults::default();
    if kind == "Service" {
        service::settle_families(&mut object, None, &mut faults);
    }
    // Whoever fails by the families hears of nothing else.
    if faults.is_empty() {
        behaviour.validate(&object, &mut faults);
        behaviour.validate_create(&object, &mut faults);
    }
    let mut causes: Vec<_> =
        faults.iter().map(|fault| (fault.field.clone(), fault.reason.to_owned())).collect();
    causes.sort();
    // One field may be wrong in several ways for one reason; how many is not looked at.
    causes.dedup();
    (without_null(object), causes)
}

fn without_null(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.into_iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| (k, without_null(v))).collect()
        }
        Value::Array(items) => items.into_iter().map(without_null).collect(),
        value => value,
    }
}

fn compare(behaviour: &dyn Behaviour, cases: Vec<Value>) {
    assert!(!cases.is_empty());
    for case in cases {
        let (filled, causes) = create(behaviour, &case["given"]);
        assert!(causes.is_empty(), "{causes:?}: {}", case["given"]);
        assert_eq!(filled, case["filled"], "{}", case["given"]);
        let mut again = filled.clone();
        behaviour.default(&mut again);
        assert_eq!(without_null(again), filled, "the defaults must leave a finished object alone");
        let warnings = behaviour.warnings(&filled, None);
        let expected = case["warnings"].as_array().cloned().unwrap_or_default();
        assert_eq!(json!(warnings), json!(expected), "{}", case["given"]);
    }
}

#[test]
fn config_maps_are_filled_in_as_recorded() {
    compare(&config_map::ConfigMap, recorded!("config_map"));
}

#[test]
fn endpoints_are_filled_in_as_recorded() {
    compare(&endpoints::Endpoints, recorded!("endpoints"));
}

#[test]
fn events_are_filled_in_as_recorded() {
    compare(&event::Event, recorded!("event"));
}

#[test]
fn events_of_the_newer_group_are_filled_in_as_recorded() {
    for case in recorded!("event_new") {
        let (filled, causes) = create(&event::NewEvent, &case["given"]);
        assert!(causes.is_empty(), "{causes:?}");
        assert_eq!(event::to_events_v1(&filled), case["filled"]);
    }
}

#[test]
fn namespaces_are_filled_in_as_recorded() {
    compare(&namespace::Namespace, recorded!("namespace"));
}

#[test]
fn nodes_are_filled_in_as_recorded() {
    let mut cases = recorded!("node");
    for case in &mut cases {
        // Upstream marks new nodes until its controllers have seen them. There are no such controllers here.
        let taints = case["filled"]["spec"]["taints"].as_array_mut().unwrap();
        taints.retain(|taint| taint["key"] != "node.kubernetes.io/not-ready");
        if taints.is_empty() {
            case["filled"]["spec"] = json!({});
        }
    }
    compare(&node::Node, cases);
}

#[test]
fn claims_are_filled_in_as_recorded() {
    let mut cases = recorded!("persistent_volume_claim");
    for case in &mut cases {
        // Upstream holds claims until its controllers find them unused. There are no such controllers here.
        case["filled"]["metadata"].as_object_mut().unwrap().remove("finalizers");
    }
    compare(&persistent_volume_claim::PersistentVolumeClaim, cases);
}

#[test]
fn pods_are_filled_in_as_recorded() {
    compare(&pod::Pod, recorded!("pod"));
}

#[test]
fn secrets_are_filled_in_as_recorded() {
    compare(&secret::Secret, recorded!("secret"));
}

#[test]
fn services_are_filled_in_as_recorded() {
    compare(&service::Service, recorded!("service"));
}

#[test]
fn service_accounts_are_filled_in_as_recorded() {
    compare(&service_account::ServiceAccount, recorded!("service_account"));
}

#[test]
fn templates_are_filled_in_as_recorded() {
    for case in recorded!("template") {
        let mut template = case["given"]["spec"]["template"].clone();
        pod_spec::default_template(&mut template);
        assert_eq!(template, case["filled"]["spec"]["template"]);
    }
}

#[test]
fn faults_are_found_as_recorded() {
    let mut wrong = Vec::new();
    for (behaviour, cases) in [
        (&config_map::ConfigMap as &dyn Behaviour, recorded!("config_map_faults")),
        (&endpoints::Endpoints, recorded!("endpoints_faults")),
        (&event::Event, recorded!("event_faults")),
        (&event::NewEvent, recorded!("event_new_faults")),
        (&namespace::Namespace, recorded!("namespace_faults")),
        (&node::Node, recorded!("node_faults")),
        (&persistent_volume_claim::PersistentVolumeClaim, recorded!("persistent_volume_claim_faults")),
        (&pod::Pod, recorded!("pod_faults")),
        (&secret::Secret, recorded!("secret_faults")),
        (&service::Service, recorded!("service_faults")),
    ] {
        assert!(!cases.is_empty());
        wrong.extend(cases.iter().filter_map(|case| differences(behaviour, case)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What we find too much or too little in an object that was refused.
fn differences(behaviour: &dyn Behaviour, case: &Value) -> Option<String> {
    let (_, found) = create(behaviour, &case["given"]);
    let found: Vec<_> = found.into_iter().map(|cause| json!(cause)).collect();
    let recorded = case["causes"].as_array().cloned().unwrap_or_default();
    let without = |these: &[Value], those: &[Value]| -> Vec<Value> {
        these.iter().filter(|cause| !those.contains(cause)).cloned().collect()
    };
    let (missing, wrong) = (without(&recorded, &found), without(&found, &recorded));
    let differ = !missing.is_empty() || !wrong.is_empty();
    differ.then(|| format!("missing {}, wrong {}: {}", json!(missing), json!(wrong), case["given"]))
}
