//! A place in the history of a collection.
//!
//! A watcher has no queue: it reads the history that all share, from where it has come to. One that nobody
//! reads costs nothing, and when the history has moved past its place it learns that it must list again.

use std::sync::Arc;

use tokio::sync::watch;

use super::{Compacted, Event, Store, memory::Memory};

pub struct Watcher {
    store: Store,
    collection: Box<str>,
    namespace: Option<Box<str>>,
    /// All events up to this revision have been delivered.
    place: u64,
    changed: watch::Receiver<u64>,
}

impl Watcher {
    pub(super) fn new(
        store: Store,
        collection: &str,
        namespace: Option<&str>,
        after: u64,
    ) -> Result<Self, Compacted> {
        let changed = {
            let mut memory = store.0.write();
            let collection = memory.collection_mut(&collection.into());
            drop(collection.since(after)?);
            collection.changed.subscribe()
        };
        Ok(Self {
            store,
            collection: collection.into(),
            namespace: namespace.map(Box::from),
            place: after,
            changed,
        })
    }

    /// Waits for events and returns as many as there are, at most `max` and at least one. Nothing is lost if
    /// the caller stops waiting.
    pub async fn next(&mut self, max: usize) -> Result<Vec<Arc<Event>>, Compacted> {
        loop {
            self.changed.mark_unchanged();
            let events = self.ready(max)?;
            if !events.is_empty() {
                return Ok(events);
            }
            if self.changed.changed().await.is_err() {
                // The sender lives in the store, which this watcher holds.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Events that are there already, perhaps none.
    pub fn ready(&mut self, max: usize) -> Result<Vec<Arc<Event>>, Compacted> {
        let memory = self.store.0.read();
        let mut pending = self.pending(&memory)?;
        let events: Vec<_> = pending.by_ref().take(max.max(1)).cloned().collect();
        let place = match (pending.next(), events.last()) {
            (Some(_), Some(last)) => last.revision,
            _ => self.place.max(memory.revision),
        };
        drop(pending);
        drop(memory);
        self.place = place;
        Ok(events)
    }

    /// Every event of this watch up to this revision has been delivered. It rises with the changes of other
    /// collections too, so that a quiet watch can go on from a recent revision.
    pub fn revision(&self) -> u64 {
        let memory = self.store.0.read();
        match self.pending(&memory).map(|mut pending| pending.next().is_none()) {
            Ok(true) => self.place.max(memory.revision),
            _ => self.place,
        }
    }

    fn pending<'a>(&'a self, memory: &'a Memory) -> Result<impl Iterator<Item = &'a Arc<Event>>, Compacted> {
        let wanted = |event: &&Arc<Event>| {
            self.namespace.as_deref().is_none_or(|namespace| *event.key.namespace == *namespace)
        };
        let events = memory.collection(&self.collection).map(|collection| collection.since(self.place));
        Ok(events.transpose()?.into_iter().flatten().filter(wanted))
    }
}
