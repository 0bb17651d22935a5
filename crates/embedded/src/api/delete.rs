//! Deleting: what goes at once, what is given time, and what waits for its finalizers.

use serde_json::{Value, json};

use super::{
    admission,
    builtin::pod,
    error::{ApiError, Result},
    metadata, object,
    options::{DeleteOptions, Propagation},
    resource::Resource,
    write::{Write, Written},
};
use crate::store::{Change, CommitError};

/// What came of a deletion.
pub enum Deleted {
    /// It is gone; this is how it was.
    Gone(Value),
    /// It stays for a while: its grace period or finalizers hold it.
    Remaining(Written),
}

/// As often as others may change an object while it is being deleted.
const MAX_ATTEMPTS: usize = 64;

/// Deletes one object.
pub async fn delete(write: &Write<'_>, name: &str, options: &DeleteOptions) -> Result<Deleted> {
    let resource = write.resource;
    for _ in 0..MAX_ATTEMPTS {
        let Some(record) = write.server.store.get(&write.key(name)) else {
            return Err(ApiError::not_found(resource.about(name)));
        };
        let live = resource.read(&record);
        check_preconditions(resource, name, &live, options)?;
        admission::delete(resource, name)?;
        let new = terminated(write, &live, options);
        if write.dry_run {
            return Ok(if new.is_none() {
                Deleted::Gone(live)
            } else {
                Deleted::Remaining(Written::Dry(live))
            });
        }
        let outcome = match new {
            None => write.commit(name, &record, Change::Delete(write.draft(&live))).await.map(|_| None),
            Some(new) => {
                let draft = write.draft(&new);
                if draft.same_as(&record) {
                    return Ok(Deleted::Remaining(Written::Stored(record)));
                }
                write.commit(name, &record, Change::Put(draft)).await.map(Some)
            }
        };
        match outcome {
            Ok(None) => return Ok(Deleted::Gone(live)),
            Ok(Some(record)) => return Ok(Deleted::Remaining(Written::Stored(record))),
            Err(CommitError::Stale(_) | CommitError::Missing | CommitError::Exists(_)) => {}
            Err(error) => return Err(write.failure(name, error)),
        }
    }
    Err(ApiError::stale(resource.about(name)))
}

/// The object as it waits for its end; `None` if nothing holds it.
fn terminated(write: &Write<'_>, live: &Value, options: &DeleteOptions) -> Option<Value> {
    let (resource, now) = (write.resource, write.server.clock.now());
    let mut new = live.clone();
    let (orphan, foreground) = propagation(resource, live, options);
    metadata::set_propagation(&mut new, orphan, foreground);
    let asked = options.grace_period_seconds;
    let grace = if resource.is_pod() { pod::grace_period(live, asked) } else { 0 };
    if !metadata::is_terminating(live) {
        resource.hold(&mut new);
    }
    let held = resource.is_held(&new);
    let before = live["metadata"]["deletionGracePeriodSeconds"].as_i64();
    match before.filter(|_| metadata::is_terminating(live)) {
        None if grace == 0 && !held => return None,
        None => {
            metadata::terminate(&mut new, grace, now);
            if resource.has_generation() {
                metadata::next_generation(&mut new);
            }
            resource.mark_terminating(&mut new);
        }
        // A grace that is given can only become shorter, and only while it lasts.
        Some(before) if asked.is_some() && grace < before => {
            if grace == 0 && !held {
                return None;
            }
            metadata::terminate(&mut new, grace, now);
        }
        Some(before) if before == 0 && !held => return None,
        Some(_) => {}
    }
    Some(new)
}

/// Whether dependents are orphaned, or go before their owner.
fn propagation(resource: &Resource, live: &Value, options: &DeleteOptions) -> (bool, bool) {
    let has = |finalizer: &str| metadata::finalizers(live).iter().any(|value| value == finalizer);
    match (options.propagation, options.orphan_dependents) {
        (Some(Propagation::Orphan), _) | (None, Some(true)) => (true, false),
        (Some(Propagation::Foreground), _) => (false, true),
        (Some(Propagation::Background), _) | (None, Some(false)) => (false, false),
        _ if has(metadata::ORPHAN) => (true, false),
        _ if has(metadata::FOREGROUND) => (false, true),
        _ => (resource.orphans_by_default(), false),
    }
}

fn check_preconditions(resource: &Resource, name: &str, live: &Value, options: &DeleteOptions) -> Result<()> {
    for (field, wanted, label) in [
        ("uid", &options.preconditions.uid, "UID"),
        ("resourceVersion", &options.preconditions.resource_version, "ResourceVersion"),
    ] {
        let actual = object::meta(live, field);
        if let Some(wanted) = wanted
            && wanted != actual
        {
            let why = format!(
                "Precondition failed: {label} in precondition: {wanted}, {label} in object meta: {actual}"
            );
            return Err(ApiError::conflict(resource.about(name), &why));
        }
    }
    Ok(())
}

/// The answer for most kinds: what was deleted, not the thing itself.
pub fn status(resource: &Resource, object: &Value) -> Value {
    let mut details =
        json!({ "name": object::name(object), "kind": resource.plural, "uid": object["metadata"]["uid"] });
    if !resource.group.is_empty() {
        details["group"] = resource.group.as_str().into();
    }
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details })
}
