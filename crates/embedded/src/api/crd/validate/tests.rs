use serde_json::{Value, json};

use super::{Faults, default, validate};
use crate::api::crd::stored_versions;

fn of_spec(properties: Value) -> Value {
    json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": properties } } })
}

pub(crate) fn definition(schema: Value) -> Value {
    let mut crd = json!({
        "metadata": { "name": "things.a.example" },
        "spec": {
            "group": "a.example", "scope": "Namespaced", "names": { "kind": "Thing", "plural": "things" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }]
        }
    });
    default(&mut crd);
    crd["status"]["storedVersions"] = stored_versions(&crd).into();
    crd
}

fn faults(crd: &Value) -> Vec<(String, &'static str)> {
    let mut faults = Faults::default();
    validate(crd, None, &mut faults);
    faults.iter().map(|fault| (fault.field.clone(), fault.reason)).collect()
}

fn refused(crd: &Value, reason: &str, field: &str) {
    let found = faults(crd);
    assert!(found.iter().any(|(f, r)| f.ends_with(field) && *r == reason), "{field} {reason}: {found:?}");
}

#[test]
fn defaults_fill_names_and_conversion() {
    let crd = definition(of_spec(json!({})));
    let names = json!({ "kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing" });
    assert_eq!(crd["spec"]["names"], names);
    assert_eq!(crd["spec"]["conversion"], json!({ "strategy": "None" }));
    assert_eq!(faults(&crd), []);
}

#[test]
fn schemas_must_be_structural() {
    let item = json!({ "type": "object", "properties": { "b": { "type": "string" } } });
    let wrong = [
        (json!({}), "FieldValueRequired", "openAPIV3Schema.type"),
        (of_spec(json!({ "a": {} })), "FieldValueRequired", "properties[a].type"),
        (of_spec(json!({ "a": { "type": "array" } })), "FieldValueRequired", "properties[a].items"),
        (
            of_spec(json!({ "a": {
                "type": "object", "anyOf": [{ "properties": { "b": { "type": "string" } } }]
            } })),
            "FieldValueForbidden",
            "properties[a].anyOf[0].properties[b].type",
        ),
        (
            of_spec(json!({ "a": {
                "type": "object", "properties": {  "b": { "type": "string" } },
                "additionalProperties": { "type": "string" }
            } })),
            "FieldValueForbidden",
            "properties[a].additionalProperties",
        ),
        (
            of_spec(json!({ "a": { "type": "string", "default": 1 } })),
            "FieldValueTypeInvalid",
            "properties[a].default",
        ),
        (
            of_spec(json!({ "a": {
                "type": "object", "properties": { "b": { "type": "integer" } }, "default": { "b": "x" }
            } })),
            "FieldValueTypeInvalid",
            "properties[a].default.b",
        ),
        (
            of_spec(json!({ "a": { "type": "object", "properties": {}, "default": { "b": 1 } } })),
            "FieldValueInvalid",
            "properties[a].default",
        ),
        (
            of_spec(json!({ "a": { "type": "string", "pattern": "(" } })),
            "FieldValueInvalid",
            "properties[a].pattern",
        ),
        (
            of_spec(json!({ "a": { "type": "array", "x-kubernetes-list-type": "map", "items": item } })),
            "FieldValueRequired",
            "properties[a].x-kubernetes-list-map-keys",
        ),
        (
            of_spec(json!({ "a": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["b"], "items": item
            } })),
            "FieldValueRequired",
            "items.properties[b].default",
        ),
        (
            of_spec(json!({ "a": {
                "type": "array", "x-kubernetes-list-type": "map", "items": item,
                "x-kubernetes-list-map-keys": (0..200_000).map(|n| n.to_string()).collect::<Vec<_>>()
            } })),
            "FieldValueTooMany",
            "properties[a].x-kubernetes-list-map-keys",
        ),
        (
            of_spec(json!({ "a": { "type": "string", "$ref": "#/x" } })),
            "FieldValueForbidden",
            "properties[a].$ref",
        ),
        (
            json!({ "type": "object", "properties": { "metadata": {
                "type": "object", "properties": { "labels": { "type": "object" } }
            } } }),
            "FieldValueForbidden",
            "properties[metadata]",
        ),
    ];
    for (schema, reason, field) in wrong {
        refused(&definition(schema), reason, field);
    }
    let int_or_string = json!({
        "x-kubernetes-int-or-string": true, "anyOf": [{ "type": "integer" }, { "type": "string" }]
    });
    assert_eq!(faults(&definition(of_spec(json!({ "a": int_or_string })))), []);
}

#[test]
fn names_versions_and_subresources_are_checked() {
    let good = definition(of_spec(
        json!({ "color": { "type": "string" }, "list": { "type": "array", "items": { "type": "string" } } }),
    ));
    let column = json!([{ "name": "A", "type": "text", "jsonPath": "spec" }]);
    let scale = json!({ "scale": { "specReplicasPath": ".status.a", "statusReplicasPath": ".status.x[0]" } });
    let changes = [
        ("/metadata/name", json!("wrong.a.example"), "FieldValueInvalid", "metadata.name"),
        ("/spec/group", json!("example"), "FieldValueInvalid", "spec.group"),
        ("/spec/scope", json!("Sideways"), "FieldValueNotSupported", "spec.scope"),
        ("/spec/versions/0/name", json!("V_1"), "FieldValueInvalid", "spec.versions[0].name"),
        ("/spec/versions/0/storage", json!(false), "FieldValueInvalid", "spec.versions"),
        ("/spec/versions/0/schema", Value::Null, "FieldValueRequired", "schema.openAPIV3Schema"),
        ("/spec/versions/0/additionalPrinterColumns", column.clone(), "FieldValueInvalid", "[0].type"),
        ("/spec/versions/0/additionalPrinterColumns", column, "FieldValueInvalid", "[0].JSONPath"),
        ("/spec/versions/0/subresources", scale.clone(), "FieldValueInvalid", "scale.specReplicasPath"),
        ("/spec/versions/0/subresources", scale, "FieldValueInvalid", "scale.statusReplicasPath"),
        (
            "/spec/versions/0/selectableFields",
            json!([{ "jsonPath": ".spec.list" }]),
            "FieldValueInvalid",
            "[0].jsonPath",
        ),
        (
            "/spec/versions/0/selectableFields",
            json!([{ "jsonPath": ".spec.no" }]),
            "FieldValueInvalid",
            "[0].jsonPath",
        ),
        ("/spec/names/kind", json!(""), "FieldValueRequired", "spec.names.kind"),
        ("/spec/conversion/strategy", json!("Webhook"), "FieldValueForbidden", "spec.conversion.strategy"),
        ("/spec/preserveUnknownFields", json!(true), "FieldValueInvalid", "spec.preserveUnknownFields"),
        ("/status/storedVersions", json!(["v0", "v1"]), "FieldValueInvalid", "status.storedVersions[0]"),
    ];
    for (pointer, value, reason, field) in changes {
        let mut wrong = good.clone();
        let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
        wrong.pointer_mut(parent).expect("a place")[name] = value;
        refused(&wrong, reason, field);
    }
    let mut twice = good.clone();
    twice["spec"]["versions"] = json!([good["spec"]["versions"][0], good["spec"]["versions"][0]]);
    refused(&twice, "FieldValueInvalid", "spec.versions");
    let mut ours = good;
    ours["spec"]["group"] = "x.k8s.io".into();
    refused(&ours, "FieldValueRequired", "metadata.annotations[api-approved.kubernetes.io]");
}

#[test]
fn group_and_scope_never_change() {
    let mut old = definition(of_spec(json!({})));
    old["status"]["conditions"] = json!([{ "type": "Established", "status": "True" }]);
    for field in ["scope", "group"] {
        let mut new = old.clone();
        new["spec"][field] = "other.example".into();
        let mut faults = Faults::default();
        validate(&new, Some(&old), &mut faults);
        let found = faults.iter().any(|fault| {
            fault.field == format!("spec.{field}") && fault.message.contains("field is immutable")
        });
        assert!(found, "{faults}");
    }
}

#[test]
fn a_schema_that_is_too_large_is_refused_before_it_is_read() {
    let many: serde_json::Map<String, Value> =
        (0..60_000).map(|n| (format!("p{n}"), json!({ "type": "string" }))).collect();
    refused(&definition(of_spec(many.into())), "FieldValueForbidden", "openAPIV3Schema");
}
