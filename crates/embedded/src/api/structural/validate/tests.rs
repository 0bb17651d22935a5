use serde_json::{Value, json};

use super::{Faults, Path, Place, Rules, Validator, validate};
use crate::{
    api::structural,
    schema::{Tree, metadata_definitions},
};

/// The tree of an object whose spec has these properties.
fn tree(properties: Value) -> Tree {
    let schema =
        json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": properties } } });
    Tree::of_schema(&schema, metadata_definitions())
}

fn faults(tree: &Tree, spec: Value, old: Option<Value>) -> Vec<(String, String)> {
    let object = |spec: Value| json!({ "spec": spec });
    let mut faults = Faults::default();
    let old = old.map(object);
    let root = tree.root().expect("a root");
    let rules = Rules::compile(root, &Path::root(), &mut faults);
    validate(root, &object(spec), old.as_ref(), &rules, &mut faults);
    faults.iter().map(|fault| (fault.field.clone(), fault.reason.to_owned())).collect()
}

fn has(found: &[(String, String)], field: &str, reason: &str) {
    assert!(found.iter().any(|(f, r)| f == field && r == reason), "{field} {reason}: {found:?}");
}

#[test]
fn wrong_types_name_their_fields() {
    let tree = tree(json!({
        "integer": { "type": "integer" },
        "string": { "type": "string" },
        "list": { "type": "array", "items": { "type": "integer" } },
        "map": { "type": "object", "additionalProperties": { "type": "string" } },
        "port": { "x-kubernetes-int-or-string": true }
    }));
    let wrong = json!({ "integer": "1", "string": 1, "list": [1, "2"], "map": { "a.b": true }, "port": 1.5 });
    let found = faults(&tree, wrong, None);
    for field in ["integer", "string", "list[1]", "map.a.b", "port"] {
        has(&found, &format!("spec.{field}"), "FieldValueTypeInvalid");
    }
    assert_eq!(found.len(), 5, "there are no rules that were not asked: {found:?}");
    assert_eq!(faults(&tree, json!({ "integer": 1.0, "port": "http" }), None), []);
}

#[test]
fn rules_that_were_not_asked_are_mentioned() {
    let rule = json!([{ "rule": "self > 0" }]);
    let tree = tree(json!({ "count": { "type": "integer", "x-kubernetes-validations": rule } }));
    has(&faults(&tree, json!({ "count": "1" }), None), "<nil>", "FieldValueInvalid");
}

#[test]
fn each_bound_is_enforced_and_inclusive() {
    let tree = tree(json!({
        "enum": { "type": "string", "enum": ["A", "B"] },
        "range": { "type": "integer", "minimum": 1, "maximum": 5 },
        "below": { "type": "number", "maximum": 5, "exclusiveMaximum": true },
        "step": { "type": "integer", "multipleOf": 3 },
        "small": { "type": "integer", "format": "int32" },
        "text": { "type": "string", "minLength": 2, "maxLength": 4 },
        "pattern": { "type": "string", "pattern": "a+" },
        "list": { "type": "array", "minItems": 1, "maxItems": 2, "items": { "type": "integer" } },
        "map": {
            "type": "object", "minProperties": 1, "maxProperties": 2, "additionalProperties": { "type": "string" }
        },
        "time": { "type": "string", "format": "date-time" },
        "deep": { "type": "object", "required": ["inner"], "properties": { "inner": { "type": "string" } } }
    }));
    let (invalid, too_many) = ("FieldValueInvalid", "FieldValueTooMany");
    let wrong = [
        ("enum", json!("C"), "FieldValueNotSupported"),
        ("range", json!(0), invalid),
        ("range", json!(6), invalid),
        ("below", json!(5), invalid),
        ("step", json!(4), invalid),
        ("text", json!("a"), invalid),
        ("text", json!("abcde"), "FieldValueTooLong"),
        ("pattern", json!("b"), invalid),
        ("list", json!([]), invalid),
        ("list", json!([1, 2, 3]), too_many),
        ("map", json!({}), invalid),
        ("map", json!({ "a": "1", "b": "2", "c": "3" }), too_many),
        ("time", json!("yesterday"), "FieldValueTypeInvalid"),
    ];
    for (field, value, reason) in wrong {
        has(&faults(&tree, json!({ field: value }), None), &format!("spec.{field}"), reason);
    }
    has(&faults(&tree, json!({ "deep": {} }), None), "spec.deep.inner", "FieldValueRequired");
    has(&faults(&tree, json!({ "small": 2_147_483_648_u32 }), None), "<nil>", invalid);
    let good = json!({
        "enum": "B", "range": 5, "below": 4.99, "step": 6, "small": i32::MAX, "text": "äöüß", "pattern": "bab",
        "list": [1, 2], "map": { "a": "1" }, "time": "2026-01-02T03:04:05+01:00", "deep": { "inner": "" }
    });
    assert_eq!(faults(&tree, good, None), []);
}

#[test]
fn junctions_name_no_field() {
    let tree = tree(json!({
        "any": { "type": "integer", "anyOf": [{ "minimum": 100 }, { "maximum": 10 }] },
        "one": {
            "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "string" } },
            "oneOf": [{ "required": ["a"] }, { "required": ["b"] }]
        },
        "all": { "type": "integer", "allOf": [{ "minimum": 2 }, { "multipleOf": 2 }] },
        "not": { "type": "string", "not": { "enum": ["bad"] } }
    }));
    for spec in [
        json!({ "any": 50 }),
        json!({ "one": {} }),
        json!({ "one": { "a": "", "b": "" } }),
        json!({ "all": 3 }),
        json!({ "not": "bad" }),
    ] {
        has(&faults(&tree, spec, None), "<nil>", "FieldValueInvalid");
    }
    has(&faults(&tree, json!({ "all": 3 }), None), "spec.all", "FieldValueInvalid");
    assert_eq!(faults(&tree, json!({ "any": 5, "one": { "b": "" }, "all": 4, "not": "good" }), None), []);
}

#[test]
fn what_did_not_change_is_not_judged_again() {
    let tree = tree(json!({
        "size": { "type": "integer", "maximum": 5 },
        "note": { "type": "string" },
        "ports": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": { "type": "object", "properties": {
                "name": { "type": "string" }, "port": { "type": "integer", "maximum": 5 }
            } }
        }
    }));
    let old = json!({ "size": 9, "note": "", "ports": [{ "name": "a", "port": 9 }] });
    let kept =
        json!({ "size": 9, "note": "x", "ports": [{ "name": "b", "port": 1 }, { "name": "a", "port": 9 }] });
    assert_eq!(faults(&tree, kept, Some(old.clone())), []);
    has(&faults(&tree, json!({ "size": 10 }), Some(old.clone())), "spec.size", "FieldValueInvalid");
    let moved = json!({ "ports": [{ "name": "b", "port": 9 }] });
    has(&faults(&tree, moved, Some(old)), "spec.ports[0].port", "FieldValueInvalid");
}

#[test]
fn duplicates_are_named_once() {
    let tree = tree(json!({
        "sets": { "type": "object", "additionalProperties": {
            "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" }
        } },
        "ports": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n", "p"],
            "items": { "type": "object", "properties": { "n": { "type": "integer" }, "p": { "type": "string" } } }
        }
    }));
    let spec = json!({ "sets": { "k": ["a", "b", "a", "a"] }, "ports": [{ "n": 1 }, { "n": 1, "p": "x" }, { "n": 1 }] });
    let found = faults(&tree, spec, None);
    assert_eq!(found.len(), 2, "{found:?}");
    has(&found, "spec.sets[k][2]", "FieldValueDuplicate");
    has(&found, "spec.ports[2]", "FieldValueDuplicate");
}

#[test]
fn nulls_give_way_and_defaults_fill_in() {
    let tree = tree(json!({
        "plain": { "type": "string" },
        "default": { "type": "string", "default": "d" },
        "nullable": { "type": "string", "nullable": true },
        "both": { "type": "string", "nullable": true, "default": "d" },
        "deep": { "type": "object", "default": {}, "properties": { "size": { "type": "integer", "default": 3 } } },
        "list": { "type": "array", "items": {
            "type": "object", "properties": { "size": { "type": "integer", "default": 3 } }
        } }
    }));
    let root = tree.root().expect("a root");
    let mut object =
        json!({ "spec": { "plain": null, "default": null, "nullable": null, "both": null, "list": [{}] } });
    structural::drop_nulls(root, &mut object);
    structural::default(root, &mut object);
    let filled = json!({
        "default": "d", "nullable": null, "both": null, "deep": { "size": 3 }, "list": [{ "size": 3 }]
    });
    assert_eq!(object["spec"], filled);
    let mut bare = json!({});
    structural::default(root, &mut bare);
    assert_eq!(bare, json!({}));
}

#[test]
fn unknown_fields_are_pruned_and_named() {
    let known = json!({ "type": "object", "properties": { "known": { "type": "string" } } });
    let tree = tree(json!({
        "list": { "type": "array", "items": known },
        "map": { "type": "object", "additionalProperties": known },
        "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": { "closed": known } },
        "template": {
            "type": "object", "x-kubernetes-embedded-resource": true, "properties": { "data": known }
        }
    }));
    let both = json!({ "known": "1", "other": "2" });
    let template =
        json!({ "apiVersion": "v1", "kind": "X", "metadata": { "labels": {}, "stray": 1 }, "odd": 1 });
    let mut object = json!({
        "apiVersion": "x/v1", "kind": "X", "metadata": { "name": "a", "other": 1 }, "extra": 1,
        "spec": { "list": [both], "map": { "x": both }, "free": { "any": [both], "closed": both }, "template": template }
    });
    let unknown =
        structural::prune(tree.root().expect("a root"), &mut object).expect("metadata of the right types");
    assert_eq!(
        unknown,
        [
            "extra",
            "metadata.other",
            "spec.free.closed.other",
            "spec.list[0].other",
            "spec.map.x.other",
            "spec.template.metadata.stray",
            "spec.template.odd"
        ]
    );
    let known = json!({ "known": "1" });
    assert_eq!(object["spec"]["free"], json!({ "any": [both], "closed": known }));
    assert_eq!(object["spec"]["template"], json!({ "apiVersion": "v1", "kind": "X", "metadata": {} }));
    let mut wrong = json!({ "metadata": { "labels": { "a": 1 } } });
    let error =
        structural::prune(tree.root().expect("a root"), &mut wrong).expect_err("a label that is no text");
    assert_eq!(error, "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string");
}

#[test]
fn a_hostile_pair_of_schema_and_object_ends() {
    let branches: Vec<Value> = (0..200).map(|n| json!({ "minimum": n })).collect();
    let tree =
        tree(json!({ "list": { "type": "array", "items": { "type": "integer", "oneOf": branches } } }));
    let mut validator = Validator { faults: Faults::default(), left: 10_000 };
    let object = json!({ "spec": { "list": vec![-1; 1000] } });
    validator.check(tree.root().expect("a root"), &object, None, Place::Root);
    assert_eq!(validator.left, 0);
    assert!(validator.faults.len() < 100);
}
