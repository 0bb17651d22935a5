//! What the fuzz targets in `fuzz/` call: one function for each parser of foreign bytes.
//!
//! Built with `--cfg fuzzing` alone. Every function takes whatever bytes there are. That it returns, soon
//! and with little memory, is the first law; it asserts others where the bytes can be read. Those that need
//! several texts take one from each line.

mod bodies;
mod definitions;
mod kinds;
mod ownership;
mod patches;
mod requests;
mod texts;

use jiff::Timestamp;
use serde_json::Value;

pub use self::{
    bodies::{body, protobuf},
    definitions::{cel, definition},
    kinds::kind,
    ownership::{apply, fields},
    patches::{patch, strategic},
    requests::{options, selector},
    texts::{json_path, text},
};
use crate::{
    api::wire,
    schema::{self, Schema},
};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

/// The first lines of an input, the last with all that follows it; `None` if there are fewer or they are no text.
fn lines<const COUNT: usize>(data: &[u8]) -> Option<[&str; COUNT]> {
    let mut lines = std::str::from_utf8(data).ok()?.splitn(COUNT, '\n');
    let mut found = [""; COUNT];
    for place in &mut found {
        *place = lines.next()?;
    }
    Some(found)
}

/// A JSON body as the server reads it, if it takes it.
fn json(text: &str) -> Option<Value> {
    wire::decode_json(text.as_bytes()).ok().map(|decoded| decoded.value)
}

/// The schema that an object names, or that of pods: most of what schemas have is there.
fn schema_of(object: &Value) -> Schema<'static> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    schema::builtin(text("apiVersion"), text("kind"))
        .or_else(|| schema::builtin("v1", "Pod"))
        .expect("pods must be bundled")
}

/// Whether any value inside is one of these.
fn any(value: &Value, test: &impl Fn(&Value) -> bool) -> bool {
    test(value)
        || match value {
            Value::Array(items) => items.iter().any(|item| any(item, test)),
            Value::Object(fields) => fields.values().any(|field| any(field, test)),
            _ => false,
        }
}

/// How deep a value is nested, a scalar counting none.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}
