//! Laws that hold whatever the objects are.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{FieldSet, Story, builtin, custom, writer};
use crate::{
    api::fields::{apply, track_update},
    schema::Tree,
};

fn tree() -> Tree {
    let text = json!({ "type": "string" });
    custom(json!({ "type": "object", "properties": {
        "labels": { "type": "object", "additionalProperties": text },
        "tags": { "type": "array", "items": text, "x-kubernetes-list-type": "set" },
        "steps": { "type": "array", "items": text },
        "size": { "x-kubernetes-int-or-string": true },
        "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
        "ports": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "protocol"],
            "items": { "type": "object", "properties": {
                "name": text, "protocol": { "type": "string", "default": "TCP" }, "number": { "type": "integer" }
            } }
        }
    } }))
}

fn subset<T: Clone + std::fmt::Debug + 'static>(of: &'static [T]) -> impl Strategy<Value = Vec<T>> {
    prop::sample::subsequence(of, 0..=of.len()).prop_shuffle()
}

/// Specs that fit the schema, over few names so that they meet.
fn spec() -> impl Strategy<Value = Value> {
    let labels = prop::collection::btree_map("[a-c]", "[12]", 0..3);
    let port = |name: &str| {
        let name = name.to_owned();
        (prop::option::of(prop::sample::select(vec!["TCP", "UDP"])), prop::option::of(0..3_i64)).prop_map(
            move |(protocol, number)| {
                let mut port = json!({ "name": name });
                if let Some(protocol) = protocol {
                    port["protocol"] = protocol.into();
                }
                if let Some(number) = number {
                    port["number"] = number.into();
                }
                port
            },
        )
    };
    let ports = (port("a"), port("b"), port("c")).prop_map(|(a, b, c)| vec![a, b, c]);
    let ports = (ports, subset(&[0, 1, 2]))
        .prop_map(|(ports, kept)| kept.iter().map(|at| ports[*at].clone()).collect::<Vec<_>>());
    let size = prop_oneof![(0..3_i64).prop_map(Value::from), "[0-9]%".prop_map(Value::from)];
    let fields = (
        prop::option::of(labels),
        prop::option::of(subset(&["x", "y", "z"])),
        prop::option::of(subset(&["s", "t"])),
        prop::option::of(size),
        prop::option::of(ports),
    );
    fields.prop_map(|(labels, tags, steps, size, ports)| {
        let all = json!({ "labels": labels, "tags": tags, "steps": steps, "size": size, "ports": ports });
        let fields = all.as_object().unwrap().iter().filter(|(_, value)| !value.is_null());
        json!({ "spec": fields.map(|(name, value)| (name.clone(), value.clone())).collect::<Map<_, _>>() })
    })
}

/// A configuration whose names all begin with a letter of its manager's own.
fn own(letter: &'static str) -> impl Strategy<Value = Value> {
    prop::collection::btree_set(0..5_u8, 0..4).prop_map(move |numbers| {
        let names: Vec<String> = numbers.iter().map(|number| format!("{letter}{number}")).collect();
        let labels: Map<String, Value> = names.iter().map(|name| (name.clone(), "1".into())).collect();
        let ports: Vec<_> = names.iter().map(|name| json!({ "name": name, "number": 1 })).collect();
        json!({ "spec": { "labels": labels, "tags": names, "ports": ports } })
    })
}

fn sorted(object: &Value) -> Value {
    match object {
        Value::Array(items) => {
            let mut items: Vec<_> = items.iter().map(sorted).collect();
            items.sort_by_key(Value::to_string);
            items.into()
        }
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| *name != "time")
            .map(|(name, value)| (name.clone(), sorted(value)))
            .collect(),
        scalar => scalar.clone(),
    }
}

/// Any JSON, over names that mean something to the code.
fn anything() -> impl Strategy<Value = Value> {
    const NAMES: &[&str] = &[
        "metadata",
        "managedFields",
        "spec",
        "tags",
        "ports",
        "name",
        "f:spec",
        "k:{\"name\":1}",
        "v:1",
        ".",
        "i:0",
        "fieldsV1",
        "containers",
        "status",
        "labels",
        "manager",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-1..3_i64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(NAMES).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(prop::sample::select(NAMES), inner, 0..4).prop_map(|fields| fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    #[test]
    fn applying_again_changes_nothing(first in spec(), second in spec()) {
        let tree = tree();
        let mut story = Story::of(tree.root().unwrap());
        story.force("one", first);
        let before = story.force("two", second.clone()).clone();
        prop_assert_eq!(story.apply("two", second).unwrap(), &before);
    }

    #[test]
    fn managers_of_different_fields_commute(one in own("a"), two in own("b")) {
        let tree = tree();
        let (mut forth, mut back) = (Story::of(tree.root().unwrap()), Story::of(tree.root().unwrap()));
        forth.apply("one", one.clone()).unwrap();
        forth.apply("two", two.clone()).unwrap();
        back.apply("two", two).unwrap();
        back.apply("one", one).unwrap();
        prop_assert_eq!(sorted(forth.object()), sorted(back.object()));
    }

    #[test]
    fn applying_nothing_takes_away_what_was_applied(mine in spec(), theirs in own("t")) {
        let tree = tree();
        let mut story = Story::of(tree.root().unwrap());
        let before = story.apply("two", theirs).unwrap().clone();
        story.force("one", mine);
        story.force("one", json!({}));
        prop_assert_eq!(story.owned("one", "Apply"), Value::Null);
        // What is left empty goes, whoever owns it.
        let labels = |object: &Value| object["spec"]["labels"].as_object().cloned().unwrap_or_default();
        prop_assert_eq!(labels(story.object()), labels(&before));
    }

    #[test]
    fn agreeing_changes_nothing_but_owners(first in spec(), second in spec()) {
        let tree = tree();
        let mut story = Story::of(tree.root().unwrap());
        story.force("one", first);
        let object = story.force("two", second.clone()).clone();
        prop_assert_eq!(&story.apply("three", second).unwrap()["spec"], &object["spec"]);
    }

    #[test]
    fn sets_of_fields_are_read_as_they_are_written(object in spec()) {
        let tree = tree();
        let mut story = Story::of(tree.root().unwrap());
        story.apply("one", object).unwrap();
        let fields = story.owned("one", "Apply");
        let set = FieldSet::of_fields_v1(&fields).unwrap();
        let written = if set.is_empty() { Value::Null } else { set.to_fields_v1() };
        prop_assert_eq!(written, fields);
    }

    #[test]
    fn set_operations_agree_with_each_other(one in spec(), two in spec()) {
        let tree = tree();
        let set = |object: Value| {
            let mut story = Story::of(tree.root().unwrap());
            story.apply("one", object).unwrap();
            FieldSet::of_fields_v1(&story.owned("one", "Apply")).unwrap()
        };
        let (one, two) = (set(one), set(two));
        prop_assert_eq!(one.difference(&two).union(&one.intersection(&two)), one.clone());
        prop_assert_eq!(one.union(&two).len() + one.intersection(&two).len(), one.len() + two.len());
        let mut rest = one.clone();
        rest.remove_all(&two);
        prop_assert_eq!(rest, one.difference(&two));
        prop_assert!(one.recursive_difference(&two).difference(&one.difference(&two)).is_empty());
    }

    #[test]
    fn nothing_panics(live in anything(), new in anything(), managed in anything()) {
        let tree = tree();
        for schema in [tree.root().unwrap(), builtin("Pod")] {
            let mut live = json!({ "metadata": { "managedFields": managed }, "spec": live });
            let _ = apply(schema, Some(&live), &json!({ "spec": new }), false, &writer("one"), &[]);
            let _ = apply(schema, Some(&live), &new, true, &writer("one"), &[&["status"]]);
            let mut next = json!({ "metadata": { "managedFields": [live.clone()] }, "spec": new });
            track_update(schema, Some(&live), &mut next, &writer("one"), &[]);
            track_update(schema, Some(&next), &mut live, &writer("two"), &[]);
            let mut other = new.clone();
            track_update(schema, None, &mut other, &writer("one"), &[]);
            let _ = FieldSet::of_fields_v1(&new);
        }
    }
}
