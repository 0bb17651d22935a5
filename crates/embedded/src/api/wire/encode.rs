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
    if format.is_raw() {
        return Ok(json);
    }
    encode(&serde_json::from_slice(&json).map_err(ApiError::internal)?, format)
}

/// An encoded object: bytes that others share, and what comes before them.
#[derive(Clone, Debug, Default)]
pub struct Encoded {
    pub head: Bytes,
    pub rest: Bytes,
}

impl From<Bytes> for Encoded {
    fn from(rest: Bytes) -> Self {
        Self { head: Bytes::new(), rest }
    }
}

impl Encoded {
    /// An object that lacks its type, with [`type_head`] in front.
    pub fn typed(head: &Bytes, object: &Bytes) -> Self {
        Self { head: head.clone(), rest: object.slice(1.min(object.len())..) }
    }

    pub fn size(&self) -> usize {
        self.head.len() + self.rest.len()
    }

    /// In one piece.
    pub fn join(self) -> Bytes {
        if self.head.is_empty() { self.rest } else { [&self.head[..], &self.rest].concat().into() }
    }
}

/// How an encoded object begins that has its type in front of other fields.
pub fn type_head(api_version: &str, kind: &str) -> Bytes {
    format!("{{\"apiVersion\":{},\"kind\":{},", text(api_version), text(kind)).into()
}

/// What stands around the items of a list, so that they can be written one by one.
#[derive(Clone, Debug)]
pub struct ListFrame {
    pub head: Vec<u8>,
    /// Before the first item.
    pub first: &'static str,
    /// Between two items.
    pub between: &'static str,
    /// After the last item.
    pub tail: &'static str,
    /// After the head, if there are no items.
    pub empty: &'static str,
    format: Format,
}

impl ListFrame {
    /// The frame of a list with these fields, whose items are called so.
    pub fn new(fields: &Value, items: &str, format: Format) -> Result<Self> {
        let whole = encode(fields, format)?;
        let whole = String::from_utf8_lossy(whole.trim_ascii_end());
        let open = |end: &str| whole.strip_suffix(end).unwrap_or(&whole).to_owned();
        let frame = |head: String, first, between, tail, empty| Self {
            head: head.into_bytes(),
            first,
            between,
            tail,
            empty,
            format,
        };
        Ok(match format.encoding {
            Encoding::Json if !format.pretty => {
                frame(open("}") + &format!(",\"{items}\":["), "", ",", "]}\n", "]}\n")
            }
            Encoding::Json => {
                let head = open("\n}") + &format!(",\n  \"{items}\": [");
                frame(head, "\n    ", ",\n    ", "\n  ]\n}\n", "]\n}\n")
            }
            Encoding::Yaml => frame(format!("{whole}\n{items}:"), "\n", "", "", " []\n"),
        })
    }

    /// An item as it stands in this frame.
    pub fn item(&self, item: Encoded) -> Result<Encoded> {
        if self.format.is_raw() {
            return Ok(item);
        }
        let lines = encode_raw(item.join(), self.format)?;
        let lines = String::from_utf8_lossy(&lines);
        let mut indented = String::with_capacity(lines.len() * 2);
        for (number, line) in lines.trim_end_matches('\n').split('\n').enumerate() {
            match (self.format.encoding, number) {
                (Encoding::Json, 0) => {}
                (Encoding::Json, _) => indented.push_str("\n    "),
                (Encoding::Yaml, 0) => indented.push_str("- "),
                (Encoding::Yaml, _) if line.is_empty() => {}
                (Encoding::Yaml, _) => indented.push_str("  "),
            }
            indented.push_str(line);
            if self.format.encoding == Encoding::Yaml {
                indented.push('\n');
            }
        }
        Ok(Bytes::from(indented).into())
    }
}

/// An event of a watch: `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`, and an encoded object. A large
/// object stays in pieces, so that it is not copied for every watch.
pub fn event_frames(event: &str, object: Encoded) -> impl Iterator<Item = Bytes> + use<> {
    const LARGE: usize = 16 << 10;
    const TAIL: &[u8] = b"}\n";
    let head = format!("{{\"type\":{},\"object\":", text(event));
    let pieces = if object.size() < LARGE {
        let whole = [head.as_bytes(), &object.head, &object.rest, TAIL].concat();
        [Bytes::from(whole), Bytes::new(), Bytes::new()]
    } else {
        [[head.as_bytes(), &object.head].concat().into(), object.rest, Bytes::from_static(TAIL)]
    };
    pieces.into_iter().filter(|piece| !piece.is_empty())
}

/// Compressing less than this is not worth it.
pub const WORTH_COMPRESSING: usize = 128 * 1024;

/// Whether a client can read what is compressed.
pub fn reads_gzip(accept_encoding: Option<&str>) -> bool {
    accept_encoding.unwrap_or_default().split(',').any(|encoding| encoding.trim() == "gzip")
}

/// Compresses a body if it is worth it and the client can read it; `None` leaves it as it is.
pub fn compress(body: &[u8], accept_encoding: Option<&str>) -> Option<Bytes> {
    if !reads_gzip(accept_encoding) || body.len() <= WORTH_COMPRESSING {
        return None;
    }
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::fast());
    encoder.write_all(body).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

/// A text as JSON has it.
fn text(text: &str) -> String {
    Value::from(text).to_string()
}
