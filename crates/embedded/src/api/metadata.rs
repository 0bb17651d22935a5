//! The part of `metadata` that the server rules over: names, uids, times, generations, finalizers.
//!
//! Everything here is pure. [`create`] and [`update`] are the first step of a write, before the kind has its
//! say; what they refuse names the field.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{
    error::{ApiError, Result},
    fault::{Faults, Path},
    object,
};

/// What may be generated beyond the prefix of a name that `generateName` gives.
pub const SUFFIX_LENGTH: usize = 5;

/// The longest prefix that leaves room for the suffix in a label.
const MAX_PREFIX: usize = 63 - SUFFIX_LENGTH;

/// The metadata, made if missing.
pub fn of(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object::child(object, "metadata")
}

/// Puts an object into the namespace of the request. A body that names another is refused.
pub fn place(object: &mut Value, namespace: &str) -> Result<()> {
    let given = object::namespace(object);
    if !namespace.is_empty() && !given.is_empty() && given != namespace {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    if let Some(metadata) = of(object) {
        if namespace.is_empty() {
            metadata.remove("namespace");
        } else {
            metadata.insert("namespace".to_owned(), namespace.into());
        }
    }
    Ok(())
}

/// The name that a body asks for by `generateName`, if it has no other.
pub fn generated_name(object: &Value, suffix: &str) -> Option<String> {
    let prefix = object::meta(object, "generateName");
    if !object::name(object).is_empty() || prefix.is_empty() {
        return None;
    }
    let end = (0..=prefix.len().min(MAX_PREFIX)).rev().find(|&end| prefix.is_char_boundary(end));
    Some(format!("{}{suffix}", &prefix[..end.unwrap_or_default()]))
}

/// Sets what the server decides at creation.
pub fn create(object: &mut Value, uid: String, now: Timestamp, generation: bool) -> Result<()> {
    // Version 0 is how some clients write that they know none.
    if !matches!(object::meta(object, "resourceVersion"), "" | "0") {
        return Err(ApiError::bad_request("resourceVersion should not be set on objects to be created"));
    }
    let Some(metadata) = of(object) else { return Ok(()) };
    for field in
        ["resourceVersion", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"]
    {
        metadata.remove(field);
    }
    metadata.insert("uid".to_owned(), uid.into());
    metadata.insert("creationTimestamp".to_owned(), object::timestamp(now).into());
    if generation {
        metadata.insert("generation".to_owned(), 1.into());
    }
    Ok(())
}

/// Carries over what no update may change, and says what an update tried to.
pub fn update(new: &mut Value, old: &Value, faults: &mut Faults) {
    let path = Path::new("metadata");
    let empty = Map::new();
    let kept = old["metadata"].as_object().unwrap_or(&empty);
    let terminating = kept.contains_key("deletionTimestamp");
    let Some(metadata) = of(new) else { return };
    let given = |metadata: &Map<String, Value>, field: &str| match metadata.get(field) {
        None | Some(Value::Null) => None,
        Some(value) => Some(value.clone()),
    };
    if !terminating && let Some(time) = given(metadata, "deletionTimestamp") {
        faults.invalid(&path.child("deletionTimestamp"), &time, "field is immutable");
    }
    if let Some(grace) = given(metadata, "deletionGracePeriodSeconds")
        && Some(&grace) != kept.get("deletionGracePeriodSeconds")
    {
        faults.invalid(&path.child("deletionGracePeriodSeconds"), &grace, "field is immutable");
    }
    if let Some(uid) = given(metadata, "uid")
        && Some(&uid) != kept.get("uid")
    {
        faults.invalid(&path.child("uid"), &uid, "field is immutable");
    }
    for field in [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "selfLink",
        "resourceVersion",
    ] {
        object::restore(metadata, kept, field);
    }
    if metadata.get("generateName").is_none_or(Value::is_null) {
        object::restore(metadata, kept, "generateName");
    }
    if terminating {
        no_new_finalizers(metadata, kept, &path.child("finalizers"), faults);
    }
}

fn no_new_finalizers(new: &Map<String, Value>, old: &Map<String, Value>, path: &Path, faults: &mut Faults) {
    let finalizers =
        |of: &Map<String, Value>| of.get("finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
    let old = finalizers(old);
    let added: Vec<String> =
        finalizers(new).iter().filter(|f| !old.contains(f)).map(Value::to_string).collect();
    if !added.is_empty() {
        faults.forbidden(
            path,
            format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            ),
        );
    }
}

/// Counts one generation more.
pub fn next_generation(object: &mut Value) {
    if let Some(metadata) = of(object) {
        let generation = metadata.get("generation").and_then(Value::as_i64).unwrap_or_default();
        metadata.insert("generation".to_owned(), (generation + 1).into());
    }
}

pub fn finalizers(object: &Value) -> &[Value] {
    object::items(object, "/metadata/finalizers")
}

pub fn is_terminating(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// Whether an object that is being deleted has nothing left to wait for.
pub fn may_go(object: &Value) -> bool {
    is_terminating(object)
        && finalizers(object).is_empty()
        && object["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or_default() == 0
}

/// Marks an object as being deleted, to end after `grace` seconds.
pub fn terminate(object: &mut Value, grace: i64, now: Timestamp) {
    if let Some(metadata) = of(object) {
        let end = now.saturating_add(jiff::SignedDuration::from_secs(grace)).unwrap_or(now);
        metadata.insert("deletionTimestamp".to_owned(), object::timestamp(end).into());
        metadata.insert("deletionGracePeriodSeconds".to_owned(), grace.into());
    }
}

/// Makes the garbage collector's finalizers what a propagation policy asks for; tells whether they changed.
pub fn set_propagation(object: &mut Value, orphan: bool, foreground: bool) -> bool {
    let before = finalizers(object).to_vec();
    let mut after: Vec<Value> = before.iter().filter(|f| *f != ORPHAN && *f != FOREGROUND).cloned().collect();
    for (wanted, finalizer) in [(orphan, ORPHAN), (foreground, FOREGROUND)] {
        if wanted {
            after.push(json!(finalizer));
        }
    }
    let changed = before.len() != after.len() || before.iter().any(|finalizer| !after.contains(finalizer));
    if changed && let Some(metadata) = of(object) {
        if after.is_empty() {
            metadata.remove("finalizers");
        } else {
            metadata.insert("finalizers".to_owned(), after.into());
        }
    }
    changed
}

pub const ORPHAN: &str = "orphan";
pub const FOREGROUND: &str = "foregroundDeletion";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_name_never_outgrows_a_label() {
        let object = json!({ "metadata": { "generateName": "ä".repeat(80) } });
        let name = generated_name(&object, "12345").unwrap();
        assert!(name.len() <= 63 && name.ends_with("12345"), "{name}");
    }

    #[test]
    fn propagation_replaces_only_its_own_finalizers() {
        let mut object = json!({ "metadata": { "finalizers": ["a", "orphan"] } });
        assert!(set_propagation(&mut object, false, true));
        assert_eq!(object["metadata"]["finalizers"], json!(["a", "foregroundDeletion"]));
        assert!(!set_propagation(&mut object, false, true));
        assert!(set_propagation(&mut object, false, false));
        assert_eq!(object["metadata"]["finalizers"], json!(["a"]));
    }
}
