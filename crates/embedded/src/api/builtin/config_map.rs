//! ConfigMap: texts and bytes under keys that are file names; may be frozen.

use jiff::Timestamp;
use serde_json::Value;

use crate::api::{
    behaviour::{AGE, Behaviour, Column, NAME, Part, column},
    fault::{Fault, Faults, Path},
    object::{age, is_empty, name},
    valid,
};

pub struct ConfigMap;

/// What the contents of a ConfigMap or Secret may add up to, in bytes.
pub(super) const MAX_SIZE: usize = 1024 * 1024;

const COLUMNS: &[Column] = &[NAME, column("Data", "string", "Data contains the configuration data."), AGE];

impl Behaviour for ConfigMap {
    fn validate(&self, object: &Value, faults: &mut Faults) {
        let mut size = 0;
        for (key, value) in entries(object, "data") {
            let path = Path::new("data").key(key);
            validate_key(key, &path, faults);
            if object["binaryData"].get(key).is_some() {
                faults.invalid_text(&path, key, "duplicate of key present in binaryData");
            }
            size += value.as_str().map_or(0, str::len);
        }
        for (key, value) in entries(object, "binaryData") {
            validate_key(key, &Path::new("binaryData").key(key), faults);
            size += decoded_len(value);
        }
        if size > MAX_SIZE {
            // The whole object is meant, so that no field is named.
            let message = format!("Too long: may not be more than {MAX_SIZE} bytes");
            faults.add(Fault { field: String::new(), reason: "FieldValueTooLong", message });
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, _part: Part, faults: &mut Faults) {
        validate_frozen(new, old, &["data", "binaryData"], faults);
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let count = entries(object, "data").count() + entries(object, "binaryData").count();
        vec![name(object).into(), count.into(), age(object, now).into()]
    }
}

/// The entries of a map field.
pub(super) fn entries<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    object[field].as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value))
}

pub(super) fn validate_key(key: &str, path: &Path, faults: &mut Faults) {
    if let Some(fault) = valid::config_key(key) {
        faults.invalid_text(path, key, fault);
    }
}

/// How many bytes a value in base64 stands for.
pub(super) fn decoded_len(value: &Value) -> usize {
    let text = value.as_str().unwrap_or_default().trim_end_matches('=');
    text.len() / 4 * 3 + (text.len() % 4).saturating_sub(1)
}

/// What is marked as immutable stays as it is, and stays marked.
pub(super) fn validate_frozen(new: &Value, old: &Value, fields: &[&str], faults: &mut Faults) {
    const DETAIL: &str = "field is immutable when `immutable` is set";
    if old["immutable"] != true {
        return;
    }
    if new["immutable"] != true {
        faults.forbidden(&Path::new("immutable"), DETAIL);
    }
    for field in fields {
        if new[field] != old[field] && !(is_empty(&new[field]) && is_empty(&old[field])) {
            faults.forbidden(&Path::new(field), DETAIL);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_file_names_and_stand_in_one_map_only() {
        let object = json!({ "data": { "a": "", ".": "", "..b": "", "c d": "" }, "binaryData": { "a": "" } });
        let mut faults = Faults::default();
        ConfigMap.validate(&object, &mut faults);
        let fields: Vec<_> = faults.iter().map(|fault| fault.field.as_str()).collect();
        assert_eq!(fields, ["data[.]", "data[..b]", "data[a]", "data[c d]"]);
    }

    #[test]
    fn a_frozen_map_may_change_its_labels_only() {
        let old = json!({ "immutable": true, "data": { "a": "1" } });
        let faults = |new: Value| {
            let mut faults = Faults::default();
            ConfigMap.validate_update(&new, &old, Part::Main, &mut faults);
            faults.iter().map(|fault| fault.field.clone()).collect::<Vec<_>>()
        };
        assert!(faults(json!({ "immutable": true, "data": { "a": "1" }, "binaryData": {} })).is_empty());
        assert_eq!(faults(json!({ "immutable": true, "data": { "a": "2" } })), ["data"]);
        assert_eq!(faults(json!({ "data": { "a": "1" } })), ["immutable"]);
    }
}
