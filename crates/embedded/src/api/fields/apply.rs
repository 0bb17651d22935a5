//! Server-side apply: a manager says what it wants, and what it no longer says goes, unless others want it.

use std::borrow::Cow;

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::{
    Writer,
    compare::compare,
    last_applied,
    managed::{Entry, Managers, Operation},
    merge::merge,
    metadata_of_the_server,
    named::with_named_fields,
    reconcile::reconcile,
    set::FieldSet,
    shape::Place,
    update::{difference, record},
    walk::{faults, field_set, without},
};
use crate::{
    api::{error::ApiError, object},
    schema::Schema,
};

/// Merges an applied configuration into the live object, if there is one, and records who owns what.
///
/// The result is not defaulted and may hold explicit nulls where the configuration does; both are for the
/// caller, who finds out with [`super::settle`] whether anything has changed.
///
/// # Errors
/// 409 when others own what would change, unless `force` takes it from them; 400 and 422 when the
/// configuration is not one that can be applied.
pub fn apply(
    schema: Schema<'_>,
    live: Option<&Value>,
    applied: &Value,
    force: bool,
    writer: &Writer<'_>,
    reset: &[&[&str]],
) -> Result<Value, ApiError> {
    if applied["metadata"].get("managedFields").is_some_and(|entries| !entries.is_null()) {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    let place = Place::root(schema);
    let faults = faults(place, applied);
    if !faults.is_empty() {
        return Err(not_typed(applied, &faults));
    }
    let bare = live.map_or_else(|| Value::Object(Map::new()), without_managed_fields);
    let mut managers = match live {
        Some(live) => Managers::read(&live["metadata"]["managedFields"]).unwrap_or_default(),
        None => Managers::default(),
    };
    if managers.is_empty() && live.is_some() {
        let before = Writer { manager: "before-first-apply", ..*writer };
        record(&mut managers, difference(place, None, &bare, reset).map_err(unmergeable)?, &before);
    }
    reconcile(place, &mut managers);
    let act = Apply { place, live: &bare, applied, reset: FieldSet::of_paths(reset) };
    let (mut new, mut managers, mine) = act.run(managers, writer, force)?;
    let changed = new != bare;
    if let Some(entry) = managers.0.iter_mut().find(|entry| entry.is_same_owner(&mine)) {
        entry.fields.remove_all(metadata_of_the_server());
        if changed {
            entry.time = Some(writer.time);
        }
    }
    managers.write(&mut new);
    if last_applied::counts_for(writer.manager) {
        last_applied::renew(&mut new, applied);
    }
    Ok(new)
}

/// One apply, once its parts are known to be sound.
struct Apply<'a> {
    place: Place<'a>,
    live: &'a Value,
    applied: &'a Value,
    reset: FieldSet,
}

impl Apply<'_> {
    /// The merged object, its owners, and which of them is the writer.
    fn run(
        &self,
        mut managers: Managers,
        writer: &Writer<'_>,
        force: bool,
    ) -> Result<(Value, Managers, Entry), ApiError> {
        let merged = merge(self.place, self.live, self.applied).map_err(unmergeable)?;
        let mut mine = Entry::new(writer, Operation::Apply);
        mine.fields = field_set(self.place, self.applied).recursive_difference(&self.reset);
        let last = match managers.0.iter().position(|entry| entry.is_same_owner(&mine)) {
            Some(at) => {
                let last = managers.0.swap_remove(at);
                mine.time = last.time;
                last.fields
            }
            None => FieldSet::default(),
        };
        let others = managers.0.iter().map(|entry| &entry.fields);
        let owned = FieldSet::union_of(others.chain([&mine.fields]));
        let (new, emptied) = self.prune(merged, &last, &owned);
        let mut change = compare(self.place, self.live, &new).map_err(unmergeable)?;
        change.removed.remove_all(&emptied);
        change.exclude(&self.reset);
        if !force {
            let mine_already = match last_applied::counts_for(writer.manager) {
                true => last_applied::still_applied(self.place, self.live),
                false => FieldSet::default(),
            };
            refuse_conflicts(&managers, &change.changed.difference(&mine_already))?;
        }
        managers.take(&change.changed);
        managers.take(&change.removed);
        managers.0.push(mine.clone());
        Ok((new, managers, mine))
    }

    /// Removes what the manager applied last time and nobody applies now; tells also what was emptied by it.
    fn prune(&self, merged: Value, last: &FieldSet, owned: &FieldSet) -> (Value, FieldSet) {
        if last.difference(owned).is_empty() {
            return (merged, FieldSet::default());
        }
        let place = self.place;
        let named = |set: &FieldSet| with_named_fields(place, set);
        let left = |gone: &FieldSet| {
            let (left, emptied) = without(place, &merged, gone);
            named(&field_set(place, &left).union(&emptied))
        };
        let (last, owned) = (named(last), named(owned));
        let all = named(&field_set(place, &merged));
        // First without all of it, then with what is owned put back, to see what hangs by what is not.
        let unowned = all.difference(&left(&last).union(&owned));
        // Of what is lost that way only what the manager had applied may go: the rest are defaults and the like.
        let gone = all.difference(&left(&unowned)).intersection(&last);
        without(place, &merged, &gone)
    }
}

/// What others own and an apply would change.
fn refuse_conflicts(managers: &Managers, changed: &FieldSet) -> Result<(), ApiError> {
    let mut conflicts: Vec<(String, Vec<String>)> = managers
        .0
        .iter()
        .map(|entry| (entry.shown(), entry.fields.intersection(changed).shown()))
        .filter(|(_, fields)| !fields.is_empty())
        .collect();
    if conflicts.is_empty() {
        return Ok(());
    }
    conflicts.sort();
    let causes = conflicts.iter().flat_map(|(manager, fields)| {
        fields.iter().map(move |field| {
            json!({
                "reason": "FieldManagerConflict",
                "message": format!("conflict with {manager}"),
                "field": field,
            })
        })
    });
    let causes: Vec<Value> = causes.collect();
    let message = match conflicts.as_slice() {
        [(manager, fields)] if fields.len() == 1 => {
            format!("Apply failed with 1 conflict: conflict with {manager}: {}", fields[0])
        }
        conflicts => {
            let lines = conflicts.iter().flat_map(|(manager, fields)| {
                std::iter::once(format!("conflicts with {manager}:"))
                    .chain(fields.iter().map(|field| format!("- {field}")))
            });
            let lines: Vec<_> = lines.collect();
            format!("Apply failed with {} conflicts: {}", causes.len(), lines.join("\n"))
        }
    };
    let error = ApiError::new(StatusCode::CONFLICT, "Conflict", message);
    Err(ApiError { details: json!({ "causes": causes }), ..error })
}

/// Upstream answers these with a 500; they are the client's fault.
fn not_typed(applied: &Value, faults: &[String]) -> ApiError {
    let text = |field: &str| applied[field].as_str().unwrap_or_default();
    let version = text("apiVersion");
    let version =
        if version.contains('/') { Cow::Borrowed(version) } else { Cow::Owned(format!("/{version}")) };
    let or_unknown = |text: &str| if text.is_empty() { "<unknown>".to_owned() } else { text.to_owned() };
    let faults = match faults {
        [only] => only.clone(),
        faults => format!("errors:\n  {}", faults.join("\n  ")),
    };
    let message = format!(
        "failed to create typed patch object ({}/{}; {version}, Kind={}): {faults}",
        or_unknown(object::namespace(applied)),
        or_unknown(object::name(applied)),
        text("kind"),
    );
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message)
}

fn unmergeable(fault: String) -> ApiError {
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", format!("failed to merge config: {fault}"))
}

/// A copy without what would only be in the way.
fn without_managed_fields(object: &Value) -> Value {
    let Some(fields) = object.as_object() else { return object.clone() };
    let copy = |(name, value): (&String, &Value)| {
        let value = match value.as_object().filter(|_| name == "metadata") {
            Some(metadata) => {
                let kept = metadata.iter().filter(|(name, _)| *name != "managedFields");
                Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
            }
            None => value.clone(),
        };
        (name.clone(), value)
    };
    Value::Object(fields.iter().map(copy).collect())
}
