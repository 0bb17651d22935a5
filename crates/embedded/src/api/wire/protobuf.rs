//! Bodies in Kubernetes' protobuf: the value that the same object would be in JSON.
//!
//! kubectl and other Go programs send what they have types for in this form and do not try another
//! when it is refused. A body is four magic bytes and an envelope that names the kind and carries its message. A generated
//! [table](table) of every message that our kinds are made of says which fields there are, and when Go's JSON
//! has them: Go puts zeros on the wire that its JSON leaves out, and the other way round.
//!
//! Only reading: answers are JSON, which every client takes. Custom resources have no such form.

mod build;
mod reader;
mod special;
mod table;

use std::fmt;

use serde_json::Value;

use self::{build::Builder, reader::Reader, table::table};
use super::Decoded;
use crate::api::error::{ApiError, Result};

/// What every body starts with.
const MAGIC: &[u8] = b"k8s\0";

/// Why a message cannot be read.
enum Fault {
    Malformed(String),
    /// It is larger or deeper than we take.
    Refused(ApiError),
}

impl Fault {
    fn malformed(words: impl fmt::Display) -> Self {
        Self::Malformed(words.to_string())
    }
}

/// What the envelope holds.
#[derive(Default)]
struct Envelope<'a> {
    api_version: String,
    kind: String,
    message: &'a [u8],
}

/// Reads a body.
pub(super) fn decode_protobuf(body: &[u8]) -> Result<Decoded> {
    let envelope = Envelope::read(body).map_err(|fault| match fault {
        Fault::Malformed(words) => {
            ApiError::bad_request(format!("the object provided is unrecognized: {words}"))
        }
        Fault::Refused(error) => error,
    })?;
    let Envelope { api_version, kind, message } = envelope;
    let Some(declared) = table().kind(&api_version, &kind) else {
        let words = format!("no kind {kind:?} is registered for version {api_version:?}");
        return Err(ApiError::bad_request(words));
    };
    let version = api_version.rsplit('/').next().unwrap_or_default();
    let mut fields = Builder::new(table()).object(declared, message).map_err(|fault| match fault {
        Fault::Malformed(words) => ApiError::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: {words}"
        )),
        Fault::Refused(error) => error,
    })?;
    fields.insert("apiVersion".to_owned(), api_version.into());
    fields.insert("kind".to_owned(), kind.into());
    Ok(Decoded { value: Value::Object(fields), duplicates: Vec::new() })
}

impl<'a> Envelope<'a> {
    fn read(body: &'a [u8]) -> Result<Self, Fault> {
        if body.is_empty() {
            return Err(Fault::malformed("empty data"));
        }
        let Some(content) = body.strip_prefix(MAGIC) else {
            return Err(Fault::malformed(
                "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
            ));
        };
        if content.is_empty() {
            return Err(Fault::malformed("empty body"));
        }
        let mut envelope = Self::default();
        let mut reader = Reader::new(content);
        while let Some((number, field)) = reader.next()? {
            match number {
                1 => envelope.read_type(field.bytes("TypeMeta")?)?,
                2 => envelope.message = field.bytes("Raw")?,
                // How the message itself is encoded: like upstream, nothing looks at it.
                _ => {}
            }
        }
        match (envelope.kind.is_empty(), envelope.api_version.is_empty()) {
            (true, _) => Err(Fault::malformed("Object 'Kind' is missing")),
            (false, true) => Err(Fault::malformed("Object 'apiVersion' is missing")),
            (false, false) => Ok(envelope),
        }
    }

    fn read_type(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let mut reader = Reader::new(bytes);
        while let Some((number, field)) = reader.next()? {
            match number {
                1 => self.api_version = field.text("APIVersion")?,
                2 => self.kind = field.text("Kind")?,
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
