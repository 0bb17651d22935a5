//! The well-known cases, as a real API server has them.

use serde_json::{Value, json};

use super::{Story, at, builtin, conflicts, custom, owned, writer};
use crate::api::fields::{Writer, apply, settle, track_scale, track_update};

fn data(key: &str, value: &str) -> Value {
    json!({ "data": { key: value } })
}

fn with_containers(containers: Value) -> Value {
    json!({ "spec": { "template": { "spec": { "containers": containers } } } })
}

#[test]
fn creating_a_built_in_kind_owns_what_is_in_its_structs_and_not_the_structs() {
    let mut story = Story::of(builtin("Deployment"));
    story.update("writer", |new| {
        *new = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": { "name": "a", "uid": "1", "labels": { "x": "1" } },
            "spec": {
                "replicas": 1,
                "selector": { "matchLabels": { "x": "1" } },
                "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1 } },
                "template": { "metadata": { "labels": { "x": "1" } }, "spec": {
                    "containers": [{ "name": "main", "image": "app:1", "resources": {}, "env": [{ "name": "A" }] }]
                } }
            },
            "status": { "replicas": 7 }
        });
    });
    let container = json!({
        ".": {}, "f:name": {}, "f:image": {}, "f:resources": {},
        "f:env": { ".": {}, "k:{\"name\":\"A\"}": { ".": {}, "f:name": {} } }
    });
    let labels = json!({ "f:labels": { ".": {}, "f:x": {} } });
    let expected = json!({
        "f:metadata": labels,
        "f:spec": {
            "f:replicas": {}, "f:selector": {},
            "f:strategy": { "f:type": {}, "f:rollingUpdate": { ".": {}, "f:maxSurge": {} } },
            "f:template": {
                "f:metadata": labels,
                "f:spec": { "f:containers": { "k:{\"name\":\"main\"}": container } }
            }
        }
    });
    assert_eq!(story.owned("writer", "Update"), expected);
}

#[test]
fn creating_a_custom_kind_owns_its_objects_too() {
    let tree = custom(json!({ "type": "object", "properties": { "size": { "type": "integer" } } }));
    let mut story = Story::of(tree.root().unwrap());
    story.update("writer", |new| *new = json!({ "metadata": { "name": "a" }, "spec": { "size": 1 } }));
    assert_eq!(story.owned("writer", "Update"), json!({ "f:spec": { ".": {}, "f:size": {} } }));
}

#[test]
fn conflict_names_fields_and_owners_and_force_takes_over() {
    let mut story = Story::of(builtin("ConfigMap"));
    story.apply("one", json!({ "data": { "x": "1", "y": "1" } })).unwrap();
    story.update("two", |new| new["data"]["y"] = "2".into());
    let error = story.apply("three", json!({ "data": { "x": "3", "y": "3" } })).unwrap_err();
    assert_eq!(
        error.message,
        "Apply failed with 2 conflicts: conflicts with \"one\":\n- .data.x\nconflicts with \"two\" using v1:\n- .data.y"
    );
    let cause = json!({
        "reason": "FieldManagerConflict", "message": "conflict with \"two\" using v1", "field": ".data.y"
    });
    assert_eq!(error.details["causes"][1], cause);
    let error = story.apply("three", data("x", "3")).unwrap_err();
    assert_eq!(error.message, "Apply failed with 1 conflict: conflict with \"one\": .data.x");
    story.force("three", data("x", "3"));
    assert_eq!(story.object()["data"], json!({ "x": "3", "y": "2" }));
    // Nothing is left to the first: its other field went to the update.
    assert_eq!(story.owned("one", "Apply"), Value::Null);
}

#[test]
fn a_managers_update_and_apply_are_two_owners() {
    let mut story = Story::of(builtin("ConfigMap"));
    story.update("one", |new| *new = data("key", "1"));
    assert_eq!(conflicts(story.apply("one", data("key", "2"))), [".data.key"]);
    story.apply("one", data("key", "1")).unwrap();
    assert_eq!(story.owned("one", "Apply"), json!({ "f:data": { "f:key": {} } }));
    assert_eq!(story.owned("one", "Update"), json!({ "f:data": { ".": {}, "f:key": {} } }));
}

#[test]
fn omission_removes_what_nobody_else_owns() {
    let mut story = Story::of(builtin("ConfigMap"));
    story.apply("one", json!({ "data": { "x": "1", "y": "1" } })).unwrap();
    story.apply("two", data("y", "1")).unwrap();
    assert_eq!(story.apply("one", json!({})).unwrap()["data"], json!({ "y": "1" }));
    let object = story.apply("two", json!({})).unwrap();
    assert_eq!(*object, json!({ "metadata": {} }));
}

#[test]
fn defaults_beside_what_is_removed_stay() {
    let mut story = Story::of(builtin("Deployment"));
    story.apply("one", json!({ "spec": { "replicas": 1, "paused": true } })).unwrap();
    if let Some(object) = &mut story.object {
        object["spec"]["revisionHistoryLimit"] = 10.into();
    }
    let object = story.apply("one", json!({ "spec": { "paused": true } })).unwrap();
    assert_eq!(object["spec"], json!({ "paused": true, "revisionHistoryLimit": 10 }));
}

#[test]
fn an_emptied_map_is_null_and_its_owner_stays() {
    let mut story = Story::of(builtin("ConfigMap"));
    story.update("one", |new| *new = json!({ "metadata": { "labels": { "x": "1" } } }));
    story.update("one", |new| new["metadata"]["annotations"] = json!({ "x": "1" }));
    story.force("two", json!({ "metadata": { "labels": { "x": "2" } } }));
    let object = story.apply("two", json!({})).unwrap();
    assert_eq!(object["metadata"].get("labels"), Some(&Value::Null));
    assert_eq!(owned(object, "one", "Update")["f:metadata"]["f:labels"], json!({}));
}

#[test]
fn containers_merge_by_name_in_the_applied_order() {
    let mut story = Story::of(builtin("Deployment"));
    let names = |object: &Value| -> Vec<String> {
        let containers = object["spec"]["template"]["spec"]["containers"].as_array().unwrap().clone();
        containers.iter().map(|container| container["name"].as_str().unwrap().to_owned()).collect()
    };
    story.apply("one", with_containers(json!([{ "name": "a" }, { "name": "b" }, { "name": "c" }]))).unwrap();
    let object =
        story.apply("two", with_containers(json!([{ "name": "d" }, { "name": "c" }, { "name": "a" }])));
    assert_eq!(names(object.unwrap()), ["b", "d", "c", "a"]);
    let object = story.apply("two", with_containers(json!([]))).unwrap();
    assert_eq!(names(object), ["b", "c", "a"]);
}

#[test]
fn ports_are_told_by_number_and_protocol_which_has_a_default() {
    let mut story = Story::of(builtin("Deployment"));
    let port = |port: Value| with_containers(json!([{ "name": "main", "ports": [port] }]));
    story.apply("one", port(json!({ "containerPort": 80, "name": "web" }))).unwrap();
    story.apply("two", port(json!({ "containerPort": 80, "protocol": "UDP" }))).unwrap();
    let clash = story.apply("two", port(json!({ "containerPort": 80, "protocol": "TCP", "name": "other" })));
    let field = ".spec.template.spec.containers[name=\"main\"].ports[containerPort=80,protocol=\"TCP\"].name";
    assert_eq!(conflicts(clash), [field]);
    let ports = &story.object()["spec"]["template"]["spec"]["containers"][0]["ports"];
    assert_eq!(ports.as_array().unwrap().len(), 2);
}

#[test]
fn variables_finalizers_and_conditions_belong_to_each_of_many() {
    let mut story = Story::of(builtin("Pod"));
    let pod = |env: &str, finalizer: &str| {
        json!({
            "metadata": { "finalizers": [finalizer] },
            "spec": { "containers": [{ "name": "main", "env": [{ "name": env, "value": "1" }] }] }
        })
    };
    story.apply("one", pod("A", "x/a")).unwrap();
    let object = story.apply("two", pod("B", "x/b")).unwrap();
    assert_eq!(object["metadata"]["finalizers"], json!(["x/a", "x/b"]));
    assert_eq!(object["spec"]["containers"][0]["env"].as_array().unwrap().len(), 2);
    let live = story.object().clone();
    let status = |kind: &str| json!({ "status": { "conditions": [{ "type": kind, "status": "True" }] } });
    let writer = |manager| Writer { subresource: Some("status"), ..writer(manager) };
    let reset: &[&[&str]] = &[&["spec"]];
    let first = apply(story.schema, Some(&live), &status("Ready"), false, &writer("one"), reset).unwrap();
    let both = apply(story.schema, Some(&first), &status("Other"), false, &writer("two"), reset).unwrap();
    assert_eq!(both["status"]["conditions"].as_array().unwrap().len(), 2);
    assert_eq!(both["spec"], live["spec"]);
}

#[test]
fn atomic_selector_is_owned_as_a_whole() {
    let mut story = Story::of(builtin("Service"));
    let selector = |key: &str| json!({ "spec": { "selector": { key: "1" } } });
    story.apply("one", selector("x")).unwrap();
    assert_eq!(story.owned("one", "Apply"), json!({ "f:spec": { "f:selector": {} } }));
    assert_eq!(conflicts(story.apply("two", selector("y"))), [".spec.selector"]);
    assert_eq!(story.force("two", selector("y"))["spec"]["selector"], json!({ "y": "1" }));
}

#[test]
fn what_no_schema_describes_goes_by_field_and_lists_as_a_whole() {
    let tree = custom(json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }));
    let mut story = Story::of(tree.root().unwrap());
    story.apply("one", json!({ "spec": { "a": { "b": 1, "l": [1, { "x": 1 }] } } })).unwrap();
    let fields = json!({ "f:spec": { "f:a": { ".": {}, "f:b": {}, "f:l": {} } } });
    assert_eq!(story.owned("one", "Apply"), fields);
    assert_eq!(conflicts(story.apply("two", json!({ "spec": { "a": { "c": 1, "l": [] } } }))), [".spec.a.l"]);
}

#[test]
fn what_cannot_be_told_apart_is_refused() {
    let list = |kind: Value| {
        let mut list = json!({ "type": "array" });
        list.as_object_mut().unwrap().extend(kind.as_object().unwrap().clone());
        list
    };
    let items = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
    let tree = custom(json!({ "type": "object", "properties": {
        "set": list(json!({ "x-kubernetes-list-type": "set", "items": { "type": "string" } })),
        "map": list(json!({
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": items
        })),
    } }));
    let mut story = Story::of(tree.root().unwrap());
    for (spec, words) in [
        (json!({ "set": ["x", "x"] }), ".spec.set: duplicate entries for key [=\"x\"]"),
        (json!({ "set": [null] }), "explicit null"),
        (json!({ "map": [{ "name": "a" }, { "name": "a" }] }), "duplicate entries for key [name=\"a\"]"),
        (
            json!({ "map": [{}] }),
            ".spec.map: element 0: associative list with keys has an element that omits all",
        ),
        (json!({ "map": ["a"] }), "non-map elements"),
        (json!({ "nope": 1 }), ".spec.nope: field not declared in schema"),
        (json!({ "set": "x" }), ".spec.set: expected list, got \"x\""),
    ] {
        let error = story.apply("one", json!({ "kind": "Thing", "spec": spec })).unwrap_err();
        assert_eq!(error.code.as_u16(), 422);
        assert!(error.message.contains(words), "{}", error.message);
    }
    let error = story.apply("one", json!({ "metadata": { "managedFields": [] } })).unwrap_err();
    assert_eq!(error.code.as_u16(), 400);
}

#[test]
fn updates_may_reset_owners_and_then_nobody_is_recorded_until_somebody_applies() {
    for reset in [json!([]), json!([{}])] {
        let mut story = Story::of(builtin("ConfigMap"));
        story.apply("one", data("key", "1")).unwrap();
        story.update("two", |new| new["metadata"]["managedFields"] = reset);
        story.update("two", |new| new["data"]["key"] = "2".into());
        assert_eq!(story.object()["metadata"].get("managedFields"), None);
        let refused = story.apply("one", data("key", "3")).unwrap_err();
        assert!(
            refused.message.contains("\"before-first-apply\" using v1: .data.key"),
            "{}",
            refused.message
        );
        story.apply("one", data("key", "2")).unwrap();
        assert_eq!(
            story.owned("before-first-apply", "Update"),
            json!({ "f:data": { ".": {}, "f:key": {} } })
        );
    }
}

#[test]
fn unreadable_or_missing_owners_are_ignored_and_readable_ones_count() {
    let mut story = Story::of(builtin("ConfigMap"));
    let before = story.apply("one", data("key", "1")).unwrap()["metadata"]["managedFields"].clone();
    for sent in [
        Value::Null,
        json!("x"),
        json!([{ "manager": "two" }]),
        json!([{ "manager": "two", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": { "?": {} } }]),
        json!([{ "manager": "two", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "time": "x" }]),
    ] {
        let object = story.update("two", |new| new["metadata"]["managedFields"] = sent);
        assert_eq!(object["metadata"]["managedFields"], before);
    }
    story.update("two", |new| new["metadata"]["managedFields"][0]["manager"] = "three".into());
    assert_eq!(story.owned("three", "Apply"), json!({ "f:data": { "f:key": {} } }));
}

#[test]
fn old_updates_are_folded_into_one_entry() {
    let mut story = Story::of(builtin("ConfigMap"));
    for n in 0..15 {
        story.update(&format!("m{n:02}"), |new| new["data"][format!("k{n:02}")] = "1".into());
    }
    let entries = story.object()["metadata"]["managedFields"].as_array().unwrap().clone();
    let names: Vec<_> = entries.iter().map(|entry| entry["manager"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 10);
    assert_eq!(names[..2], ["ancient-changes", "m06"]);
    let old = story.owned("ancient-changes", "Update");
    assert_eq!(old["f:data"].as_object().unwrap().len(), 7, "{old}");
}

#[test]
fn times_move_only_with_the_entry_and_agreeing_has_none() {
    let mut story = Story::of(builtin("ConfigMap"));
    let first = story.apply("one", data("x", "1")).unwrap().clone();
    assert_eq!(*story.apply("one", data("x", "1")).unwrap(), first);
    story.apply("two", data("y", "1")).unwrap();
    let time = |object: &Value, at: usize| object["metadata"]["managedFields"][at]["time"].clone();
    assert_eq!(time(story.object(), 0), time(&first, 0));
    assert_ne!(time(story.object(), 1), time(&first, 0));
    // Whoever only agrees has changed nothing yet.
    story.apply("three", data("y", "1")).unwrap();
    let entries = story.object()["metadata"]["managedFields"].as_array().unwrap().clone();
    let three = entries.iter().find(|entry| entry["manager"] == "three").unwrap();
    assert_eq!(three.get("time"), None);
}

#[test]
fn settling_restores_times_only_if_nothing_else_differs() {
    let object = |time: &str, value: &str| json!({ "metadata": { "managedFields": [{ "manager": "one", "time": time }] }, "data": { "x": value } });
    let mut same = object("2", "1");
    settle(&object("1", "1"), &mut same);
    assert_eq!(same, object("1", "1"));
    let mut other = object("2", "2");
    settle(&object("1", "1"), &mut other);
    assert_eq!(other, object("2", "2"));
}

#[test]
fn a_list_that_became_atomic_belongs_as_a_whole_to_whoever_owned_an_item() {
    let spec = |kind: &str| {
        let list = json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": kind });
        custom(json!({ "type": "object", "properties": { "tags": list } }))
    };
    let (before, after) = (spec("set"), spec("atomic"));
    let mut story = Story::of(before.root().unwrap());
    story.apply("one", json!({ "spec": { "tags": ["x"] } })).unwrap();
    story.schema = after.root().unwrap();
    assert_eq!(conflicts(story.apply("two", json!({ "spec": { "tags": ["y"] } }))), [".spec.tags"]);
    // And back: the owner of the whole does not stand in the way of items.
    story.force("two", json!({ "spec": { "tags": ["y"] } }));
    story.schema = before.root().unwrap();
    assert_eq!(
        story.apply("one", json!({ "spec": { "tags": ["x"] } })).unwrap()["spec"]["tags"],
        json!(["y", "x"])
    );
}

#[test]
fn status_and_object_do_not_own_each_others_fields() {
    let mut story = Story::of(builtin("Pod"));
    story.apply("one", json!({ "spec": { "nodeName": "n" }, "status": { "phase": "Running" } })).unwrap();
    assert_eq!(story.owned("one", "Apply"), json!({ "f:spec": { "f:nodeName": {} } }));
    let old = story.object().clone();
    let mut new = old.clone();
    new["status"]["phase"] = "Failed".into();
    new["spec"]["nodeName"] = "m".into();
    let writer = Writer { subresource: Some("status"), ..writer("two") };
    track_update(story.schema, Some(&old), &mut new, &writer, &[&["spec"]]);
    assert_eq!(owned(&new, "two", "Update"), json!({ "f:status": { "f:phase": {} } }));
    assert_eq!(owned(&new, "one", "Apply"), json!({ "f:spec": { "f:nodeName": {} } }));
}

#[test]
fn scaling_takes_the_replicas_if_they_had_an_owner() {
    let mut story = Story::of(builtin("Deployment"));
    story.apply("one", json!({ "spec": { "replicas": 1, "paused": true } })).unwrap();
    let scaler =
        Writer { api_version: "apps/v1", subresource: Some("scale"), time: at(9), ..writer("scaler") };
    let scaled = |old: &Value, replicas: i64| {
        let mut new = old.clone();
        new["spec"]["replicas"] = replicas.into();
        track_scale(old, &mut new, &["spec", "replicas"], &scaler);
        new
    };
    let new = scaled(story.object(), 3);
    assert_eq!(owned(&new, "scaler", "Update"), json!({ "f:spec": { "f:replicas": {} } }));
    assert_eq!(owned(&new, "one", "Apply"), json!({ "f:spec": { "f:paused": {} } }));
    assert_eq!(scaled(&new, 3), new);
    let unowned = json!({ "metadata": {}, "spec": { "replicas": 1 } });
    assert_eq!(scaled(&unowned, 2)["metadata"], json!({}));
}

#[test]
fn kubectl_takes_over_what_it_applied_from_the_client_side() {
    let annotation = "kubectl.kubernetes.io/last-applied-configuration";
    let mut story = Story::of(builtin("ConfigMap"));
    let applied = |value: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "x": value } });
    story.update("kubectl-client-side-apply", |new| {
        *new = applied("1");
        new["data"]["y"] = "1".into();
        new["metadata"]["annotations"][annotation] = applied("1").to_string().into();
    });
    assert_eq!(conflicts(story.apply("other", applied("2"))), [".data.x"]);
    let object = story.apply("kubectl", applied("2")).unwrap();
    assert_eq!(object["data"]["x"], "2");
    assert_eq!(object["metadata"]["annotations"][annotation], format!("{}\n", applied("2")));
    let mut both = applied("2");
    both["data"]["y"] = "2".into();
    assert_eq!(conflicts(story.apply("kubectl", both)), [".data.y"]);
}

#[test]
fn a_reference_without_a_name_is_told_by_its_empty_name() {
    let mut story = Story::of(builtin("Pod"));
    story.update("writer", |new| {
        *new = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a" }, "spec": { "imagePullSecrets": [{}] }
        });
    });
    let secrets = story.owned("writer", "Update")["f:spec"]["f:imagePullSecrets"].clone();
    assert_eq!(secrets, json!({ ".": {}, "k:{\"name\":\"\"}": {} }));
}
