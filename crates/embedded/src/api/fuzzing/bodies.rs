//! Bodies: JSON, YAML, protobuf.

use serde_json::Value;

use super::depth;
use crate::{
    api::{
        structural::conform,
        wire::{Encoding, Format, MAX_DEPTH, decode, decode_json, decode_yaml, encode},
    },
    schema,
};

/// A body that is JSON or YAML. What is read can be written in both, and read again.
pub fn body(data: &[u8]) {
    let json = decode_json(data);
    let yaml = decode_yaml(data);
    if let (Ok(json), Ok(yaml)) = (&json, &yaml)
        && data.trim_ascii_start().starts_with(b"{")
        && json.duplicates.is_empty()
    {
        assert_eq!(json, yaml, "JSON must mean the same under both names");
    }
    for decoded in [json, yaml].into_iter().flatten() {
        let value = decoded.value;
        assert!(depth(&value) <= MAX_DEPTH, "{value}");
        let written = encode(&value, Format::default()).expect("a value must have a JSON form");
        let again = decode_json(&written).expect("what we write must be readable").value;
        same(&again, &value);
        let yaml = Format { encoding: Encoding::Yaml, ..Format::default() };
        let written = encode(&value, yaml).expect("a value must have a YAML form");
        // YAML may not be as deep as JSON.
        if let Ok(again) = decode_yaml(&written) {
            same(&again.value, &value);
        } else {
            assert!(depth(&value) > 30, "YAML that we write must be readable: {value}");
        }
    }
}

/// Whether two values are the same but for the last digit of a fraction, which the reader may miss.
fn same(one: &Value, other: &Value) {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) if a.is_f64() && b.is_f64() => {
            let (a, b) = (a.as_f64().unwrap_or_default(), b.as_f64().unwrap_or_default());
            assert!((a - b).abs() <= a.abs() * 4.0 * f64::EPSILON + f64::MIN_POSITIVE, "{a} {b}");
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).for_each(|(a, b)| same(a, b));
        }
        (Value::Object(a), Value::Object(b)) if a.len() == b.len() => {
            for ((a_name, a), (b_name, b)) in a.iter().zip(b) {
                assert_eq!(a_name, b_name);
                same(a, b);
            }
        }
        (a, b) => assert_eq!(a, b),
    }
}

/// A body in Kubernetes' protobuf. What is read is an object of its kind and has no field that the schema of the
/// kind does not know.
pub fn protobuf(data: &[u8]) {
    // The four bytes in front are always the same: they are not left to be guessed.
    let body = [b"k8s\0", data].concat();
    let Ok(decoded) = decode(Some("application/vnd.kubernetes.protobuf"), &body) else { return };
    let mut value = decoded.value;
    assert!(depth(&value) <= MAX_DEPTH + 1, "{value}");
    let json = encode(&value, Format::default()).expect("a value must have a JSON form");
    // JSON inside of the body may bring fractions, but the depth is bounded already.
    same(&decode_json(&json).expect("what we write must be readable").value, &value);
    let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
    if let Some(schema) = schema::builtin(&text("apiVersion"), &text("kind"))
        && let Ok(unknown) = conform(schema, &mut value)
    {
        assert_eq!(unknown, Vec::<String>::new());
    }
}
