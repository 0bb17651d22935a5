//! Objects and refusals without what differs between servers by nature.
//!
//! That is: times, uids, versions, the namespace; how often a fault is named, as upstream judges some parts of an
//! object twice; and the code of a patch that contradicts the schema or itself, which upstream calls its own fault
//! (500, without a reason) and we call the client's.

use std::collections::{BTreeMap, BTreeSet};

use anneal_embedded::api::fields::FieldSet;
use anneal_harness::Reply;
use serde_json::{Value, json};

use crate::overlay::{leaves, remove};

/// Owners by name, operation, version and subresource, each with its fields.
pub type Owners = BTreeMap<String, BTreeSet<String>>;

/// Who owns what, whatever the order.
pub fn owners(object: &Value) -> Owners {
    let entries = object["metadata"]["managedFields"].as_array();
    let owner = |entry: &Value| {
        let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        let timed = if entry["time"].is_string() { "" } else { " without a time" };
        let name = ["manager", "operation", "apiVersion", "subresource"].map(text).join(" ") + timed;
        let fields =
            FieldSet::of_fields_v1(&entry["fieldsV1"]).map_or_else(|fault| vec![fault], |set| set.shown());
        (name, fields.into_iter().collect())
    };
    entries.into_iter().flatten().map(owner).collect()
}

/// The object's own content.
pub fn content(object: &Value) -> Value {
    let mut content = object.clone();
    for field in ["managedFields", "resourceVersion", "uid", "creationTimestamp", "selfLink", "namespace"] {
        remove(&mut content, &format!("/metadata/{field}"));
    }
    // The server labels Jobs and their pods with the Job's uid.
    let uid = object["metadata"]["uid"].as_str().unwrap_or("none");
    for pointer in leaves(&content) {
        if let Some(value) = content.pointer_mut(&pointer)
            && value == uid
        {
            *value = json!("<uid>");
        }
    }
    for pointer in leaves(&content) {
        let name = pointer.rsplit('/').next().unwrap_or_default();
        if (name.ends_with("Time") || name.ends_with("Timestamp"))
            && let Some(value) = content.pointer_mut(&pointer).filter(|value| value.is_string())
        {
            *value = json!("<time>");
        }
    }
    content
}

/// Whether an answer says that a patch contradicts the schema or itself.
pub fn is_nonsense(reply: &Reply) -> bool {
    const WORDS: [&str; 3] =
        ["failed to create typed patch object", "json: cannot unmarshal", "$setElementOrder list"];
    let body = String::from_utf8_lossy(&reply.bytes);
    matches!(reply.status, 400 | 422 | 500) && WORDS.iter().any(|words| body.contains(words))
}

/// A refusal: its reason and causes.
pub fn refusal(status: &Value) -> Value {
    let causes = status["details"]["causes"].as_array().cloned().unwrap_or_default();
    let mut causes: Vec<_> =
        causes.iter().map(|cause| json!([cause["reason"], cause["field"]]).to_string()).collect();
    causes.sort();
    causes.dedup();
    json!({ "reason": status["reason"], "causes": causes })
}

/// What differs between two values, one line for each place.
pub fn differences(one: &Value, other: &Value) -> Vec<String> {
    let places: BTreeSet<_> = leaves(one).into_iter().chain(leaves(other)).collect();
    let at = |value: &Value, place: &str| value.pointer(place).map_or("nothing".to_owned(), Value::to_string);
    places
        .iter()
        .map(|place| (place, at(one, place), at(other, place)))
        .filter(|(_, one, other)| one != other)
        .map(|(place, one, other)| format!("{place}: {one} / {other}"))
        .collect()
}

/// What differs between two sets of owners.
pub fn owner_differences(one: &Owners, other: &Owners) -> Vec<String> {
    let nobody = BTreeSet::new();
    let names: BTreeSet<_> = one.keys().chain(other.keys()).collect();
    let mut found = Vec::new();
    for name in names {
        let (mine, theirs) = (one.get(name).unwrap_or(&nobody), other.get(name).unwrap_or(&nobody));
        if one.contains_key(name) != other.contains_key(name) {
            found.push(format!("{name}: {mine:?} / {theirs:?}"));
            continue;
        }
        let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| -> Vec<_> {
            one.difference(other).cloned().collect()
        };
        let (left, right) = (only(mine, theirs), only(theirs, mine));
        if !left.is_empty() || !right.is_empty() {
            found.push(format!("{name}: only the first {left:?}, only the second {right:?}"));
        }
    }
    found
}
