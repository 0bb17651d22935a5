//! Whom a change of an object wakes, and how soon.

use std::{sync::Arc, time::Duration};

use anneal_kit::{Change, Key, Queue, Record};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::claim;

/// How long a controller waits for more of what comes in flocks, such as pods that become ready: one look and one
/// write instead of many, and nobody sees the difference.
pub const SETTLE: Duration = Duration::from_millis(20);

/// Wakes an object that changed: at once if something is asked of it, in a while if it is only its status.
pub fn changed<R: Record>(change: &Change<R>, queue: &Queue<Key>) {
    let Some(object) = &change.new else { return };
    let key = Key::of(object.as_ref());
    if is_asked_anew(change) { queue.add(key) } else { queue.add_after(key, SETTLE) }
}

/// Wakes those of a kind that look, or have looked, after an object that changed.
pub fn owners<R: Record>(change: &Change<R>, kind: &str, queue: &Queue<Key>) {
    for object in change.both() {
        if let Some(owner) = claim::controller(object.meta()).filter(|owner| owner.kind == kind) {
            let namespace = object.meta().namespace.as_deref().unwrap_or_default();
            queue.add_after(Key::new(namespace, owner.name.as_str()), SETTLE);
        }
    }
}

fn is_asked_anew<R: Record>(change: &Change<R>) -> bool {
    fn asked<R: Record>(object: &Arc<R>) -> impl PartialEq {
        let ObjectMeta { uid, generation, deletion_timestamp, .. } = object.meta();
        (uid.clone(), *generation, deletion_timestamp.clone())
    }
    change.old.as_ref().map(asked) != change.new.as_ref().map(asked)
}
