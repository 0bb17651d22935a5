//! `metadata.managedFields`: who owns what, read from an object and written back in order.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{Writer, set::FieldSet};
use crate::api::object::timestamp;

/// How a manager came to own its fields.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Operation {
    Apply,
    Update,
}

/// What one manager owns in one way.
#[derive(Clone, Debug)]
pub struct Entry {
    pub manager: String,
    pub operation: Operation,
    pub api_version: String,
    /// Empty for the object itself.
    pub subresource: String,
    /// When it last changed something; unknown if all it ever did was to agree.
    pub time: Option<Timestamp>,
    pub fields: FieldSet,
}

impl Entry {
    /// A writer's entry, without fields.
    pub fn new(writer: &Writer<'_>, operation: Operation) -> Self {
        Self {
            manager: if writer.manager.is_empty() { "unknown" } else { writer.manager }.to_owned(),
            operation,
            api_version: writer.api_version.to_owned(),
            subresource: writer.subresource.unwrap_or_default().to_owned(),
            time: None,
            fields: FieldSet::default(),
        }
    }

    /// What tells owners apart. An applier is the same in every version.
    fn owner(&self) -> (&str, Operation, &str, &str) {
        let version = if self.operation == Operation::Apply { "" } else { &self.api_version };
        (&self.manager, self.operation, &self.subresource, version)
    }

    /// Whether two entries are of one owner.
    pub fn is_same_owner(&self, other: &Self) -> bool {
        self.owner() == other.owner()
    }

    /// Entries of one operation by time, then by name: the order they are written in.
    fn order(&self) -> impl Ord + '_ {
        let time = self.time.map_or(0, Timestamp::as_second);
        (self.operation, time, self.manager.as_str(), self.api_version.as_str(), self.subresource.as_str())
    }

    fn read(index: usize, entry: &Value) -> Result<Self, String> {
        let text = |field: &str| entry[field].as_str().unwrap_or_default();
        let operation = match text("operation") {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err("operation must be `Apply` or `Update`".to_owned()),
        };
        if text("apiVersion").is_empty() {
            return Err("apiVersion must not be empty".to_owned());
        }
        match text("fieldsType") {
            "FieldsV1" => {}
            "" => return Err(format!("missing fieldsType in managed fields entry {index}")),
            other => return Err(format!("invalid fieldsType {other:?} in managed fields entry {index}")),
        }
        let time = match &entry["time"] {
            Value::Null => None,
            Value::String(time) => {
                Some(time.parse().map_err(|error| format!("invalid time {time:?}: {error}"))?)
            }
            _ => return Err("time must be a string".to_owned()),
        };
        Ok(Self {
            manager: text("manager").to_owned(),
            operation,
            api_version: text("apiVersion").to_owned(),
            subresource: text("subresource").to_owned(),
            time,
            fields: FieldSet::of_fields_v1(&entry["fieldsV1"])?,
        })
    }

    fn write(&self) -> Value {
        let mut entry = json!({
            "operation": match self.operation {
                Operation::Apply => "Apply",
                Operation::Update => "Update",
            },
            "apiVersion": self.api_version,
            "fieldsType": "FieldsV1",
            "fieldsV1": self.fields.to_fields_v1(),
        });
        let time = self.time.map(timestamp).unwrap_or_default();
        for (field, text) in
            [("manager", self.manager.as_str()), ("subresource", &self.subresource), ("time", &time)]
        {
            if !text.is_empty() {
                entry[field] = text.into();
            }
        }
        entry
    }

    /// The owner as messages show it.
    pub fn shown(&self) -> String {
        let mut shown = format!("{:?}", self.manager);
        if !self.subresource.is_empty() {
            shown += &format!(" with subresource {:?}", self.subresource);
        }
        if self.operation == Operation::Update {
            shown += &format!(" using {}", self.api_version);
        }
        shown
    }
}

/// All owners of an object.
#[derive(Clone, Debug, Default)]
pub struct Managers(pub Vec<Entry>);

impl Managers {
    /// Reads `managedFields`.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn read(entries: &Value) -> Result<Self, String> {
        let entries = entries.as_array().into_iter().flatten().enumerate();
        let entries: Vec<_> =
            entries.map(|(index, entry)| Entry::read(index, entry)).collect::<Result<_, _>>()?;
        // Two entries of one owner are one; the later counts.
        let last: BTreeMap<_, _> =
            entries.iter().enumerate().map(|(at, entry)| (entry.owner(), at)).collect();
        let is_last: Vec<_> =
            entries.iter().enumerate().map(|(at, entry)| last[&entry.owner()] == at).collect();
        let kept = entries.into_iter().zip(is_last).filter(|(_, is_last)| *is_last);
        Ok(Self(kept.map(|(entry, _)| entry).collect()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Drops owners of nothing and writes the others into an object.
    pub fn write(mut self, object: &mut Value) {
        self.0.retain(|entry| !entry.fields.is_empty());
        self.0.sort_by(|one, other| one.order().cmp(&other.order()));
        let entries: Vec<_> = self.0.iter().map(Entry::write).collect();
        put(object, (!entries.is_empty()).then_some(Value::Array(entries)));
    }

    /// Takes fields from all owners.
    pub fn take(&mut self, fields: &FieldSet) {
        for entry in &mut self.0 {
            entry.fields.remove_all(fields);
        }
    }

    /// Folds the oldest updates into one entry for each version, until there are few enough.
    pub fn fold_old_updates(&mut self) {
        const MAX_UPDATERS: usize = 10;
        self.0.retain(|entry| !entry.fields.is_empty());
        let mut updaters: Vec<usize> =
            (0..self.0.len()).filter(|&at| self.0[at].operation == Operation::Update).collect();
        if updaters.len() <= MAX_UPDATERS {
            return;
        }
        updaters.sort_by(|&one, &other| self.0[one].order().cmp(&self.0[other].order()));
        let mut surplus = updaters.len() - MAX_UPDATERS;
        // Entries by version, the first of which takes the fields of the others.
        let mut buckets: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for at in updaters {
            if surplus == 0 {
                break;
            }
            let bucket = buckets.entry(self.0[at].api_version.clone()).or_default();
            surplus -= usize::from(!bucket.is_empty());
            bucket.push(at);
        }
        for bucket in buckets.values() {
            let &[first, .., last] = bucket.as_slice() else { continue };
            let fields = FieldSet::union_of(bucket.iter().map(|&at| &self.0[at].fields));
            let time = self.0[last].time;
            for &at in bucket {
                self.0[at].fields = FieldSet::default();
            }
            let entry = &mut self.0[first];
            "ancient-changes".clone_into(&mut entry.manager);
            entry.subresource.clear();
            (entry.fields, entry.time) = (fields, time);
        }
    }
}

/// Sets or removes an object's `managedFields`.
pub fn put(object: &mut Value, entries: Option<Value>) {
    let Some(object) = object.as_object_mut() else { return };
    match entries {
        Some(entries) => {
            let metadata = object.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
            if let Some(metadata) = metadata.as_object_mut() {
                metadata.insert("managedFields".to_owned(), entries);
            }
        }
        None => {
            if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("managedFields");
            }
        }
    }
}

/// Takes an object's `managedFields` out.
pub fn take(object: &mut Value) -> Option<Value> {
    object.get_mut("metadata")?.as_object_mut()?.remove("managedFields")
}
