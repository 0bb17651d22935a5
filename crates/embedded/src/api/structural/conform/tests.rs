use serde_json::{Value, json};

use super::{conform, fill_zeros};
use crate::schema::{Schema, builtin};

fn schema(api_version: &str, kind: &str) -> Schema<'static> {
    builtin(api_version, kind).expect("a served kind")
}

fn conformed(api_version: &str, kind: &str, mut value: Value) -> (Value, Vec<String>) {
    let unknown = conform(schema(api_version, kind), &mut value).expect("a value of the right types");
    (value, unknown)
}

fn refused(api_version: &str, kind: &str, mut value: Value) -> String {
    conform(schema(api_version, kind), &mut value).expect_err("a value of a wrong type")
}

#[test]
fn unknown_fields_are_dropped_and_named() {
    let (object, unknown) = conformed(
        "apps/v1",
        "Deployment",
        json!({ "metadata": { "mistyped": 1 }, "spec": {
            "replicaz": 1, "replicas": 0,
            "template": { "spec": { "containers": [{ "name": "a", "ports": [{ "bar": 1 }] }] } }
        } }),
    );
    assert_eq!(
        unknown,
        ["metadata.mistyped", "spec.replicaz", "spec.template.spec.containers[0].ports[0].bar"]
    );
    assert_eq!(object["spec"]["replicas"], 0);
}

#[test]
fn empty_lists_and_maps_go_and_structs_stay() {
    let (object, _) = conformed(
        "v1",
        "Pod",
        json!({
            "metadata": { "labels": {}, "annotations": { "x": null }, "finalizers": [], "creationTimestamp": null },
            "spec": { "volumes": [{ "name": "e", "emptyDir": {} }], "nodeSelector": {}, "containers": [] }
        }),
    );
    let kept = json!({
        "metadata": { "annotations": { "x": "" } },
        "spec": { "volumes": [{ "name": "e", "emptyDir": {} }], "containers": [] }
    });
    assert_eq!(object, kept);
}

#[test]
fn optional_zeros_go_where_upstream_does_not_print_them() {
    let env = json!([{ "name": "A", "value": "" }]);
    let pod = json!({ "hostNetwork": false, "hostname": "", "priority": 0, "automountServiceAccountToken": false,
        "containers": [{ "name": "", "env": env }] });
    let (object, _) = conformed(
        "apps/v1",
        "Deployment",
        json!({
            "spec": { "replicas": 0, "paused": false, "minReadySeconds": 0, "template": { "spec": pod } },
            "status": { "readyReplicas": 0, "collisionCount": 0 }
        }),
    );
    let pod = json!({ "priority": 0, "automountServiceAccountToken": false,
        "containers": [{ "name": "", "env": [{ "name": "A" }] }] });
    let kept = json!({
        "spec": { "replicas": 0, "template": { "spec": pod } }, "status": { "collisionCount": 0 }
    });
    assert_eq!(object, kept);
    let (map, _) = conformed("v1", "ConfigMap", json!({ "data": { "a": "" }, "immutable": false }));
    assert_eq!(map, json!({ "data": { "a": "" }, "immutable": false }));
}

#[test]
fn quantities_and_times_take_their_one_form() {
    let limits = json!({ "cpu": "1000m", "memory": "1024Mi", "half": 0.5 });
    let (object, _) = conformed(
        "v1",
        "Pod",
        json!({
            "metadata": { "creationTimestamp": "2026-01-02T03:04:05.9+01:00" },
            "spec": { "containers": [{ "name": "a", "resources": { "limits": limits } }] }
        }),
    );
    let limits = &object["spec"]["containers"][0]["resources"]["limits"];
    assert_eq!(*limits, json!({ "cpu": "1", "memory": "1Gi", "half": "500m" }));
    assert_eq!(object["metadata"]["creationTimestamp"], "2026-01-02T02:04:05Z");
    let lease = json!({ "spec": { "renewTime": "2026-01-02T03:04:05.123456+01:00" } });
    let (object, _) = conformed("coordination.k8s.io/v1", "Lease", lease);
    assert_eq!(object["spec"]["renewTime"], "2026-01-02T02:04:05.123456Z");
}

#[test]
fn wrong_types_are_refused_in_the_decoders_words() {
    let deployment = |spec: Value| refused("apps/v1", "Deployment", json!({ "spec": spec }));
    assert_eq!(
        deployment(json!({ "replicas": "3" })),
        "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"
    );
    assert_eq!(
        deployment(json!({ "replicas": 3_000_000_000_u32 })),
        "json: cannot unmarshal number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32"
    );
    assert_eq!(
        deployment(json!({ "template": { "spec": { "containers": { "a": 1 } } } })),
        "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type \
         []v1.Container"
    );
    assert_eq!(
        deployment(json!({ "template": { "spec": { "containers": [{ "name": 1 }] } } })),
        "json: cannot unmarshal number into Go struct field Container.spec.template.spec.containers.name of type \
         string"
    );
    assert_eq!(
        refused("v1", "ConfigMap", json!({ "metadata": { "labels": { "a": 1 } } })),
        "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string"
    );
    assert_eq!(
        refused("v1", "ConfigMap", json!({ "metadata": [] })),
        "json: cannot unmarshal array into Go struct field ConfigMap.metadata of type v1.ObjectMeta"
    );
}

#[test]
fn malformed_texts_are_refused() {
    let lease = |time: &str| json!({ "spec": { "renewTime": time } });
    for time in ["2026-01-02T03:04:05.123Z", "2026-01-02T03:04:05Z", "2026-01-02 03:04:05.123456Z"] {
        assert!(refused("coordination.k8s.io/v1", "Lease", lease(time)).contains(time));
    }
    assert!(
        refused("v1", "Secret", json!({ "data": { "x": "a?" } }))
            .contains("illegal base64 data at input byte 1")
    );
    let pod = json!({ "spec": { "containers": [{ "resources": { "limits": { "cpu": "abc" } } }] } });
    assert!(refused("v1", "Pod", pod).starts_with("quantities must match"));
}

#[test]
fn schemas_inside_definitions_lose_what_they_do_not_know_in_silence() {
    let items = json!({ "type": "string", "nonsense": 1, "default": { "a": null } });
    let schema = json!({ "openAPIV3Schema": { "type": "array", "items": items, "stray": 1 } });
    let (object, unknown) = conformed(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        json!({ "spec": { "versions": [{ "schema": schema }] } }),
    );
    assert_eq!(unknown, ["spec.versions[0].schema.openAPIV3Schema.stray"]);
    let items = &object["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["items"];
    assert_eq!(*items, json!({ "type": "string", "default": { "a": null } }));
}

#[test]
fn required_fields_become_their_zero() {
    let status = json!({ "containerStatuses": [{ "name": "a" }] });
    let mut pod = json!({ "spec": { "containers": [{}] }, "status": status });
    fill_zeros(schema("v1", "Pod"), &mut pod);
    let status = json!({ "name": "a", "image": "", "imageID": "", "ready": false, "restartCount": 0 });
    assert_eq!(
        pod,
        json!({
            "spec": { "containers": [{ "name": "" }] }, "status": { "containerStatuses": [status] }
        })
    );
}
