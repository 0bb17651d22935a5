//! What an expression in a rule evaluates to, and how large that can be.
//!
//! Sizes are part of a kind, because the cost of a rule is judged before it ever runs: a text has a length, a
//! list a number of items. What the schema does not bound is bounded by the largest request.

use std::{collections::HashMap, fmt};

use super::escape;
use crate::schema::{Schema, Type};

/// The largest request, in bytes. Nothing in an object is longer.
const REQUEST: u64 = 3 * 1024 * 1024;

/// The kind of a value.
#[derive(Clone, Debug)]
pub enum Kind<'s> {
    /// Known only when the rule runs; at most this long if it is a text.
    Dyn(u64),
    Null,
    Bool,
    Int,
    Uint,
    Double,
    /// A text of at most so many bytes.
    Text(u64),
    Bytes(u64),
    Duration,
    Time,
    /// The name of a kind, as `type()` tells it.
    Type,
    /// At most so many items.
    List(Box<Kind<'s>>, u64),
    /// At most so many entries.
    Map(Box<Kind<'s>>, Box<Kind<'s>>, u64),
    Object(Schema<'s>, Role),
    Optional(Box<Kind<'s>>),
    Quantity,
    Url,
    Ip,
    Cidr,
}

/// What an object is beside its schema.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Role {
    Plain,
    /// A whole object, whose apiVersion, kind and names rules may see.
    Resource,
    /// The metadata of one.
    Meta,
}

impl<'s> Kind<'s> {
    /// How long a text or list can be; 1 for what has no length.
    pub fn size(&self) -> u64 {
        match self {
            Kind::Dyn(size) | Kind::Text(size) | Kind::Bytes(size) => *size,
            Kind::List(_, size) | Kind::Map(_, _, size) => *size,
            Kind::Duration | Kind::Time => 32,
            _ => 1,
        }
    }

    pub fn is_dyn(&self) -> bool {
        matches!(self, Kind::Dyn(_))
    }

    /// The kind that both can be taken for; none if they have nothing in common.
    pub fn join(&self, other: &Self) -> Option<Self> {
        let size = self.size().max(other.size());
        Some(match (self, other) {
            (Kind::Dyn(_), _) | (_, Kind::Dyn(_)) => Kind::Dyn(size),
            (Kind::Text(_), Kind::Text(_)) => Kind::Text(size),
            (Kind::Bytes(_), Kind::Bytes(_)) => Kind::Bytes(size),
            (Kind::List(a, _), Kind::List(b, _)) => Kind::List(Box::new(a.join(b)?), size),
            (Kind::Map(ka, va, _), Kind::Map(kb, vb, _)) => {
                Kind::Map(Box::new(ka.join(kb)?), Box::new(va.join(vb)?), size)
            }
            (Kind::Object(a, ra), Kind::Object(b, rb)) if a.id() == b.id() && ra == rb => self.clone(),
            (Kind::Optional(a), Kind::Optional(b)) => Kind::Optional(Box::new(a.join(b)?)),
            (Kind::Null, nullable) | (nullable, Kind::Null) if nullable.can_be_null() => nullable.clone(),
            (a, b) if std::mem::discriminant(a) == std::mem::discriminant(b) && a.is_simple() => a.clone(),
            _ => return None,
        })
    }

    fn can_be_null(&self) -> bool {
        matches!(
            self,
            Kind::Null | Kind::Object(..) | Kind::Duration | Kind::Time | Kind::Optional(_) | Kind::Quantity
        )
    }

    fn is_simple(&self) -> bool {
        !matches!(self, Kind::List(..) | Kind::Map(..) | Kind::Object(..) | Kind::Optional(_))
    }
}

impl fmt::Display for Kind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Dyn(_) => f.write_str("dyn"),
            Kind::Null => f.write_str("null"),
            Kind::Bool => f.write_str("bool"),
            Kind::Int => f.write_str("int"),
            Kind::Uint => f.write_str("uint"),
            Kind::Double => f.write_str("double"),
            Kind::Text(_) => f.write_str("string"),
            Kind::Bytes(_) => f.write_str("bytes"),
            Kind::Duration => f.write_str("duration"),
            Kind::Time => f.write_str("timestamp"),
            Kind::Type => f.write_str("type"),
            Kind::List(item, _) => write!(f, "list({item})"),
            Kind::Map(key, value, _) => write!(f, "map({key}, {value})"),
            Kind::Object(..) => f.write_str("object"),
            Kind::Optional(inner) => write!(f, "optional_type({inner})"),
            Kind::Quantity => f.write_str("kubernetes.Quantity"),
            Kind::Url => f.write_str("kubernetes.URL"),
            Kind::Ip => f.write_str("net.IP"),
            Kind::Cidr => f.write_str("net.CIDR"),
        }
    }
}

/// Tells the kinds of schemas, and remembers what it had to add up.
#[derive(Default)]
pub struct Kinds {
    smallest: HashMap<(usize, bool), u64>,
}

impl Kinds {
    /// What rules see of a value; none if they do not see it, because its schema says nothing about it.
    pub fn of<'s>(&mut self, schema: Schema<'s>, resource: bool) -> Option<Kind<'s>> {
        let bounds = &schema.bounds;
        Some(match schema.kind {
            Type::IntOrString | Type::Quantity => {
                Kind::Dyn(bounds.max_length.map_or(REQUEST - 2, |max| max.saturating_mul(4)))
            }
            Type::Boolean => Kind::Bool,
            Type::Integer => Kind::Int,
            Type::Number => Kind::Double,
            Type::String => text(schema),
            Type::Array => {
                let items = schema.items()?;
                let item = self.of(items, items.embedded_resource)?;
                let smallest = self.smallest(items, items.embedded_resource);
                let max = bounds.max_items.unwrap_or((REQUEST - 2) / (smallest + 1));
                Kind::List(Box::new(item), max)
            }
            Type::Object => match schema.additional() {
                Some(entry) if !resource => {
                    let value = self.of(entry, entry.embedded_resource)?;
                    let smallest = self.smallest(entry, entry.embedded_resource);
                    let max = bounds.max_properties.unwrap_or((REQUEST - 2) / (smallest + 6));
                    // A key is as long as a request if nothing says otherwise.
                    Kind::Map(Box::new(Kind::Text(REQUEST - 2)), Box::new(value), max)
                }
                _ => Kind::Object(schema, if resource { Role::Resource } else { Role::Plain }),
            },
            Type::Any => return None,
        })
    }

    /// A field of an object by its name in rules.
    pub fn field<'s>(&mut self, schema: Schema<'s>, role: Role, name: &str) -> Option<Kind<'s>> {
        let plain = Kind::Text(REQUEST - 2);
        match (role, name) {
            (Role::Meta, "name" | "generateName") => return Some(plain),
            (Role::Meta, _) => return None,
            (Role::Resource, "apiVersion" | "kind") => return Some(plain),
            (Role::Resource, "metadata") => return Some(Kind::Object(schema, Role::Meta)),
            _ => {}
        }
        let property = schema.property(&escape::unescape(name)?)?;
        self.of(property, property.embedded_resource)
    }

    /// The fewest bytes a value takes in a request.
    pub fn smallest(&mut self, schema: Schema<'_>, resource: bool) -> u64 {
        if let Some(known) = self.smallest.get(&(schema.id(), resource)) {
            return *known;
        }
        let size = match schema.kind {
            Type::Boolean => 4,
            Type::String => match schema.format.as_deref() {
                Some("duration") => 3,
                Some("date") => 12,
                Some("date-time") => 21,
                _ => 2,
            },
            Type::Array => 2,
            Type::Object if schema.additional().is_none() => {
                let required = schema.required.iter().filter_map(|name| Some((name, schema.property(name)?)));
                let required: Vec<_> = required.filter(|(_, property)| property.default.is_none()).collect();
                let sizes = required.into_iter().map(|(name, property)| {
                    name.len() as u64 + self.smallest(property, property.embedded_resource) + 4
                });
                2 + sizes.sum::<u64>()
            }
            Type::Object => 2,
            _ => 1,
        };
        self.smallest.insert((schema.id(), resource), size);
        size
    }
}

fn text<'s>(schema: Schema<'_>) -> Kind<'s> {
    let max = schema.bounds.max_length;
    match schema.format.as_deref() {
        Some("byte") => Kind::Bytes(max.unwrap_or(REQUEST - 2)),
        Some("duration") => Kind::Duration,
        Some("date" | "date-time") => Kind::Time,
        _ => Kind::Text(match max {
            // A character is up to four bytes.
            Some(max) => max.saturating_mul(4).min(REQUEST - 2),
            None if schema.enumeration.is_empty() => REQUEST - 2,
            None => schema
                .enumeration
                .iter()
                .map(|value| value.as_str().map_or(0, str::len) as u64)
                .max()
                .unwrap_or(0),
        }),
    }
}

/// How many values of a schema one request can have, if nothing above bounds their number.
pub fn most_in_a_request(smallest: u64) -> u64 {
    REQUEST / (smallest + 1)
}
