//! Secret: bytes under keys that are file names, with a type that says which keys; may be frozen.

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::config_map::{MAX_SIZE, decoded_len, entries, validate_frozen, validate_key};
use crate::api::{
    behaviour::{AGE, Behaviour, Column, NAME, Part, column},
    fault::{Faults, Path},
    object::{age, child, fill, name, text},
    valid,
};

pub struct Secret;

const COLUMNS: &[Column] = &[
    NAME,
    column("Type", "string", "Used to facilitate programmatic handling of secret data."),
    column("Data", "string", "Data contains the secret data."),
    AGE,
];

impl Behaviour for Secret {
    fn default(&self, object: &mut Value) {
        fill(object, "type", "Opaque");
        fold_texts(object);
    }

    fn validate(&self, object: &Value, faults: &mut Faults) {
        let mut size = 0;
        for (key, value) in entries(object, "data") {
            let path = Path::new("data").key(key);
            validate_key(key, &path, faults);
            if value.as_str().is_some_and(|text| STANDARD.decode(text).is_err()) {
                faults.invalid_text(&path, REDACTED, "illegal base64 data");
            }
            size += decoded_len(value);
        }
        if size > MAX_SIZE {
            faults.too_long(&Path::new("data"), MAX_SIZE as u64);
        }
        validate_type(object, faults);
    }

    fn validate_update(&self, new: &Value, old: &Value, _part: Part, faults: &mut Faults) {
        valid::immutable(&new["type"], &old["type"], &Path::new("type"), faults);
        validate_frozen(new, old, &["data"], faults);
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        warnings(object)
    }

    fn fields(&self, object: &Value) -> Vec<(&'static str, String)> {
        vec![("type", text(object, "/type").to_owned())]
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let count = entries(object, "data").count();
        vec![name(object).into(), text(object, "/type").into(), count.into(), age(object, now).into()]
    }
}

/// What stands in a message for contents.
const REDACTED: &str = "<secret contents redacted>";

/// Turns `stringData`, which only exists in requests, into `data`.
fn fold_texts(object: &mut Value) {
    let Some(texts) = object.as_object_mut().and_then(|fields| fields.remove("stringData")) else { return };
    let Value::Object(texts) = texts else { return };
    if texts.is_empty() {
        return;
    }
    if object["data"].is_null() {
        object["data"] = json!({});
    }
    if let Some(data) = child(object, "data") {
        for (key, value) in texts {
            data.insert(key, STANDARD.encode(value.as_str().unwrap_or_default()).into());
        }
    }
}

/// The keys that a type promises.
fn validate_type(object: &Value, faults: &mut Faults) {
    let data = Path::new("data");
    let given = |key: &str| object["data"].get(key).is_some();
    match text(object, "/type") {
        "kubernetes.io/service-account-token" => {
            const KEY: &str = "kubernetes.io/service-account.name";
            if object["metadata"]["annotations"][KEY].as_str().unwrap_or_default().is_empty() {
                faults.required(&Path::new("metadata.annotations").key(KEY), "");
            }
        }
        "kubernetes.io/dockercfg" => validate_json(object, ".dockercfg", faults),
        "kubernetes.io/dockerconfigjson" => validate_json(object, ".dockerconfigjson", faults),
        "kubernetes.io/basic-auth" if !given("username") && !given("password") => {
            faults.required(&data.key("username"), "");
            faults.required(&data.key("password"), "");
        }
        "kubernetes.io/ssh-auth" if text(&object["data"], "/ssh-privatekey").is_empty() => {
            faults.required(&data.key("ssh-privatekey"), "");
        }
        "kubernetes.io/tls" => {
            for key in ["tls.crt", "tls.key"] {
                if !given(key) {
                    faults.required(&data.key(key), "");
                }
            }
        }
        _ => {}
    }
}

/// A certificate and key that no server can use.
fn warnings(object: &Value) -> Vec<String> {
    if text(object, "/type") != "kubernetes.io/tls" {
        return Vec::new();
    }
    let lacks_pem = |key: &str| {
        let bytes = STANDARD.decode(object["data"][key].as_str().unwrap_or_default()).unwrap_or_default();
        !String::from_utf8_lossy(&bytes).contains("-----BEGIN ")
    };
    let part = [("tls.crt", "certificate"), ("tls.key", "key")].into_iter().find(|(key, _)| lacks_pem(key));
    part.into_iter().map(|(_, part)| format!("tls: failed to find any PEM data in {part} input")).collect()
}

/// An entry that must be there and hold a JSON object.
fn validate_json(object: &Value, key: &str, faults: &mut Faults) {
    let path = Path::new("data").key(key);
    let Some(value) = object["data"].get(key) else {
        faults.required(&path, "");
        return;
    };
    let bytes = STANDARD.decode(value.as_str().unwrap_or_default()).unwrap_or_default();
    if let Err(error) = serde_json::from_slice::<serde_json::Map<String, Value>>(&bytes) {
        // The category only: the reader's own words may quote the contents.
        let detail = if error.is_eof() { "unexpected end of JSON input" } else { "must be a JSON object" };
        faults.invalid_text(&path, REDACTED, detail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(object: &Value) -> Vec<String> {
        let mut faults = Faults::default();
        Secret.validate(object, &mut faults);
        faults.iter().map(|fault| fault.field.clone()).collect()
    }

    #[test]
    fn texts_become_data_and_win() {
        let mut secret = json!({ "data": { "a": "b2xk", "b": "b2xk" }, "stringData": { "a": "new" } });
        Secret.default(&mut secret);
        assert_eq!(secret, json!({ "type": "Opaque", "data": { "a": "bmV3", "b": "b2xk" } }));
    }

    #[test]
    fn a_type_demands_its_keys() {
        let secret = |kind: &str, data: Value| json!({ "type": kind, "data": data });
        assert_eq!(fields(&secret("kubernetes.io/tls", json!({ "tls.crt": "" }))), ["data[tls.key]"]);
        assert_eq!(fields(&secret("kubernetes.io/basic-auth", json!({}))).len(), 2);
        let docker = |text: &str| {
            secret("kubernetes.io/dockerconfigjson", json!({ ".dockerconfigjson": STANDARD.encode(text) }))
        };
        assert_eq!(fields(&docker("secret!")), ["data[.dockerconfigjson]"]);
        assert!(fields(&docker("{}")).is_empty());
        assert!(fields(&secret("example.com/any", json!({ "a": "%%" }))) == ["data[a]"]);
    }

    #[test]
    fn contents_never_reach_a_message() {
        let mut faults = Faults::default();
        let data = json!({ ".dockerconfigjson": STANDARD.encode("hunter2"), "b": "hunter2%" });
        Secret.validate(&json!({ "type": "kubernetes.io/dockerconfigjson", "data": data }), &mut faults);
        assert_eq!(faults.len(), 2);
        assert!(!faults.to_string().contains("hunter2"), "{faults}");
    }
}
