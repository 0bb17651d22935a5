//! Ownership after a write to `/scale`, which changes one field of the object behind it.

use serde_json::Value;

use super::{
    Writer,
    managed::{self, Entry, Managers, Operation},
    set::FieldSet,
};

/// Records in `new` who owns the replicas after a write to `/scale` that changed them.
///
/// `replicas` is their path in the object. If nobody owned them before, nobody is recorded. The writer's
/// `subresource` should be `scale` and its version that of the object.
pub fn track_scale(old: &Value, new: &mut Value, replicas: &[&str], writer: &Writer<'_>) {
    let entries = &old["metadata"]["managedFields"];
    let pointer = format!("/{}", replicas.join("/"));
    let changed = old.pointer(&pointer) != new.pointer(&pointer);
    let managers = Managers::read(entries)
        .ok()
        .filter(|managers| changed && managers.0.iter().any(|entry| entry.fields.has(replicas)));
    let Some(mut managers) = managers else {
        managed::put(new, Some(entries.clone()).filter(Value::is_array));
        return;
    };
    let replicas = FieldSet::of_paths(&[replicas]);
    managers.take(&replicas);
    let mut mine = Entry::new(writer, Operation::Update);
    mine.fields = replicas;
    match managers.0.iter_mut().find(|entry| entry.is_same_owner(&mine)) {
        Some(entry) => entry.fields = entry.fields.union(&mine.fields),
        None => managers.0.push(mine),
    }
    managers.write(new);
}
