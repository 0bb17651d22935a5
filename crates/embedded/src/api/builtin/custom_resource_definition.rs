//! CustomResourceDefinition. What it must be is told in `crd/`; its status is computed by whoever keeps
//! definitions apart, with [`crd::establish`].

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::api::{
    behaviour::{Behaviour, Column, NAME, Part, column},
    crd,
    fault::Faults,
    object,
    structural::formats,
};

pub struct CustomResourceDefinition;

impl Behaviour for CustomResourceDefinition {
    fn default(&self, object: &mut Value) {
        crd::default(object);
    }

    fn prepare_create(&self, object: &mut Value) {
        object["status"] = json!({});
        let stored = crd::stored_versions(object);
        let names = json!({ "kind": "", "plural": "" });
        object["status"] = json!({ "acceptedNames": names, "conditions": [], "storedVersions": stored });
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, part: Part) {
        object::keep_other_part(new, old, part);
        if part == Part::Main {
            // A version that becomes the stored one is recorded with the change that makes it so.
            let stored = crd::stored_versions(new);
            if let Some(status) = object::child(new, "status") {
                status.insert("storedVersions".to_owned(), stored.into());
            }
        }
    }

    fn validate(&self, object: &Value, faults: &mut Faults) {
        crd::validate(object, None, faults);
    }

    fn validate_update(&self, new: &Value, old: &Value, part: Part, faults: &mut Faults) {
        if part == Part::Main {
            crd::validate_change(new, old, faults);
        }
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        if old.is_some_and(|old| old["spec"] == object["spec"]) {
            return Vec::new();
        }
        let mut warnings = Vec::new();
        for (index, version) in object::items(object, "/spec/versions").iter().enumerate() {
            let path = format!("spec.versions[{index}].schema.openAPIV3Schema");
            unknown_formats(&version["schema"]["openAPIV3Schema"], &path, &mut warnings);
        }
        warnings
    }

    fn has_status(&self) -> bool {
        true
    }

    fn has_generation(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        const CREATED: Column = column(
            "Created At",
            "date",
            "CreationTimestamp is a timestamp representing the server time when this object was created.",
        );
        &[NAME, CREATED]
    }

    fn cells(&self, object: &Value, _now: Timestamp) -> Vec<Value> {
        vec![object::name(object).into(), object::meta(object, "creationTimestamp").into()]
    }
}

/// Formats that nobody checks are probably mistyped.
fn unknown_formats(schema: &Value, path: &str, warnings: &mut Vec<String>) {
    let text = |field: &str| schema[field].as_str().unwrap_or_default();
    if !text("format").is_empty() && !formats::is_known(text("type"), text("format")) {
        warnings.push(format!("{path}: unrecognized format {:?}", text("format")));
    }
    let none = Map::new();
    for (name, property) in schema["properties"].as_object().unwrap_or(&none) {
        unknown_formats(property, &format!("{path}.properties[{name}]"), warnings);
    }
    for field in ["items", "additionalProperties"] {
        if schema[field].is_object() {
            unknown_formats(&schema[field], &format!("{path}.{field}"), warnings);
        }
    }
}
