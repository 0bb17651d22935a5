//! The table of messages, unpacked on first use.
//!
//! `cargo xtask protobuf` makes the file from the sources of Kubernetes' types and `make test-kube`
//! shows that it is current.

use std::{collections::BTreeMap, io::Read, sync::LazyLock};

use flate2::read::GzDecoder;
use serde::Deserialize;

/// Every message that our kinds are made of.
pub(super) struct Table {
    /// Kinds by apiVersion and name (`apps/v1/Deployment`), to the place of their message.
    kinds: BTreeMap<Box<str>, usize>,
    messages: Vec<Message>,
}

#[derive(Debug)]
pub(super) struct Message {
    /// The value is one of the fields and no object.
    pub(super) union: bool,
    /// In the order of their numbers.
    pub(super) fields: Vec<Field>,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) number: u32,
    /// The name in JSON.
    pub(super) name: Box<str>,
    pub(super) shape: Shape,
    pub(super) base: Base,
    pub(super) presence: Presence,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Shape {
    One,
    List,
    /// From strings.
    Map,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Base {
    Bool,
    Bytes,
    Double,
    Int32,
    Int64,
    String,
    /// Messages whose value is no object.
    IntOrString,
    /// Any JSON, as text.
    Json,
    MicroTime,
    Quantity,
    Strings,
    Time,
    /// The place of the message.
    Message(usize),
}

/// When a field is in the JSON.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "camelCase")]
pub(super) enum Presence {
    /// If it is set.
    Pointer,
    /// Always: null if it is not set.
    Nullable,
    /// If it is not zero.
    Omit,
    /// Always: zero if it is not set.
    Zero,
    /// Its own fields are, in its stead.
    Inline,
    /// It is the value of the whole message.
    Union,
}

impl Table {
    /// The message of a kind; `None` if there is none. Every group has the options of a deletion.
    pub(super) fn kind(&self, api_version: &str, kind: &str) -> Option<&Message> {
        let api_version = if kind == "DeleteOptions" { "meta.k8s.io/v1" } else { api_version };
        self.message(*self.kinds.get(format!("{api_version}/{kind}").as_str())?)
    }

    pub(super) fn message(&self, place: usize) -> Option<&Message> {
        self.messages.get(place)
    }

    #[cfg(test)]
    pub(super) fn kinds(&self) -> impl Iterator<Item = &str> {
        self.kinds.keys().map(|kind| &**kind)
    }
}

impl Message {
    pub(super) fn place(&self, number: u32) -> Option<usize> {
        self.fields.binary_search_by_key(&number, |field| field.number).ok()
    }
}

/// The table.
pub(super) fn table() -> &'static Table {
    static TABLE: LazyLock<Table> = LazyLock::new(|| {
        let mut json = Vec::new();
        GzDecoder::new(&include_bytes!("../../../../schema/protobuf.json.gz")[..])
            .read_to_end(&mut json)
            .expect("the protobuf table must be whole");
        let file: File = serde_json::from_slice(&json).expect("the protobuf table must be JSON");
        file.resolve().expect("the protobuf table must know its types")
    });
    &TABLE
}

/// The table as the file has it.
#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow)]
    kinds: BTreeMap<&'a str, &'a str>,
    #[serde(borrow)]
    messages: BTreeMap<&'a str, Vec<Row<'a>>>,
}

/// A field: number, name, type, presence.
type Row<'a> = (u32, Option<&'a str>, &'a str, Presence);

impl File<'_> {
    /// Puts places where there are names.
    fn resolve(&self) -> Option<Table> {
        let places: BTreeMap<&str, usize> = self.messages.keys().copied().zip(0..).collect();
        let kinds = self.kinds.iter().map(|(kind, message)| Some(((*kind).into(), *places.get(message)?)));
        let field = |row: &Row<'_>| {
            let (number, name, declared, presence) = *row;
            let (shape, base) = match (declared.strip_prefix("[]"), declared.strip_prefix("{}")) {
                (Some(base), _) => (Shape::List, base),
                (_, Some(base)) => (Shape::Map, base),
                _ => (Shape::One, declared),
            };
            let base = named_base(base).or_else(|| places.get(base).copied().map(Base::Message))?;
            Some(Field { number, name: name.unwrap_or_default().into(), shape, base, presence })
        };
        let messages = self.messages.values().map(|rows| {
            let fields = rows.iter().map(field).collect::<Option<Vec<_>>>()?;
            let union = fields.iter().any(|field| field.presence == Presence::Union);
            Some(Message { union, fields })
        });
        Some(Table { kinds: kinds.collect::<Option<_>>()?, messages: messages.collect::<Option<_>>()? })
    }
}

fn named_base(name: &str) -> Option<Base> {
    Some(match name {
        "bool" => Base::Bool,
        "bytes" => Base::Bytes,
        "double" => Base::Double,
        "int32" => Base::Int32,
        "int64" => Base::Int64,
        "intOrString" => Base::IntOrString,
        "json" => Base::Json,
        "microTime" => Base::MicroTime,
        "quantity" => Base::Quantity,
        "string" => Base::String,
        "strings" => Base::Strings,
        "time" => Base::Time,
        _ => return None,
    })
}
