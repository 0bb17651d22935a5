//! Values while a rule runs. What is in the object is looked at where it is; only what a rule makes is copied.

use std::{cmp::Ordering, net::IpAddr, rc::Rc};

use base64::{Engine, prelude::BASE64_STANDARD};
use jiff::{SignedDuration, Timestamp, civil::Date, tz::TimeZone};
use serde_json::{Map, Value};

use super::{
    escape,
    kind::Role,
    meter::{Failure, Meter, Outcome},
};
use crate::{
    api::quantity::Quantity,
    schema::{ListType, Schema, Type},
};

/// A value.
#[derive(Clone, Debug)]
pub enum Val<'v> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Text<'v>),
    Bytes(Rc<[u8]>),
    Duration(SignedDuration),
    Time(Timestamp),
    Type(&'static str),
    /// A list that a rule made.
    List(Rc<[Val<'v>]>),
    /// A map that a rule made.
    Map(Rc<[(Val<'v>, Val<'v>)]>),
    /// A list, map or object of the resource.
    JsonList(&'v [Value], Schema<'v>),
    JsonMap(&'v Map<String, Value>, Schema<'v>),
    Object(&'v Map<String, Value>, Schema<'v>, Role),
    Optional(Option<Rc<Val<'v>>>),
    Quantity(Quantity),
    Url(Text<'v>),
    Ip(IpAddr),
    Cidr(IpAddr, u8),
}

/// A text of the resource or the rule, or one that was made.
#[derive(Clone, Debug)]
pub enum Text<'v> {
    There(&'v str),
    Made(Rc<str>),
}

impl Text<'_> {
    pub fn as_str(&self) -> &str {
        match self {
            Text::There(text) => text,
            Text::Made(text) => text,
        }
    }
}

impl<'v> Val<'v> {
    pub fn made(text: impl Into<Rc<str>>) -> Self {
        Val::Text(Text::Made(text.into()))
    }

    pub fn list(items: Vec<Val<'v>>) -> Self {
        Val::List(items.into())
    }

    pub fn some(value: Val<'v>) -> Self {
        Val::Optional(Some(Rc::new(value)))
    }

    /// What rules see of a part of the resource.
    pub fn of(value: &'v Value, schema: Schema<'v>, resource: bool) -> Self {
        match value {
            Value::Null => Val::Null,
            Value::Bool(flag) => Val::Bool(*flag),
            Value::Number(number) => match (schema.kind, number.as_i64()) {
                (Type::Number, _) => Val::Double(number.as_f64().unwrap_or_default()),
                (_, Some(integer)) => Val::Int(integer),
                // A whole number that was written with a point.
                (Type::Integer, None) => Val::Int(number.as_f64().unwrap_or_default() as i64),
                (_, None) => Val::Double(number.as_f64().unwrap_or_default()),
            },
            Value::String(text) => of_text(text, schema),
            Value::Array(items) => match schema.items() {
                Some(_) => Val::JsonList(items, schema),
                None => Val::Null,
            },
            Value::Object(fields) => match schema.additional() {
                Some(_) if !resource => Val::JsonMap(fields, schema),
                _ => Val::Object(fields, schema, if resource { Role::Resource } else { Role::Plain }),
            },
        }
    }

    /// The kind's name, as `type()` tells it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Val::Null => "null_type",
            Val::Bool(_) => "bool",
            Val::Int(_) => "int",
            Val::Uint(_) => "uint",
            Val::Double(_) => "double",
            Val::Text(_) => "string",
            Val::Bytes(_) => "bytes",
            Val::Duration(_) => "google.protobuf.Duration",
            Val::Time(_) => "google.protobuf.Timestamp",
            Val::Type(_) => "type",
            Val::List(_) | Val::JsonList(..) => "list",
            Val::Map(_) | Val::JsonMap(..) => "map",
            Val::Object(..) => "object",
            Val::Optional(_) => "optional_type",
            Val::Quantity(_) => "kubernetes.Quantity",
            Val::Url(_) => "kubernetes.URL",
            Val::Ip(_) => "net.IP",
            Val::Cidr(..) => "net.CIDR",
        }
    }

    /// A list's items; none for anything else.
    pub fn items(&self) -> Option<Items<'_, 'v>> {
        match self {
            Val::List(items) => Some(Items::Made(items)),
            Val::JsonList(items, schema) => Some(Items::There(items, schema.items()?)),
            _ => None,
        }
    }

    /// A map's keys; none for anything else.
    pub fn keys(&self) -> Option<Vec<Val<'v>>> {
        match self {
            Val::Map(entries) => Some(entries.iter().map(|(key, _)| key.clone()).collect()),
            Val::JsonMap(fields, _) => Some(fields.keys().map(|key| Val::Text(Text::There(key))).collect()),
            _ => None,
        }
    }

    /// The number of items, entries or characters.
    pub fn size(&self) -> Option<usize> {
        match self {
            Val::Text(text) => Some(text.as_str().chars().count()),
            Val::Bytes(bytes) => Some(bytes.len()),
            Val::List(items) => Some(items.len()),
            Val::JsonList(items, _) => Some(items.len()),
            Val::Map(entries) => Some(entries.len()),
            Val::JsonMap(fields, _) => Some(fields.len()),
            _ => None,
        }
    }

    /// A field of an object or an entry of a map, by its name in the rule.
    pub fn select(&self, name: &str) -> Option<Val<'v>> {
        match self {
            Val::Object(fields, schema, role) => field(fields, *schema, *role, name),
            Val::JsonMap(fields, schema) => entry(fields, *schema, name),
            Val::Map(entries) => {
                let found =
                    entries.iter().find(|(key, _)| matches!(key, Val::Text(text) if text.as_str() == name));
                found.map(|(_, value)| value.clone())
            }
            _ => None,
        }
    }

    /// An item by its index or an entry by its key.
    pub fn index(&self, at: &Val<'v>, meter: &mut Meter) -> Outcome<'v> {
        if let Some(items) = self.items() {
            let index = match at {
                Val::Int(index) => *index,
                Val::Uint(index) => i64::try_from(*index).unwrap_or(i64::MAX),
                Val::Double(index) if index.fract() == 0.0 => *index as i64,
                _ => return Err(Failure::no_such_overload()),
            };
            let item = usize::try_from(index).ok().and_then(|index| items.get(index));
            return item.ok_or_else(|| Failure::error(format!("index out of bounds: {index}")));
        }
        match (self, at) {
            (Val::JsonMap(fields, schema), Val::Text(key)) => {
                entry(fields, *schema, key.as_str()).ok_or_else(|| no_such_key(key.as_str()))
            }
            (Val::Map(entries), key) => {
                for (candidate, value) in entries.iter() {
                    if equal(candidate, key, meter)? {
                        return Ok(value.clone());
                    }
                }
                Err(no_such_key(&shown(key)))
            }
            _ => Err(Failure::no_such_overload()),
        }
    }
}

pub fn no_such_key(key: &str) -> Failure {
    Failure::error(format!("no such key: {key}"))
}

/// A value in an error's message.
pub fn shown(value: &Val<'_>) -> String {
    match value {
        Val::Bool(flag) => flag.to_string(),
        Val::Int(number) => number.to_string(),
        Val::Uint(number) => number.to_string(),
        Val::Double(number) => number.to_string(),
        Val::Text(text) => text.as_str().chars().take(100).collect(),
        other => other.type_name().to_owned(),
    }
}

fn entry<'v>(fields: &'v Map<String, Value>, schema: Schema<'v>, key: &str) -> Option<Val<'v>> {
    let entry = schema.additional()?;
    fields.get(key).map(|value| Val::of(value, entry, entry.embedded_resource))
}

fn field<'v>(fields: &'v Map<String, Value>, schema: Schema<'v>, role: Role, name: &str) -> Option<Val<'v>> {
    let plain =
        |name: &str| fields.get(name).and_then(Value::as_str).map(|text| Val::Text(Text::There(text)));
    match (role, name) {
        (Role::Meta, "name" | "generateName") | (Role::Resource, "apiVersion" | "kind") => {
            return plain(name);
        }
        (Role::Meta, _) => return None,
        (Role::Resource, "metadata") => {
            let metadata = fields.get("metadata").and_then(Value::as_object)?;
            return Some(Val::Object(metadata, schema, Role::Meta));
        }
        _ => {}
    }
    let name = escape::unescape(name)?;
    let property = schema.property(&name)?;
    let value = fields.get(&name)?;
    // An explicit null that is allowed is there; one of the absent kind has been dropped before.
    Some(Val::of(value, property, property.embedded_resource))
}

fn of_text<'v>(text: &'v str, schema: Schema<'v>) -> Val<'v> {
    let there = Val::Text(Text::There(text));
    if schema.kind != Type::String {
        return there;
    }
    let converted = match schema.format.as_deref() {
        Some("date-time") => text.parse().ok().map(Val::Time),
        Some("date") => text
            .parse::<Date>()
            .ok()
            .and_then(|date| date.to_zoned(TimeZone::UTC).ok())
            .map(|zoned| Val::Time(zoned.timestamp())),
        Some("duration") => super::functions::parse_duration(text).map(Val::Duration),
        Some("byte") => BASE64_STANDARD.decode(text).ok().map(|bytes| Val::Bytes(bytes.into())),
        _ => return there,
    };
    // What has not the format it should have is refused by the schema before rules run.
    converted.unwrap_or(there)
}

/// The items of a list, wherever they are.
pub enum Items<'a, 'v> {
    Made(&'a [Val<'v>]),
    There(&'v [Value], Schema<'v>),
}

impl<'v> Items<'_, 'v> {
    pub fn len(&self) -> usize {
        match self {
            Items::Made(items) => items.len(),
            Items::There(items, _) => items.len(),
        }
    }

    pub fn get(&self, index: usize) -> Option<Val<'v>> {
        match self {
            Items::Made(items) => items.get(index).cloned(),
            Items::There(items, schema) => {
                items.get(index).map(|item| Val::of(item, *schema, schema.embedded_resource))
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Val<'v>> {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

/// Whether two values are equal; numbers are, whatever they are written as.
pub fn equal<'v>(a: &Val<'v>, b: &Val<'v>, meter: &mut Meter) -> Result<bool, Failure> {
    meter.charge(1)?;
    if let (Some(left), Some(right)) = (a.items(), b.items()) {
        if left.len() != right.len() {
            return Ok(false);
        }
        if let (Val::JsonList(left, schema), Val::JsonList(right, _)) = (a, b)
            && schema.list != ListType::Atomic
        {
            return same_members(left, right, meter);
        }
        for (left, right) in left.iter().zip(right.iter()) {
            if !equal(&left, &right, meter)? {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    if let (Some(left), Some(right)) = (a.keys(), b.keys()) {
        if left.len() != right.len() {
            return Ok(false);
        }
        for key in left {
            let (Ok(left), Ok(right)) = (a.index(&key, meter), b.index(&key, meter)) else {
                return Ok(false);
            };
            if !equal(&left, &right, meter)? {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    match (a, b) {
        (Val::Object(a, ..), Val::Object(b, ..)) => {
            meter.charge_bytes(weight_of(a))?;
            Ok(a == b)
        }
        (Val::Optional(None), Val::Optional(None)) | (Val::Null, Val::Null) => Ok(true),
        (Val::Optional(Some(a)), Val::Optional(Some(b))) => equal(a, b, meter),
        (Val::Bool(a), Val::Bool(b)) => Ok(a == b),
        (Val::Type(a), Val::Type(b)) => Ok(a == b),
        (Val::Url(a), Val::Url(b)) => Ok(a.as_str() == b.as_str()),
        (Val::Ip(a), Val::Ip(b)) => Ok(a == b),
        (Val::Cidr(a, bits_a), Val::Cidr(b, bits_b)) => Ok(a == b && bits_a == bits_b),
        _ => Ok(compare(a, b, meter)? == Some(Ordering::Equal)),
    }
}

/// Lists whose order says nothing.
fn same_members(left: &[Value], right: &[Value], meter: &mut Meter) -> Result<bool, Failure> {
    let mut texts: [Vec<String>; 2] = [Vec::new(), Vec::new()];
    for (texts, items) in texts.iter_mut().zip([left, right]) {
        for item in items {
            let text = item.to_string();
            meter.charge_bytes(text.len())?;
            texts.push(text);
        }
        texts.sort_unstable();
    }
    Ok(texts[0] == texts[1])
}

/// About as many bytes as comparing an object looks at.
fn weight_of(fields: &Map<String, Value>) -> usize {
    fn of(value: &Value) -> usize {
        match value {
            Value::String(text) => text.len() + 2,
            Value::Array(items) => 2 + items.iter().map(of).sum::<usize>(),
            Value::Object(fields) => weight_of(fields),
            _ => 4,
        }
    }
    2 + fields.iter().map(|(name, value)| name.len() + of(value)).sum::<usize>()
}

/// The order of two values; none if they have none.
pub fn compare<'v>(a: &Val<'v>, b: &Val<'v>, meter: &mut Meter) -> Result<Option<Ordering>, Failure> {
    Ok(match (a, b) {
        (Val::Text(a), Val::Text(b)) => {
            let (a, b) = (a.as_str(), b.as_str());
            meter.charge_bytes(a.len().min(b.len()))?;
            Some(a.cmp(b))
        }
        (Val::Bytes(a), Val::Bytes(b)) => {
            meter.charge_bytes(a.len().min(b.len()))?;
            Some(a.cmp(b))
        }
        (Val::Bool(a), Val::Bool(b)) => Some(a.cmp(b)),
        (Val::Int(a), Val::Int(b)) => Some(a.cmp(b)),
        (Val::Uint(a), Val::Uint(b)) => Some(a.cmp(b)),
        (Val::Int(a), Val::Uint(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Val::Uint(a), Val::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Val::Double(a), Val::Double(b)) => a.partial_cmp(b),
        (Val::Double(a), Val::Int(b)) => a.partial_cmp(&(*b as f64)),
        (Val::Int(a), Val::Double(b)) => (*a as f64).partial_cmp(b),
        (Val::Double(a), Val::Uint(b)) => a.partial_cmp(&(*b as f64)),
        (Val::Uint(a), Val::Double(b)) => (*a as f64).partial_cmp(b),
        (Val::Duration(a), Val::Duration(b)) => Some(a.cmp(b)),
        (Val::Time(a), Val::Time(b)) => Some(a.cmp(b)),
        (Val::Quantity(a), Val::Quantity(b)) => Some(a.cmp(b)),
        _ => None,
    })
}
