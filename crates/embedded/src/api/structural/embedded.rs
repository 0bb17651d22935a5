//! Whole objects inside custom resources: what every object must be, wherever it is.

use serde_json::{Value, json};

use super::{
    super::{
        behaviour::Names,
        fault::{Fault, Faults, Path},
        valid,
    },
    place::Place,
};
use crate::schema::Schema;

/// Checks apiVersion, kind and metadata of each embedded resource.
pub fn resources(schema: Schema<'_>, value: &Value, place: Place<'_>, faults: &mut Faults) {
    match value {
        Value::Object(fields) => {
            if schema.embedded_resource {
                resource(value, &Path::new(&place.bracketed()), faults);
            }
            for (name, value) in fields {
                if let Some(field) = schema.property(name) {
                    resources(field, value, Place::Field(&place, name), faults);
                } else if let Some(entry) = schema.additional() {
                    resources(entry, value, Place::Key(&place, name), faults);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = schema.items() else { return };
            for (index, item) in items.iter().enumerate() {
                resources(schema, item, Place::Item(&place, index), faults);
            }
        }
        _ => {}
    }
}

fn resource(object: &Value, path: &Path, faults: &mut Faults) {
    for field in ["apiVersion", "kind"] {
        let path = path.child(field);
        match &object[field] {
            Value::Null => faults.required(&path, ""),
            Value::String(text) if text.is_empty() => faults.invalid_text(&path, text, "must not be empty"),
            Value::String(text) => {
                if let Some(fault) = if field == "kind" { kind(text) } else { api_version(text) } {
                    faults.invalid_text(&path, text, fault);
                }
            }
            other => faults.invalid(&path, other, "must be a string"),
        }
    }
    metadata(&object["metadata"], path, faults);
}

fn kind(kind: &str) -> Option<String> {
    let fault = valid::dns_1035_label(&kind.to_lowercase())?;
    Some(format!("may have mixed case, but should otherwise match: {fault}"))
}

fn api_version(text: &str) -> Option<String> {
    (text.matches('/').count() > 1).then(|| format!("unexpected GroupVersion string: {text}"))
}

fn metadata(metadata: &Value, path: &Path, faults: &mut Faults) {
    if !metadata.is_object() {
        return;
    }
    let mut named = json!({ "metadata": metadata });
    if named["metadata"]["name"].as_str().unwrap_or_default().is_empty() {
        // A template needs no name; any will do.
        named["metadata"]["name"] = "fakename".into();
    }
    let namespaced = !named["metadata"]["namespace"].as_str().unwrap_or_default().is_empty();
    let mut found = Faults::default();
    valid::metadata(&named, Names::PathSegment, namespaced, &mut found);
    for fault in found.iter() {
        faults.add(Fault { field: path.child(&fault.field).to_string(), ..fault.clone() });
    }
}
