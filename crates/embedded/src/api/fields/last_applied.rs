//! From `kubectl apply` to `kubectl apply --server-side`: the annotation that the former keeps.
//!
//! What the annotation says was applied, and is still so, the manager `kubectl` may take over without a
//! conflict; and while the annotation is there, its applies keep it up to date.

use serde_json::Value;

use super::{compare::compare, set::FieldSet, shape::Place, walk};
use crate::api::object::child;

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The most that all annotations may take together.
const MAX_SIZE: usize = 256 * 1024;

/// Whether this is the manager that the annotation counts for.
pub fn counts_for(manager: &str) -> bool {
    manager == "kubectl"
}

/// The fields that the annotation sets and that still have its values.
pub fn still_applied(place: Place<'_>, live: &Value) -> FieldSet {
    let text = live["metadata"]["annotations"][ANNOTATION].as_str().unwrap_or_default();
    let Ok(last) = serde_json::from_str::<Value>(text) else { return FieldSet::default() };
    if last["apiVersion"] != live["apiVersion"] || !walk::faults(place, &last).is_empty() {
        return FieldSet::default();
    }
    let Ok(change) = compare(place, &last, live) else { return FieldSet::default() };
    walk::field_set(place, &last).difference(&change.changed).difference(&change.removed)
}

/// Renews the annotation, if the object has it; one that has grown too long goes.
pub fn renew(object: &mut Value, applied: &Value) {
    let there = &object["metadata"]["annotations"][ANNOTATION];
    if there.as_str().is_none_or(str::is_empty) {
        return;
    }
    let mut applied = applied.clone();
    if let Some(annotations) = applied.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(ANNOTATION);
    }
    let text = format!("{applied}\n");
    let Some(annotations) = object.get_mut("metadata").and_then(|metadata| child(metadata, "annotations"))
    else {
        return;
    };
    annotations.insert(ANNOTATION.to_owned(), text.into());
    let size = |(name, value): (&String, &Value)| name.len() + value.as_str().map_or(0, str::len);
    if annotations.iter().map(size).sum::<usize>() > MAX_SIZE {
        annotations.remove(ANNOTATION);
    }
}
