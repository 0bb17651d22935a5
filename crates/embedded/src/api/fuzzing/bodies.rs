//! Bodies: JSON, YAML, protobuf.

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
        assert_eq!(again, value);
        let yaml = Format { encoding: Encoding::Yaml, ..Format::default() };
        let written = encode(&value, yaml).expect("a value must have a YAML form");
        // YAML may not be as deep as JSON.
        if let Ok(again) = decode_yaml(&written) {
            assert_eq!(again.value, value);
        } else {
            assert!(depth(&value) > 30, "YAML that we write must be readable: {value}");
        }
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
    assert_eq!(decode_json(&json).expect("what we write must be readable").value, value);
    let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
    if let Some(schema) = schema::builtin(&text("apiVersion"), &text("kind"))
        && let Ok(unknown) = conform(schema, &mut value)
    {
        assert_eq!(unknown, Vec::<String>::new());
    }
}
