//! How a status is written: nothing but what changes of it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// A merge patch that makes one status of another, of this very object.
pub fn status_patch<S: Serialize>(meta: &ObjectMeta, old: &S, new: &S) -> Value {
    let (old, new) = (json!(old), json!(new));
    let fields = |status: &Value| status.as_object().cloned().unwrap_or_default();
    let gone = fields(&old).into_iter().map(|(field, _)| (field, Value::Null));
    let mut patch: Map<_, _> = gone.chain(fields(&new)).collect();
    patch.retain(|field, value| old.get(field) != Some(value));
    json!({ "metadata": { "uid": meta.uid }, "status": patch })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changes_is_written() {
        let meta = ObjectMeta { uid: Some("u".to_owned()), ..ObjectMeta::default() };
        let (old, new) = (json!({ "a": 1, "b": [1], "c": 3 }), json!({ "a": 1, "b": [], "d": 4 }));
        let patch = json!({ "metadata": { "uid": "u" }, "status": { "b": [], "c": null, "d": 4 } });
        assert_eq!(status_patch(&meta, &old, &new), patch);
    }
}
