//! Ownership after a write that is not an apply: whoever changed a field owns it, and nobody else does.

use serde_json::{Map, Value};

use super::{
    Writer,
    compare::{Comparison, compare},
    managed::{self, Entry, Managers, Operation},
    metadata_of_the_server,
    reconcile::reconcile,
    set::FieldSet,
    shape::Place,
};
use crate::schema::Schema;

/// Records in `new` who owns what after a create (`old` is none), an update or a patch.
///
/// `reset` are the fields that this write cannot change (`status` on the object itself). A client may send
/// `managedFields` to edit them, or empty ones to have all forgotten; ones that cannot be read are ignored in
/// favour of the live ones. After that nobody is recorded until somebody applies.
pub fn track_update(
    schema: Schema<'_>,
    old: Option<&Value>,
    new: &mut Value,
    writer: &Writer<'_>,
    reset: &[&[&str]],
) {
    let place = Place::root(schema);
    let live = old.map_or(&Value::Null, |old| &old["metadata"]["managedFields"]);
    let sent = managed::take(new);
    // The server never sees an empty list of a custom resource: its metadata are read without such.
    let sent =
        sent.filter(|sent| schema.name.is_some() || sent.as_array().is_none_or(|sent| !sent.is_empty()));
    let (kept, mut managers) = match choose(live, sent, writer.subresource.is_some()) {
        Chosen::Live => (live, None),
        Chosen::Sent(managers) => (&Value::Null, Some(managers)),
    };
    let is_empty = managers.as_ref().map_or(kept.as_array().is_none_or(Vec::is_empty), Managers::is_empty);
    if is_empty && old.is_some() {
        return;
    }
    let Ok(change) = difference(place, old, new, reset) else {
        // Nobody can own what cannot be told apart. The object itself is refused elsewhere.
        return;
    };
    if change.is_empty() && managers.is_none() {
        managed::put(new, Some(kept.clone()).filter(|kept| !kept.is_null()));
        return;
    }
    let mut managers = match managers.take() {
        Some(managers) => managers,
        None => Managers::read(kept).unwrap_or_default(),
    };
    if managers.is_empty() && old.is_some() {
        return;
    }
    reconcile(place, &mut managers);
    record(&mut managers, change, writer);
    managers.fold_old_updates();
    managers.write(new);
}

/// Gives a change to its writer.
pub(super) fn record(managers: &mut Managers, change: Comparison, writer: &Writer<'_>) {
    managers.take(&change.removed);
    managers.take(&change.changed);
    if change.changed.is_empty() {
        return;
    }
    let mut mine = Entry::new(writer, Operation::Update);
    mine.time = Some(writer.time);
    mine.fields = change.changed;
    if let Some(entry) = managers.0.iter_mut().find(|entry| entry.is_same_owner(&mine)) {
        entry.fields = entry.fields.union(&mine.fields);
        entry.time = mine.time;
    } else {
        managers.0.push(mine);
    }
}

/// What a write changed, but for what it cannot change and what belongs to the server.
pub(super) fn difference(
    place: Place<'_>,
    old: Option<&Value>,
    new: &Value,
    reset: &[&[&str]],
) -> Result<Comparison, String> {
    let nothing = Value::Object(Map::new());
    let mut change = compare(place, old.unwrap_or(&nothing), new)?;
    change.exclude(&FieldSet::of_paths(reset));
    let server = metadata_of_the_server();
    change.removed.remove_all(server);
    change.changed.remove_all(server);
    Ok(change)
}

enum Chosen {
    Live,
    Sent(Managers),
}

/// Which entries to go by: those the client sent, if they can be read, or the live ones.
fn choose(live: &Value, sent: Option<Value>, subresource: bool) -> Chosen {
    let sent = match sent {
        Some(sent @ Value::Array(_)) if !subresource && sent != *live => sent,
        _ => return Chosen::Live,
    };
    if is_reset(&sent) {
        return Chosen::Sent(Managers::default());
    }
    match Managers::read(&sent) {
        Ok(managers) if !managers.is_empty() => Chosen::Sent(managers),
        _ => Chosen::Live,
    }
}

/// `[]` or `[{}]`: the client wants all owners forgotten. (Of a custom resource, only by the latter.)
fn is_reset(entries: &Value) -> bool {
    match entries.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([only]) => only.as_object().is_some_and(Map::is_empty),
        _ => false,
    }
}
