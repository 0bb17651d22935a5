//! Lists whose items are told apart: no duplicates, and which old item a new one was.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::{
    super::fault::{Faults, Path},
    OBJECT_META,
    place::Place,
};
use crate::schema::{ListType, Schema};

/// Names the items of sets and maps that occur twice, each of them once. Metadata are not the definition's to judge.
pub fn duplicates(schema: Schema<'_>, value: &Value, place: Place<'_>, faults: &mut Faults) {
    match value {
        _ if schema.name.as_deref() == Some(OBJECT_META) => {}
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(field) = schema.property(name) {
                    duplicates(field, value, Place::Field(&place, name), faults);
                } else if let Some(entry) = schema.additional() {
                    duplicates(entry, value, Place::Key(&place, name), faults);
                }
            }
        }
        Value::Array(items) => {
            duplicates_in(schema, items, place, faults);
            if let Some(schema) = schema.items() {
                for (index, item) in items.iter().enumerate() {
                    duplicates(schema, item, Place::Item(&place, index), faults);
                }
            }
        }
        _ => {}
    }
}

fn duplicates_in(schema: Schema<'_>, items: &[Value], place: Place<'_>, faults: &mut Faults) {
    let identities: Vec<Value> = match &schema.list {
        ListType::Atomic => return,
        ListType::Set => items.to_vec(),
        ListType::Map(keys) => items.iter().map(|item| key_of(keys, item)).collect(),
    };
    let (mut once, mut twice) = (HashSet::new(), HashSet::new());
    for (index, identity) in identities.iter().enumerate() {
        let text = identity.to_string();
        if once.contains(&text) && twice.insert(text.clone()) {
            faults.duplicate(&Path::new(&Place::Item(&place, index).bracketed()), identity);
        }
        once.insert(text);
    }
}

fn key_of(keys: &[String], item: &Value) -> Value {
    let given = keys.iter().filter_map(|key| Some((key.clone(), item.get(key)?.clone())));
    Value::Object(given.collect::<Map<_, _>>())
}

/// The items a list had before, by what tells them apart.
pub struct OldItems<'v> {
    keys: Vec<String>,
    by_key: HashMap<String, &'v Value>,
}

impl<'v> OldItems<'v> {
    /// Of a list that is a map by its schema; the items of others are nobody in particular.
    pub fn new(schema: Schema<'_>, old: Option<&'v Value>) -> Self {
        let (ListType::Map(keys), Some(items)) = (&schema.list, old.and_then(Value::as_array)) else {
            return Self { keys: Vec::new(), by_key: HashMap::new() };
        };
        let by_key = items.iter().map(|item| (key_of(keys, item).to_string(), item)).collect();
        Self { keys: keys.clone(), by_key }
    }

    /// What an item was.
    pub fn of(&self, item: &Value) -> Option<&'v Value> {
        if self.by_key.is_empty() {
            return None;
        }
        self.by_key.get(&key_of(&self.keys, item).to_string()).copied()
    }
}
