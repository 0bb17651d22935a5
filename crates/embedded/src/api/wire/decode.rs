//! From bytes to one value.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize,
    de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};

use super::protobuf::decode_protobuf;
use crate::api::error::{ApiError, Result};

/// The largest body, in bytes, as upstream has it.
pub const MAX_BODY: usize = 3 * 1024 * 1024;

/// The deepest body. What the server adds, such as the fields of a manager or a list around the object, must not
/// take it over the 127 levels that readers of the answer can be counted on to go down.
pub const MAX_DEPTH: usize = 100;

/// The deepest body that is YAML and not JSON: its reader takes more of the stack.
const MAX_YAML_DEPTH: usize = 64;

/// The memory that a body may take once it is read. Small objects take a hundred times their text.
pub(super) const MAX_COST: usize = 96 * 1024 * 1024;

/// What a map allocates for its first entries.
pub(super) const MAP_COST: usize = 11 * (size_of::<String>() + size_of::<Value>());

/// Keys that occur twice are told up to this number.
const MAX_DUPLICATES: usize = 100;

/// The media type of Kubernetes' own binary form.
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// A body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decoded {
    pub value: Value,
    /// For each key that occurs twice, the sentence that says so. The last value counts.
    pub duplicates: Vec<String>,
}

/// The kinds of patch.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchType {
    /// The kind of patch that a body is. Custom resources know no strategic merge.
    pub fn of(content_type: Option<&str>, strategic: bool) -> Result<Self> {
        const TYPES: [(PatchType, &str); 4] = [
            (PatchType::Json, "application/json-patch+json"),
            (PatchType::Merge, "application/merge-patch+json"),
            (PatchType::Strategic, "application/strategic-merge-patch+json"),
            (PatchType::Apply, "application/apply-patch+yaml"),
        ];
        let known = || TYPES.iter().filter(|(kind, _)| strategic || *kind != Self::Strategic);
        let media_type = essence(content_type.unwrap_or_default());
        match known().find(|(_, name)| *name == media_type) {
            Some((kind, _)) => Ok(*kind),
            None => Err(unknown_format(&known().map(|(_, name)| *name).collect::<Vec<_>>())),
        }
    }
}

/// Reads a body in the form that its Content-Type says; JSON if it says nothing.
pub fn decode(content_type: Option<&str>, body: &[u8]) -> Result<Decoded> {
    if essence(content_type.unwrap_or_default()) == PROTOBUF {
        within_bounds(body)?;
        return decode_protobuf(body);
    }
    decode_text(content_type, body, &["application/json", "application/yaml", PROTOBUF])
}

/// Reads the body of a custom resource, which has no protobuf form. Upstream lists it among those it takes and
/// then drops the connection; to say so is better.
pub fn decode_custom(content_type: Option<&str>, body: &[u8]) -> Result<Decoded> {
    decode_text(content_type, body, &["application/json", "application/yaml"])
}

fn decode_text(content_type: Option<&str>, body: &[u8], known: &[&str]) -> Result<Decoded> {
    match essence(content_type.unwrap_or_default()).as_str() {
        "" | "application/json" => decode_json(body),
        "application/yaml" => decode_yaml(body),
        _ => Err(unknown_format(known)),
    }
}

/// Reads JSON that stands inside of another body, whose depth and cost so far it adds to.
pub(super) fn decode_nested_json(body: &[u8], depth: usize, cost: &mut usize) -> Result<Value> {
    let mut state = State { depth, cost: *cost, ..State::default() };
    let result = state.read_json(body);
    *cost = state.cost;
    Ok(state.finish(result)?.value)
}

/// Reads a body that is JSON, whatever its Content-Type.
pub fn decode_json(body: &[u8]) -> Result<Decoded> {
    within_bounds(body)?;
    let mut state = State::default();
    let result = state.read_json(body);
    state.finish(result)
}

/// Reads a body that is YAML, whatever its Content-Type: one document, aliases within bounds.
///
/// Programs send JSON under that name, which is read as such: it is much faster. Only what is told of keys that
/// occur twice has other words.
pub fn decode_yaml(body: &[u8]) -> Result<Decoded> {
    within_bounds(body)?;
    if body.trim_ascii_start().starts_with(b"{")
        && let Ok(decoded) = decode_json(body)
        && decoded.duplicates.is_empty()
    {
        return Ok(decoded);
    }
    let text = std::str::from_utf8(body).map_err(|error| ApiError::bad_request(format!("yaml: {error}")))?;
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_YAML_DEPTH,
            flow_nesting_limit: MAX_YAML_DEPTH,
            max_documents: 1,
            max_total_scalar_bytes: MAX_BODY,
            max_recorded_anchor_bytes: MAX_BODY,
            max_recorded_anchor_events: 100_000,
            max_aliases: 1_000,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 100_000 },
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::LastWins,
        // Modes of files are written so.
        legacy_octal_numbers: true,
        with_snippet: false,
    };
    let mut state = State { yaml: true, ..State::default() };
    let result = serde_saphyr::with_deserializer_from_str_with_options(text, options, |reader| {
        Build::<serde_saphyr::Spanned<String>>::new(&mut state).deserialize(reader)
    });
    state.finish(result.map_err(|error| format!("yaml: {error}")))
}

/// The refusal of a body longer than [`MAX_BODY`].
pub fn body_too_large() -> ApiError {
    ApiError::too_large(format!("Request entity too large: limit is {MAX_BODY}"))
}

fn within_bounds(body: &[u8]) -> Result<()> {
    if body.len() > MAX_BODY { Err(body_too_large()) } else { Ok(()) }
}

/// A media type without its parameters.
fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn unknown_format(known: &[&str]) -> ApiError {
    ApiError::unsupported_media_type(format!(
        "the body of the request was in an unknown format - accepted media types include: {}",
        known.join(", ")
    ))
}

/// What is known while a value is built.
#[derive(Default)]
struct State {
    yaml: bool,
    /// The place of the value, for example `spec.ports[0]`.
    path: String,
    depth: usize,
    cost: usize,
    duplicates: Vec<String>,
    /// Why it was refused, if not for its form.
    refusal: Option<ApiError>,
}

impl State {
    fn read_json(&mut self, body: &[u8]) -> Result<Value, String> {
        let mut reader = serde_json::Deserializer::from_slice(body);
        let result = Build::<String>::new(self).deserialize(&mut reader);
        let result = result.and_then(|value| reader.end().map(|()| value));
        result.map_err(|error| format!("json parse error: {error}"))
    }

    fn finish(self, result: Result<Value, String>) -> Result<Decoded> {
        match (result, self.refusal) {
            (Ok(value), _) => Ok(Decoded { value, duplicates: self.duplicates }),
            (Err(_), Some(refusal)) => Err(refusal),
            (Err(error), None) => Err(ApiError::bad_request(format!("couldn't get version/kind; {error}"))),
        }
    }

    fn spend<E: serde::de::Error>(&mut self, cost: usize) -> Result<(), E> {
        self.cost += cost;
        self.refuse_if(self.cost > MAX_COST, || {
            ApiError::too_large("Request entity too large: too many values")
        })
    }

    fn enter<E: serde::de::Error>(&mut self) -> Result<(), E> {
        self.depth += 1;
        self.refuse_if(self.depth > MAX_DEPTH, || {
            ApiError::bad_request(format!("the body is nested more than {MAX_DEPTH} levels deep"))
        })
    }

    fn refuse_if<E: serde::de::Error>(&mut self, refuse: bool, why: impl Fn() -> ApiError) -> Result<(), E> {
        if !refuse {
            return Ok(());
        }
        let why = why();
        let error = E::custom(&why.message);
        self.refusal = Some(why);
        Err(error)
    }

    fn note_duplicate(&mut self, key: &str, line: Option<u64>) {
        if self.duplicates.len() >= MAX_DUPLICATES {
            return;
        }
        self.duplicates.push(match (self.yaml, line) {
            (true, Some(line)) => format!("line {line}: key {key:?} already set in map"),
            (true, None) => format!("key {key:?} already set in map"),
            (false, _) => format!("duplicate field {:?}", self.path),
        });
    }
}

/// A key as a reader gives it.
trait Key<'de>: Deserialize<'de> {
    /// The text, and the line if the reader knows it.
    fn parts(self) -> (String, Option<u64>);
}

impl Key<'_> for String {
    fn parts(self) -> (String, Option<u64>) {
        (self, None)
    }
}

impl Key<'_> for serde_saphyr::Spanned<String> {
    fn parts(self) -> (String, Option<u64>) {
        let line = self.referenced.line();
        (self.value, Some(line))
    }
}

/// Builds a value.
struct Build<'s, K> {
    state: &'s mut State,
    key: PhantomData<K>,
}

impl<'s, K> Build<'s, K> {
    fn new(state: &'s mut State) -> Self {
        Self { state, key: PhantomData }
    }
}

impl<'de, K: Key<'de>> DeserializeSeed<'de> for Build<'_, K> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        self.state.spend(size_of::<Value>())?;
        reader.deserialize_any(self)
    }
}

impl<'de, K: Key<'de>> Visitor<'de> for Build<'_, K> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i128<E: serde::de::Error>(self, value: i128) -> Result<Value, E> {
        self.visit_f64(value as f64)
    }

    fn visit_u128<E: serde::de::Error>(self, value: u128) -> Result<Value, E> {
        self.visit_f64(value as f64)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number must be finite"))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        self.state.spend(value.len())?;
        Ok(value.into())
    }

    fn visit_string<E: serde::de::Error>(self, value: String) -> Result<Value, E> {
        self.state.spend(value.len())?;
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let state = self.state;
        let outer = state.path.len();
        let mut values = Vec::new();
        state.enter()?;
        loop {
            state.path.truncate(outer);
            state.path.push_str(&format!("[{}]", values.len()));
            match items.next_element_seed(Build::<K>::new(state))? {
                Some(value) => values.push(value),
                None => break,
            }
        }
        state.path.truncate(outer);
        state.depth -= 1;
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let state = self.state;
        let outer = state.path.len();
        let mut fields = Map::new();
        state.enter()?;
        while let Some(key) = entries.next_key::<K>()? {
            let (key, line) = key.parts();
            state.spend(key.len() + if fields.is_empty() { MAP_COST } else { 0 })?;
            if outer > 0 {
                state.path.push('.');
            }
            state.path.push_str(&key);
            if fields.contains_key(&key) {
                state.note_duplicate(&key, line);
            }
            let value = entries.next_value_seed(Build::<K>::new(state))?;
            fields.insert(key, value);
            state.path.truncate(outer);
        }
        state.depth -= 1;
        Ok(Value::Object(fields))
    }
}
