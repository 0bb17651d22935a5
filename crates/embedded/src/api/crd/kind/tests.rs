use serde_json::{Value, json};

use super::CustomKind;
use crate::api::fault::Faults;

fn crd() -> Value {
    let spec = json!({ "type": "object", "properties": {
        "size": { "type": "integer", "default": 1 }, "color": { "type": "string" }
    } });
    let metadata =
        json!({ "type": "object", "properties": { "name": { "type": "string", "maxLength": 5 } } });
    let schema = json!({ "type": "object", "properties": { "metadata": metadata, "spec": spec } });
    json!({
        "spec": {
            "group": "a.example", "scope": "Namespaced",
            "names": { "kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing" },
            "versions": [
                { "name": "v1", "served": true, "storage": true, "deprecated": true,
                  "schema": { "openAPIV3Schema": schema } },
                { "name": "v2", "served": true, "storage": false,
                  "subresources": { "status": {}, "scale": {
                      "specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"
                  } },
                  "selectableFields": [{ "jsonPath": ".spec.color" }],
                  "schema": { "openAPIV3Schema": schema } }
            ]
        }
    })
}

#[test]
fn a_kind_is_what_its_definition_says() {
    let kind = CustomKind::compile(&crd()).expect("a kind");
    let [v1, v2] = kind.versions.as_slice() else { panic!("two versions") };
    assert_eq!(v1.deprecation.as_deref(), Some("a.example/v1 Thing is deprecated; use a.example/v2 Thing"));
    assert!(v1.storage && !v1.has_status && v2.has_status && v1.scale.is_none());
    assert_eq!(v2.scale.as_ref().map(|scale| scale.spec_replicas.clone()), Some(".spec.size".to_owned()));
    assert_eq!(v2.fields(&json!({ "spec": { "color": "red" } })), [("spec.color", "red".to_owned())]);
    assert_eq!(v2.fields(&json!({})), [("spec.color", String::new())]);
}

#[test]
fn objects_are_filled_pruned_and_judged() {
    let kind = CustomKind::compile(&crd()).expect("a kind");
    let version = &kind.versions[0];
    let mut object =
        json!({ "metadata": { "name": "too-long", "labels": { "a": "b" } }, "spec": { "odd": 1 } });
    version.default(&mut object);
    assert_eq!(version.prune(&mut object).expect("good metadata"), ["spec.odd"]);
    assert_eq!(object["spec"], json!({ "size": 1 }));
    let mut faults = Faults::default();
    version.validate(&object, None, &mut faults);
    assert!(faults.iter().any(|fault| fault.field == "metadata.name"), "{faults}");
}

#[test]
fn generation_counts_what_is_neither_metadata_nor_a_status_of_its_own() {
    let kind = CustomKind::compile(&crd()).expect("a kind");
    let old = json!({ "metadata": { "name": "a" }, "spec": {}, "status": {} });
    let with = |field: &str| {
        let mut new = old.clone();
        new[field]["x"] = 1.into();
        new
    };
    let (v1, v2) = (&kind.versions[0], &kind.versions[1]);
    assert!(
        !v1.counts(&with("metadata"), &old)
            && v1.counts(&with("spec"), &old)
            && v1.counts(&with("status"), &old)
    );
    assert!(!v2.counts(&with("status"), &old) && v2.counts(&with("extra"), &old));
}
