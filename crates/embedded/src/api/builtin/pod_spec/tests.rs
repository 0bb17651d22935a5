//! Defaults and faults of a pod's spec. What the real server fills in is recorded in `testdata`.

use serde_json::{Value, json};

use super::*;
use crate::api::fault::{Faults, Path};

fn causes(mut spec: Value) -> Vec<(String, &'static str)> {
    default_spec(&mut spec);
    let mut faults = Faults::default();
    validate_spec(&spec, &Path::new("spec"), &mut faults);
    faults.iter().map(|fault| (fault.field.clone(), fault.reason)).collect()
}

#[test]
fn a_plain_pod_has_no_faults() {
    assert!(causes(json!({ "containers": [{ "name": "a", "image": "b" }] })).is_empty());
}

#[test]
fn every_fault_is_named_at_once() {
    let found = causes(json!({
        "restartPolicy": "Sometimes",
        "terminationGracePeriodSeconds": -1,
        "volumes": [{ "name": "v", "emptyDir": {} }, { "name": "v" }, { "name": "w", "secret": {}, "nfs": {} }],
        "containers": [
            {
                "name": "b", "image": "b", "imagePullPolicy": "Perhaps",
                "ports": [{ "containerPort": 70000 }, { "containerPort": 80, "name": "Not_A_Port" }],
                "env": [{ "name": "" }, { "name": "a", "value": "b", "valueFrom": { "fieldRef": { "fieldPath": "spec.x" } } }],
                "volumeMounts": [{ "name": "missing", "mountPath": "/m" }, { "name": "v", "mountPath": "" }],
                "livenessProbe": { "httpGet": { "port": 0 }, "successThreshold": 2 }
            },
            { "name": "b" },
            { "name": "Not_A_Name", "image": "b", "resources": {
                "requests": { "cpu": "2", "memory": "lots" }, "limits": { "cpu": "1" }
            } }
        ],
        "initContainers": [{ "name": "b", "image": "b", "readinessProbe": { "exec": { "command": ["a"] } } }]
    }));
    for (field, reason) in [
        ("spec.restartPolicy", "FieldValueNotSupported"),
        ("spec.volumes[1].name", "FieldValueDuplicate"),
        ("spec.volumes[2].nfs.server", "FieldValueRequired"),
        ("spec.volumes[2].secret", "FieldValueForbidden"),
        ("spec.containers[0].imagePullPolicy", "FieldValueNotSupported"),
        ("spec.containers[0].ports[0].containerPort", "FieldValueInvalid"),
        ("spec.containers[0].ports[1].name", "FieldValueInvalid"),
        ("spec.containers[0].env[0].name", "FieldValueRequired"),
        ("spec.containers[0].env[1].valueFrom", "FieldValueInvalid"),
        ("spec.containers[0].env[1].valueFrom.fieldRef.fieldPath", "FieldValueInvalid"),
        ("spec.containers[0].volumeMounts[0].name", "FieldValueNotFound"),
        ("spec.containers[0].volumeMounts[1].mountPath", "FieldValueRequired"),
        ("spec.containers[0].livenessProbe.httpGet.port", "FieldValueInvalid"),
        ("spec.containers[0].livenessProbe.successThreshold", "FieldValueInvalid"),
        ("spec.containers[1].name", "FieldValueDuplicate"),
        ("spec.containers[1].image", "FieldValueRequired"),
        ("spec.containers[2].name", "FieldValueInvalid"),
        ("spec.containers[2].resources.requests", "FieldValueInvalid"),
        ("spec.containers[2].resources.requests[memory]", "FieldValueInvalid"),
        ("spec.initContainers[0].name", "FieldValueDuplicate"),
        ("spec.initContainers[0].readinessProbe", "FieldValueForbidden"),
    ] {
        assert!(found.contains(&(field.to_owned(), reason)), "no {reason} for {field}: {found:?}");
    }
}

#[test]
fn a_template_may_not_bring_ephemeral_containers() {
    let mut template = json!({ "spec": {
        "containers": [{ "name": "a", "image": "b" }],
        "ephemeralContainers": [{ "name": "c", "image": "b" }]
    } });
    default_template(&mut template);
    let mut faults = Faults::default();
    validate_template(&template, &Path::new("spec.template"), &mut faults);
    let fields: Vec<_> = faults.iter().map(|fault| fault.field.as_str()).collect();
    assert_eq!(fields, ["spec.template.spec.ephemeralContainers"]);
}

#[test]
fn defaults_leave_a_finished_spec_alone() {
    let mut once = json!({ "containers": [{
        "name": "a", "image": "b:1", "resources": { "limits": { "cpu": "0.5" } },
        "ports": [{ "containerPort": 1 }], "livenessProbe": { "grpc": { "port": 2 } }
    }], "volumes": [{ "name": "v" }], "serviceAccount": "c" });
    default_spec(&mut once);
    let mut twice = once.clone();
    default_spec(&mut twice);
    assert_eq!(once, twice);
    assert_eq!(once["serviceAccountName"], "c");
}
