//! `/openapi/v2`, which describes no kind and says where they are described.
//!
//! kubectl reads it before it takes a List, or a manifest whose kind the server does not have, and gives up if
//! it is not there. Of a kind that it does not find in it, it leaves the validation to the server, which
//! validates everything. It asks for protobuf only: the messages of gnostic's `openapi.v2`.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::schema::bundled;

/// The Content-Type of the document in protobuf.
pub const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
/// What clients call it that ask for it, by a name that is no proper media type.
const PROTOBUF_DEPRECATED: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

const SWAGGER: &str = "2.0";
const TITLE: &str = "Kubernetes";
const DESCRIPTION: &str = "The kinds are described at /openapi/v3.";

/// Whether a client names protobuf among what it accepts.
pub fn is_protobuf(accept: &str) -> bool {
    accept.split(',').any(|clause| {
        let media_type = clause.split(';').next().unwrap_or_default().trim();
        media_type == PROTOBUF || media_type == PROTOBUF_DEPRECATED
    })
}

/// The document.
pub fn document() -> Value {
    let info = json!({ "title": TITLE, "version": version(), "description": DESCRIPTION });
    json!({ "swagger": SWAGGER, "info": info, "paths": {} })
}

/// The same in protobuf.
pub fn protobuf() -> Bytes {
    let mut info = Vec::new();
    put(&mut info, 1, TITLE.as_bytes());
    put(&mut info, 2, version().as_bytes());
    put(&mut info, 3, DESCRIPTION.as_bytes());
    let mut document = Vec::new();
    put(&mut document, 1, SWAGGER.as_bytes());
    put(&mut document, 2, &info);
    put(&mut document, 8, &[]);
    document.into()
}

fn version() -> &'static str {
    bundled().version.trim_start_matches('v')
}

/// Appends a field that is a string or a message. Field numbers here are below 16: one byte holds them.
fn put(message: &mut Vec<u8>, field: u8, content: &[u8]) {
    const LENGTH_DELIMITED: u8 = 2;
    message.push(field << 3 | LENGTH_DELIMITED);
    let mut length = content.len();
    while length > 0x7f {
        message.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    message.push(length as u8);
    message.extend_from_slice(content);
}
