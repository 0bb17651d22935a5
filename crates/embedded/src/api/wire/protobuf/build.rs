//! From a message to its value, by the table.
//!
//! A message is read into one slot for each field it can have, then each slot becomes a value, or
//! nothing. Depth and memory are counted as in every other body, and the bytes are gone through once
//! for each level of messages, so that a small body cannot cost much.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Map, Value};

use super::{
    Fault,
    reader::{Reader, Wire},
    special,
    table::{Base, Field, Message, Presence, Shape, Table},
};
use crate::api::{
    error::ApiError,
    wire::{
        MAX_DEPTH,
        decode::{MAP_COST, MAX_COST, decode_nested_json},
    },
};

/// Builds one value.
pub(super) struct Builder<'t> {
    table: &'t Table,
    depth: usize,
    cost: usize,
}

/// What was on the wire for one field.
enum Slot<'a> {
    Unset,
    One(Wire<'a>),
    /// A message in pieces, which count as one when put together.
    Pieces(Vec<u8>),
    Many(Vec<Wire<'a>>),
}

impl<'a> Slot<'a> {
    fn one(&self) -> Option<Wire<'_>> {
        match self {
            Self::One(wire) => Some(*wire),
            Self::Pieces(bytes) => Some(Wire::Bytes(bytes)),
            Self::Unset | Self::Many(_) => None,
        }
    }

    fn many(&self) -> &[Wire<'a>] {
        if let Self::Many(all) = self { all } else { &[] }
    }
}

impl<'t> Builder<'t> {
    pub(super) fn new(table: &'t Table) -> Self {
        Self { table, depth: 0, cost: 0 }
    }

    /// A message as an object.
    pub(super) fn object(&mut self, message: &Message, bytes: &[u8]) -> Result<Map<String, Value>, Fault> {
        self.spend(MAP_COST)?;
        let mut fields = Map::new();
        self.fill(message, bytes, &mut fields)?;
        Ok(fields)
    }

    /// Puts the fields of a message into an object.
    fn fill(&mut self, message: &Message, bytes: &[u8], into: &mut Map<String, Value>) -> Result<(), Fault> {
        self.enter()?;
        let slots = self.read(message, bytes)?;
        for (field, slot) in message.fields.iter().zip(&slots) {
            if field.presence == Presence::Inline {
                let bytes = slot.one().map_or(Ok(&[][..]), |wire| wire.bytes(&field.name))?;
                self.fill(self.message(field.base)?, bytes, into)?;
            } else if let Some(value) = self.field(field, slot)? {
                self.spend(size_of::<String>() + field.name.len())?;
                into.insert((*field.name).to_owned(), value);
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// A message that stands for one of its fields: the list if it has items, else the object, else
    /// the switch.
    fn union(&mut self, message: &Message, bytes: &[u8]) -> Result<Value, Fault> {
        self.enter()?;
        let slots = self.read(message, bytes)?;
        let fields = || message.fields.iter().zip(&slots);
        let list = fields().find(|(_, slot)| !slot.many().is_empty());
        let object = || fields().find(|(field, slot)| field.base != Base::Bool && slot.one().is_some());
        let switch = || fields().find(|(field, _)| field.base == Base::Bool);
        let value = match list.or_else(object).or_else(switch) {
            Some((field, slot)) => self.field(field, slot)?,
            None => None,
        };
        self.depth -= 1;
        Ok(value.unwrap_or_default())
    }

    /// Reads a message into slots, one for each field it can have.
    fn read<'a>(&mut self, message: &Message, bytes: &'a [u8]) -> Result<Vec<Slot<'a>>, Fault> {
        let mut slots: Vec<Slot<'a>> = message.fields.iter().map(|_| Slot::Unset).collect();
        let mut reader = Reader::new(bytes);
        while let Some((number, wire)) = reader.next()? {
            // Like upstream, unknown fields are passed over.
            let Some(place) = message.place(number) else { continue };
            if let (Some(field), Some(slot)) = (message.fields.get(place), slots.get_mut(place)) {
                self.put(field, wire, slot)?;
            }
        }
        Ok(slots)
    }

    fn put<'a>(&mut self, field: &Field, wire: Wire<'a>, slot: &mut Slot<'a>) -> Result<(), Fault> {
        if field.shape == Shape::One {
            check_type(field, wire)?;
            return self.put_one(field, wire, slot);
        }
        if !matches!(slot, Slot::Many(_)) {
            *slot = Slot::Many(Vec::new());
        }
        let Slot::Many(all) = slot else { return Ok(()) };
        match (field.base, wire) {
            // Numbers can come one by one, or many in one field.
            (Base::Bool | Base::Int32 | Base::Int64, Wire::Bytes(packed)) if field.shape == Shape::List => {
                let mut reader = Reader::new(packed);
                while !reader.is_empty() {
                    self.spend(size_of::<Wire<'_>>())?;
                    all.push(Wire::Varint(reader.varint()?));
                }
            }
            _ => {
                if field.shape == Shape::List {
                    check_type(field, wire)?;
                } else {
                    wire.bytes(&field.name)?;
                }
                self.spend(size_of::<Wire<'_>>())?;
                all.push(wire);
            }
        }
        Ok(())
    }

    /// The last one counts; messages are put together.
    fn put_one<'a>(&mut self, field: &Field, wire: Wire<'a>, slot: &mut Slot<'a>) -> Result<(), Fault> {
        let (Base::Message(_) | Base::IntOrString, Wire::Bytes(more)) = (field.base, wire) else {
            *slot = Slot::One(wire);
            return Ok(());
        };
        match slot {
            Slot::One(Wire::Bytes(first)) => {
                self.spend(first.len() + more.len())?;
                *slot = Slot::Pieces([first, more].concat());
            }
            Slot::Pieces(pieces) => {
                self.spend(more.len())?;
                pieces.extend_from_slice(more);
            }
            Slot::Unset | Slot::One(_) | Slot::Many(_) => *slot = Slot::One(wire),
        }
        Ok(())
    }

    /// What a field is in JSON, if it is there.
    fn field(&mut self, field: &Field, slot: &Slot<'_>) -> Result<Option<Value>, Fault> {
        let empty = || (field.presence == Presence::Zero).then_some(Value::Null);
        match field.shape {
            Shape::One => self.one(field, slot),
            Shape::List | Shape::Map if slot.many().is_empty() => Ok(empty()),
            Shape::List => self.list(field, slot.many()).map(Some),
            Shape::Map => self.map(field, slot.many()).map(Some),
        }
    }

    fn one(&mut self, field: &Field, slot: &Slot<'_>) -> Result<Option<Value>, Fault> {
        let wire = match (slot.one(), field.presence) {
            (None, Presence::Pointer) => return Ok(None),
            (None, Presence::Nullable) => return Ok(Some(Value::Null)),
            (None, _) => zero(field.base),
            (Some(wire), _) => wire,
        };
        let value = self.value(field, wire)?;
        Ok((field.presence != Presence::Omit || !is_zero(&value)).then_some(value))
    }

    fn list(&mut self, field: &Field, items: &[Wire<'_>]) -> Result<Value, Fault> {
        self.enter()?;
        let values = items.iter().map(|item| self.value(field, *item)).collect::<Result<_, _>>()?;
        self.depth -= 1;
        Ok(Value::Array(values))
    }

    /// Entries are messages of a key and a value; the last one of a key counts.
    fn map(&mut self, field: &Field, entries: &[Wire<'_>]) -> Result<Value, Fault> {
        self.enter()?;
        self.spend(MAP_COST)?;
        let mut fields = Map::new();
        for entry in entries {
            let (mut key, mut value) = (String::new(), zero(field.base));
            let mut reader = Reader::new(entry.bytes(&field.name)?);
            while let Some((number, wire)) = reader.next()? {
                match number {
                    1 => key = wire.text(&field.name)?,
                    2 => {
                        check_type(field, wire)?;
                        value = wire;
                    }
                    _ => {}
                }
            }
            self.spend(size_of::<String>() + key.len())?;
            let value = self.value(field, value)?;
            fields.insert(key, value);
        }
        self.depth -= 1;
        Ok(Value::Object(fields))
    }

    /// One value of a field's type.
    fn value(&mut self, field: &Field, wire: Wire<'_>) -> Result<Value, Fault> {
        self.spend(size_of::<Value>())?;
        let name = &field.name;
        Ok(match field.base {
            Base::Bool => (wire.varint(name)? != 0).into(),
            Base::Int32 => (wire.varint(name)? as i32).into(),
            Base::Int64 => (wire.varint(name)? as i64).into(),
            Base::Double => special::double(wire.fixed64(name)?)?,
            base => self.value_of_bytes(base, wire.bytes(name)?)?,
        })
    }

    fn value_of_bytes(&mut self, base: Base, bytes: &[u8]) -> Result<Value, Fault> {
        match base {
            Base::Message(_) => {
                let message = self.message(base)?;
                if message.union {
                    self.union(message, bytes)
                } else {
                    self.object(message, bytes).map(Value::Object)
                }
            }
            Base::Strings => self.strings(bytes),
            Base::Json => self.json(special::raw(bytes)?),
            _ => {
                // In base64 and where it replaces what is no UTF-8, text takes more than its bytes.
                self.spend(2 * bytes.len())?;
                match base {
                    Base::Bytes => Ok(BASE64_STANDARD.encode(bytes).into()),
                    Base::IntOrString => special::int_or_string(bytes),
                    Base::MicroTime => special::micro_time(bytes),
                    Base::Quantity => special::quantity(bytes),
                    Base::Time => special::time(bytes),
                    _ => Ok(String::from_utf8_lossy(bytes).into()),
                }
            }
        }
    }

    /// A list in a message of its own, so that it can be the value of a map.
    fn strings(&mut self, bytes: &[u8]) -> Result<Value, Fault> {
        self.enter()?;
        let mut values = Vec::new();
        let mut reader = Reader::new(bytes);
        while let Some((number, wire)) = reader.next()? {
            if number == 1 {
                let text = wire.text("Items")?;
                self.spend(size_of::<Value>() + text.len())?;
                values.push(text.into());
            }
        }
        self.depth -= 1;
        Ok(Value::Array(values))
    }

    fn json(&mut self, text: &[u8]) -> Result<Value, Fault> {
        if text.is_empty() {
            return Ok(Value::Null);
        }
        decode_nested_json(text, self.depth, &mut self.cost).map_err(Fault::Refused)
    }

    fn message(&self, base: Base) -> Result<&'t Message, Fault> {
        let message = if let Base::Message(place) = base { self.table.message(place) } else { None };
        message.ok_or_else(|| Fault::Refused(ApiError::internal("the protobuf table lacks a message")))
    }

    fn enter(&mut self) -> Result<(), Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let words = format!("the body is nested more than {MAX_DEPTH} levels deep");
            return Err(Fault::Refused(ApiError::bad_request(words)));
        }
        Ok(())
    }

    fn spend(&mut self, cost: usize) -> Result<(), Fault> {
        self.cost += cost;
        if self.cost > MAX_COST {
            return Err(Fault::Refused(ApiError::too_large("Request entity too large: too many values")));
        }
        Ok(())
    }
}

/// Refuses a field that is on the wire as another type than its own.
fn check_type(field: &Field, wire: Wire<'_>) -> Result<(), Fault> {
    let fits = match field.base {
        Base::Bool | Base::Int32 | Base::Int64 => matches!(wire, Wire::Varint(_)),
        Base::Double => matches!(wire, Wire::Fixed64(_)),
        _ => matches!(wire, Wire::Bytes(_)),
    };
    if fits { Ok(()) } else { Err(wire.is_wrong_for(&field.name)) }
}

/// What a field is on the wire when it is zero.
fn zero(base: Base) -> Wire<'static> {
    match base {
        Base::Bool | Base::Int32 | Base::Int64 => Wire::Varint(0),
        Base::Double => Wire::Fixed64(0),
        _ => Wire::Bytes(&[]),
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(value) => value.as_f64() == Some(0.0),
        Value::String(value) => value.is_empty(),
        Value::Array(_) | Value::Object(_) => false,
    }
}
