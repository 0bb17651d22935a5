//! The merge patch that makes one value of another: nothing but what changes, and null for what goes.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// From one status to another, of this very object.
pub fn of_status<S: Serialize>(meta: &ObjectMeta, old: &S, new: &S) -> Value {
    json!({ "metadata": { "uid": meta.uid }, "status": between(&json!(old), &json!(new)) })
}

/// From `old` to `new`; an empty object if they are equal.
pub fn between(old: &Value, new: &Value) -> Value {
    let (Value::Object(old), Value::Object(new)) = (old, new) else { return new.clone() };
    let gone = old.keys().filter(|field| !new.contains_key(*field)).map(|field| (field.clone(), Value::Null));
    let mut patch: Map<String, Value> = gone.collect();
    for (field, value) in new {
        match old.get(field) {
            Some(before) if before == value => {}
            Some(before @ Value::Object(_)) => drop(patch.insert(field.clone(), between(before, value))),
            _ => drop(patch.insert(field.clone(), value.clone())),
        }
    }
    Value::Object(patch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changes_is_said() {
        let old = json!({ "same": [1], "list": [1, 2], "gone": 1, "map": { "kept": 1, "gone": 2 } });
        let new = json!({ "same": [1], "list": [2], "new": {}, "map": { "kept": 1 } });
        let patch = json!({ "list": [2], "gone": null, "new": {}, "map": { "gone": null } });
        assert_eq!(between(&old, &new), patch);
        assert_eq!(between(&old, &old), json!({}));
    }
}
