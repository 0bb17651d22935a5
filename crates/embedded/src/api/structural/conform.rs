//! What decoding into a struct does to an object of a built-in kind.
//!
//! A value of the wrong type is an error in the decoder's words. Unknown fields and nulls go, times and
//! quantities take their one form, and what is optional and empty goes too (`labels: {}`, `hostNetwork: false`,
//! but not `replicas: 0`), because that is how upstream prints it.

use base64::{Engine, prelude::BASE64_STANDARD};
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{place::Place, pointers::keeps_zero};
use crate::api::quantity::Quantity;
use crate::schema::{Schema, Type, builtin_tree};

/// Makes a value what its schema says. Returns the unknown fields that were dropped, as paths.
pub fn conform(schema: Schema<'_>, value: &mut Value) -> Result<Vec<String>, String> {
    let mut decoder = Decoder { unknown: Vec::new() };
    decoder.decode(Within { schema, owner: None }, value, Place::Root)?;
    Ok(decoder.unknown)
}

/// Sets the required texts, numbers and switches that are absent to their zero, as upstream prints them, and some
/// times to null.
/// For whole objects only: what an apply leaves out stays out.
pub fn fill_zeros(schema: Schema<'_>, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for name in &schema.required {
                if let Some(zero) =
                    schema.property(name).and_then(|field| required_zero(&schema, name, field))
                {
                    fields.entry(name).or_insert(zero);
                }
            }
            if prints_every_time(&schema) {
                for (name, field) in schema.properties() {
                    if field.format.as_deref() == Some("date-time") {
                        fields.entry(name).or_insert(Value::Null);
                    }
                }
            }
            for (name, value) in fields {
                if let Some(field) = schema.field(name) {
                    fill_zeros(field, value);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.items() {
                items.iter_mut().for_each(|item| fill_zeros(schema, item));
            }
        }
        _ => {}
    }
}

/// Whether a struct has its times in place and not behind pointers, so that upstream prints null for none. The
/// schema does not tell.
fn prints_every_time(schema: &Schema<'_>) -> bool {
    let name = struct_name(schema);
    name.ends_with("Condition") || ["ContainerStateRunning", "ContainerStateTerminated"].contains(&name)
}

fn required_zero(owner: &Schema<'_>, name: &str, field: Schema<'_>) -> Option<Value> {
    // The one required field that is a pointer upstream: absent is not the same as empty.
    if name == "pathType" && struct_name(owner) == "HTTPIngressPath" {
        return None;
    }
    match field.kind {
        Type::String if field.format.is_none() => Some("".into()),
        Type::Integer => Some(0.into()),
        Type::Boolean => Some(false.into()),
        _ => None,
    }
}

struct Decoder {
    unknown: Vec<String>,
}

/// A schema, and the struct whose field it describes: messages name both.
#[derive(Clone, Copy)]
struct Within<'s> {
    schema: Schema<'s>,
    owner: Option<Schema<'s>>,
}

impl Decoder {
    fn decode(&mut self, within: Within<'_>, value: &mut Value, place: Place<'_>) -> Result<(), String> {
        let schema = within.schema;
        if let Some(props) = nested_schema(&schema, value) {
            // Upstream's own decoders of these read loosely: nothing in them is reported as unknown.
            let known = self.unknown.len();
            let result = self.decode(Within { schema: props, ..within }, value, place);
            self.unknown.truncate(known);
            return result;
        }
        match schema.kind {
            Type::Any => Ok(()),
            Type::Object => match value {
                Value::Object(_) if schema.preserve_unknown => Ok(()),
                Value::Object(fields) => self.object(within, fields, place),
                other => Err(mismatch(within, other, place)),
            },
            Type::Array => match value {
                Value::Array(items) => self.list(within, items, place),
                other => Err(mismatch(within, other, place)),
            },
            Type::String => text(within, value, place),
            Type::Boolean if value.is_boolean() => Ok(()),
            Type::Number if value.is_number() => Ok(()),
            Type::Integer if fits(&schema, value) => Ok(()),
            Type::IntOrString if value.is_string() || fits_32(value) => Ok(()),
            Type::Quantity => quantity(value),
            _ => Err(mismatch(within, value, place)),
        }
    }

    fn object(
        &mut self,
        within: Within<'_>,
        fields: &mut Map<String, Value>,
        place: Place<'_>,
    ) -> Result<(), String> {
        let schema = within.schema;
        let mut result = Ok(());
        fields.retain(|name, value| {
            let (place, inner) = match (schema.property(name), schema.additional()) {
                (Some(field), _) => {
                    (Place::Field(&place, name), Within { schema: field, owner: Some(schema) })
                }
                (None, Some(entry)) => {
                    (Place::Key(&place, name), Within { schema: entry, owner: within.owner })
                }
                (None, None) => {
                    // A struct without fields of its own is opaque, one with fields is not.
                    let opaque = schema.properties().next().is_none();
                    if !opaque {
                        self.unknown.push(Place::Field(&place, name).dotted());
                    }
                    return opaque;
                }
            };
            if value.is_null() {
                return matches!(place, Place::Key(..)) && become_zero(inner.schema, value);
            }
            if result.is_ok() {
                result = self.decode(inner, value, place);
            }
            let optional = matches!(place, Place::Field(..)) && !schema.required.iter().any(|n| n == name);
            !(optional && is_empty(inner.schema, value) && !keeps_zero(struct_name(&schema), name))
        });
        result
    }

    fn list(&mut self, within: Within<'_>, items: &mut [Value], place: Place<'_>) -> Result<(), String> {
        let Some(schema) = within.schema.items() else { return Ok(()) };
        for (index, item) in items.iter_mut().enumerate() {
            if !item.is_null() || become_zero(schema, item) {
                self.decode(Within { schema, owner: within.owner }, item, Place::Item(&place, index))?;
            }
        }
        Ok(())
    }
}

/// A schema inside a definition of custom resources, whose published form says nothing about it.
fn nested_schema<'s>(schema: &Schema<'s>, value: &Value) -> Option<Schema<'s>> {
    let name = schema.name.as_deref()?;
    let place = name.strip_suffix("OrArray").or_else(|| name.strip_suffix("OrBool"))?;
    (value.is_object() && place.ends_with(".JSONSchemaProps")).then(|| builtin_tree().named(place)).flatten()
}

/// What a null in a list or map decodes to. False if it stays null.
fn become_zero(schema: Schema<'_>, value: &mut Value) -> bool {
    *value = match schema.kind {
        Type::String if schema.format.as_deref() != Some("date-time") => "".into(),
        Type::Integer | Type::Number | Type::IntOrString => 0.into(),
        Type::Boolean => false.into(),
        Type::Quantity => "0".into(),
        Type::Object if schema.additional().is_none() => Map::new().into(),
        _ => return false,
    };
    true
}

/// Whether upstream leaves a field with this value out. Structs are printed however empty they are, and so is
/// free-form JSON: a default of `false` is one.
fn is_empty(schema: Schema<'_>, value: &Value) -> bool {
    match value {
        _ if schema.kind == Type::Any => false,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty() && schema.additional().is_some(),
        Value::String(text) => text.is_empty() && schema.kind == Type::String,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0) && schema.kind != Type::IntOrString,
        Value::Null => false,
    }
}

fn fits(schema: &Schema<'_>, value: &Value) -> bool {
    if schema.format.as_deref() == Some("int32") { fits_32(value) } else { value.is_i64() }
}

fn fits_32(value: &Value) -> bool {
    value.as_i64().is_some_and(|number| i32::try_from(number).is_ok())
}

fn quantity(value: &mut Value) -> Result<(), String> {
    let text = match &*value {
        Value::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    };
    *value = Quantity::parse(&text)?.to_string().into();
    Ok(())
}

fn text(within: Within<'_>, value: &mut Value, place: Place<'_>) -> Result<(), String> {
    let Value::String(text) = value else { return Err(mismatch(within, value, place)) };
    match within.schema.format.as_deref() {
        Some("date-time") => {
            let micro = within.schema.name.as_deref().is_some_and(|name| name.ends_with(".MicroTime"));
            *text = time(text, micro)?;
        }
        Some("byte") if BASE64_STANDARD.decode(text.as_bytes()).is_err() => {
            return Err(format!("illegal base64 data at input byte {}", first_bad_byte(text)));
        }
        _ => {}
    }
    Ok(())
}

fn first_bad_byte(text: &str) -> usize {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    text.bytes().position(|byte| !plain(byte)).unwrap_or(text.len() / 4 * 4)
}

/// A moment in its one form: UTC, and no or six digits after the point.
fn time(text: &str, micro: bool) -> Result<String, String> {
    let digits = text.get(20..).map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    let exact = !micro || (text.as_bytes().get(19) == Some(&b'.') && digits == 6);
    let moment = super::formats::is_date_time(text).then(|| text.parse::<Timestamp>().ok()).flatten();
    match moment.filter(|_| exact) {
        Some(moment) if micro => Ok(moment.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()),
        Some(moment) => Ok(moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
        None => {
            let layout = if micro { "2006-01-02T15:04:05.000000Z07:00" } else { "2006-01-02T15:04:05Z07:00" };
            Err(format!("parsing time {text:?} as {layout:?}: cannot parse {text:?} as a time of that form"))
        }
    }
}

/// The decoder's sentence about a value of the wrong type.
fn mismatch(within: Within<'_>, value: &Value, place: Place<'_>) -> String {
    let got = match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Number(number) if matches!(within.schema.kind, Type::Integer | Type::IntOrString) => {
            format!("number {number}")
        }
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::Array(_) => "array".to_owned(),
        Value::Object(_) => "object".to_owned(),
    };
    let target = match within.owner {
        Some(owner) => format!("struct field {}.{}", struct_name(&owner), place.fields()),
        None => "value".to_owned(),
    };
    format!("json: cannot unmarshal {got} into Go {target} of type {}", go_type(within.schema))
}

fn struct_name<'s>(schema: &'s Schema<'_>) -> &'s str {
    schema.name.as_deref().and_then(|name| name.rsplit('.').next()).unwrap_or_default()
}

fn go_type(schema: Schema<'_>) -> String {
    match schema.kind {
        Type::Boolean => "bool".to_owned(),
        Type::Number => "float64".to_owned(),
        Type::IntOrString => "int32".to_owned(),
        Type::Integer => schema.format.clone().unwrap_or_else(|| "int64".to_owned()),
        Type::Array => format!("[]{}", schema.items().map_or_else(|| "interface {}".to_owned(), go_type)),
        Type::Object => match (&schema.name, schema.additional()) {
            (Some(name), _) => {
                let mut parts = name.rsplit('.');
                let (kind, package) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
                format!("{package}.{kind}")
            }
            (None, Some(entry)) => format!("map[string]{}", go_type(entry)),
            (None, None) => "map[string]interface {}".to_owned(),
        },
        _ => "string".to_owned(),
    }
}

#[cfg(test)]
mod tests;
