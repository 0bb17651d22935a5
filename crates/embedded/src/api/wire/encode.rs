//! From values, and from objects that are encoded already, to bytes.

use std::io::Write;

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use serde::Serialize;
use serde_json::Value;

use super::{Encoding, Format};
use crate::api::error::{ApiError, Result};

/// What a list says of itself.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListMeta {
    pub resource_version: String,
    /// Where the next page begins, if there is one.
    #[serde(rename = "continue", skip_serializing_if = "String::is_empty")]
    pub next: String,
    /// Objects on the pages to come, if that can be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining_item_count: Option<u64>,
}

/// Encodes a value.
pub fn encode(value: &Value, format: Format) -> Result<Bytes> {
    match format.encoding {
        Encoding::Json => {
            let mut bytes =
                if format.pretty { serde_json::to_vec_pretty(value) } else { serde_json::to_vec(value) }
                    .map_err(ApiError::internal)?;
            bytes.push(b'\n');
            Ok(bytes.into())
        }
        Encoding::Yaml => {
            let text = serde_saphyr::to_string(value).map_err(ApiError::internal)?;
            Ok(text.into_bytes().into())
        }
    }
}

/// Encodes what is JSON already. It is parsed only if the format is another.
pub fn encode_raw(json: Bytes, format: Format) -> Result<Bytes> {
    if format.encoding == Encoding::Json && !format.pretty {
        return Ok(json);
    }
    encode(&serde_json::from_slice(&json).map_err(ApiError::internal)?, format)
}

/// Puts the type before the fields of an encoded object that lacks it.
pub fn splice_type(object: &[u8], api_version: &str, kind: &str) -> Bytes {
    let mut bytes = Vec::with_capacity(object.len() + api_version.len() + kind.len() + 32);
    push_object(&mut bytes, object, Some((api_version, kind)));
    bytes.into()
}

/// A list as JSON, made of encoded objects. `kind` is the list's; `item_type` is put into each object, for
/// kinds whose items carry it (custom resources), as apiVersion and kind.
pub fn encode_list<'a>(
    api_version: &str,
    kind: &str,
    meta: &ListMeta,
    item_type: Option<(&str, &str)>,
    items: impl Iterator<Item = &'a [u8]> + Clone,
) -> Bytes {
    let added = item_type.map_or(1, |(api_version, kind)| api_version.len() + kind.len() + 32);
    let size: usize = items.clone().map(|item| item.len() + added).sum();
    let mut bytes = Vec::with_capacity(size + 256);
    bytes.extend_from_slice(b"{\"kind\":");
    push_text(&mut bytes, kind);
    bytes.extend_from_slice(b",\"apiVersion\":");
    push_text(&mut bytes, api_version);
    bytes.extend_from_slice(b",\"metadata\":");
    bytes.extend_from_slice(serde_json::json!(meta).to_string().as_bytes());
    bytes.extend_from_slice(b",\"items\":[");
    for (index, item) in items.enumerate() {
        if index > 0 {
            bytes.push(b',');
        }
        push_object(&mut bytes, item, item_type);
    }
    bytes.extend_from_slice(b"]}\n");
    bytes.into()
}

/// An event of a watch: `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`, and an encoded object, into which
/// its type is put if given.
pub fn event_frame(event: &str, object: &[u8], object_type: Option<(&str, &str)>) -> Bytes {
    let mut bytes = Vec::with_capacity(object.len() + 128);
    bytes.extend_from_slice(b"{\"type\":");
    push_text(&mut bytes, event);
    bytes.extend_from_slice(b",\"object\":");
    push_object(&mut bytes, object, object_type);
    bytes.extend_from_slice(b"}\n");
    bytes.into()
}

/// Compresses a body if it is worth it and the client can read it; `None` leaves it as it is.
pub fn compress(body: &[u8], accept_encoding: Option<&str>) -> Option<Bytes> {
    const WORTH_IT: usize = 128 * 1024;
    let readable = accept_encoding.unwrap_or_default().split(',').any(|encoding| encoding.trim() == "gzip");
    if !readable || body.len() <= WORTH_IT {
        return None;
    }
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::fast());
    encoder.write_all(body).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

fn push_object(bytes: &mut Vec<u8>, object: &[u8], object_type: Option<(&str, &str)>) {
    let object = object.trim_ascii();
    let (Some((api_version, kind)), Some(fields)) = (object_type, object.strip_prefix(b"{")) else {
        bytes.extend_from_slice(object);
        return;
    };
    bytes.extend_from_slice(b"{\"apiVersion\":");
    push_text(bytes, api_version);
    bytes.extend_from_slice(b",\"kind\":");
    push_text(bytes, kind);
    if fields.trim_ascii_start() != b"}" {
        bytes.push(b',');
    }
    bytes.extend_from_slice(fields);
}

fn push_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend_from_slice(Value::from(text).to_string().as_bytes());
}
