//! Namespace: a room for other objects. It ends in two steps, so that its contents can go first: a delete marks it
//! as Terminating, and it is gone when `spec.finalizers` is empty, which only `/finalize` can bring about.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::api::{
    behaviour::{AGE, Behaviour, Column, NAME, Names, Part, column},
    fault::{Faults, Path},
    object::{age, child, fill, items, keep_other_part, keep_spec, name, restore, text},
    valid,
};

pub struct Namespace;

/// Namespaces that may not be deleted.
pub const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];
/// The label that names a namespace to selectors.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";
/// The finalizer that stands for the contents.
const FINALIZER: &str = "kubernetes";

const COLUMNS: &[Column] = &[NAME, column("Status", "string", "The status of the namespace"), AGE];

impl Behaviour for Namespace {
    fn names(&self) -> Names {
        Names::Label
    }

    fn default(&self, object: &mut Value) {
        label(object);
        child(object, "spec");
        if child(object, "status").is_some() {
            fill(&mut object["status"], "phase", "Active");
        }
    }

    fn prepare_create(&self, object: &mut Value) {
        label(object);
        object["status"] = json!({ "phase": "Active" });
        if let Some(spec) = child(object, "spec") {
            let finalizers = spec.entry("finalizers").or_insert_with(|| json!([]));
            if let Some(finalizers) = finalizers.as_array_mut()
                && !finalizers.iter().any(|finalizer| finalizer == FINALIZER)
            {
                finalizers.push(FINALIZER.into());
            }
        }
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, part: Part) {
        match part {
            Part::Main => {
                keep_other_part(new, old, part);
                keep_finalizers(new, old);
            }
            Part::Status => keep_spec(new, old),
        }
    }

    fn validate(&self, object: &Value, faults: &mut Faults) {
        validate_finalizers(object, faults);
    }

    fn validate_update(&self, new: &Value, _old: &Value, part: Part, faults: &mut Faults) {
        if part != Part::Status {
            return;
        }
        let terminating = !new["metadata"]["deletionTimestamp"].is_null();
        let detail = match (terminating, text(new, "/status/phase")) {
            (false, "Active") | (true, "Terminating") => return,
            (false, _) => "may only be 'Active' if `deletionTimestamp` is empty",
            (true, _) => "may only be 'Terminating' if `deletionTimestamp` is not empty",
        };
        faults.invalid(&Path::new("status.Phase"), &new["status"]["phase"], detail);
    }

    fn has_status(&self) -> bool {
        true
    }

    fn fields(&self, object: &Value) -> Vec<(&'static str, String)> {
        vec![("status.phase", text(object, "/status/phase").to_owned())]
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        vec![name(object).into(), text(object, "/status/phase").into(), age(object, now).into()]
    }
}

/// A write to `/finalize`: of what a client sends, only `spec.finalizers` counts.
pub fn finalize(new: &Value, old: &Value, faults: &mut Faults) -> Value {
    let mut result = old.clone();
    match new["spec"]["finalizers"].as_array() {
        Some(finalizers) if !finalizers.is_empty() => result["spec"]["finalizers"] = json!(finalizers),
        _ => {
            if let Some(spec) = child(&mut result, "spec") {
                spec.remove("finalizers");
            }
        }
    }
    validate_finalizers(&result, faults);
    result
}

/// Whether nothing holds a terminating namespace any more.
pub fn is_finalized(object: &Value) -> bool {
    items(object, "/spec/finalizers").is_empty()
}

/// The name's label follows the name, whatever a client says.
fn label(object: &mut Value) {
    let name = name(object).to_owned();
    if name.is_empty() {
        return;
    }
    if object["metadata"]["labels"].is_null() {
        object["metadata"]["labels"] = json!({});
    }
    if let Some(labels) = object["metadata"]["labels"].as_object_mut() {
        labels.insert(NAME_LABEL.to_owned(), name.into());
    }
}

fn keep_finalizers(new: &mut Value, old: &Value) {
    let none = serde_json::Map::new();
    if let Some(spec) = child(new, "spec") {
        restore(spec, old["spec"].as_object().unwrap_or(&none), "finalizers");
    }
}

fn validate_finalizers(object: &Value, faults: &mut Faults) {
    let path = Path::new("spec.finalizers");
    for finalizer in items(object, "/spec/finalizers") {
        let text = finalizer.as_str().unwrap_or_default();
        if let Some(fault) = valid::qualified_name(text) {
            faults.invalid(&path, finalizer, fault);
        }
        if !text.contains('/') && ![FINALIZER, "orphan", "foregroundDeletion"].contains(&text) {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            faults.invalid(&path, finalizer, detail);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_label_and_the_finalizers_cannot_be_taken_away() {
        let mut old = json!({ "metadata": { "name": "a" } });
        Namespace.default(&mut old);
        Namespace.prepare_create(&mut old);
        let mut new =
            json!({ "metadata": { "name": "a", "labels": { NAME_LABEL: "b", "c": "d" } }, "spec": {} });
        Namespace.default(&mut new);
        Namespace.prepare_update(&mut new, &old, Part::Main);
        assert_eq!(new["metadata"]["labels"], json!({ NAME_LABEL: "a", "c": "d" }));
        assert_eq!(new["spec"]["finalizers"], json!(["kubernetes"]));
        assert_eq!(new["status"]["phase"], "Active");
    }

    #[test]
    fn finalizing_changes_the_finalizers_only() {
        let old = json!({ "metadata": { "name": "a" }, "spec": { "finalizers": ["kubernetes"] } });
        let mut faults = Faults::default();
        let new = json!({ "metadata": { "name": "a", "labels": { "b": "c" } }, "spec": {} });
        let result = finalize(&new, &old, &mut faults);
        assert_eq!(result, json!({ "metadata": { "name": "a" }, "spec": {} }));
        assert!(is_finalized(&result) && faults.is_empty());
        finalize(&json!({ "spec": { "finalizers": ["mine"] } }), &old, &mut faults);
        assert_eq!(faults.len(), 1);
    }
}
