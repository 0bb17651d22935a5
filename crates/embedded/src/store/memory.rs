//! All that readers see: every collection, the one revision, and the order in which things are forgotten.
//!
//! Nothing here waits, and nothing knows of disks. Changes come in as events that are decided (and, in a
//! durable store, synced) already.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use super::{
    Compacted, Event, EventKind, Key, Limits, Page, Range, Record,
    history::{Collection, Past},
};

/// The revision of a store that nothing was ever written to.
pub(super) const FIRST_REVISION: u64 = 1;

pub(super) struct Memory {
    pub revision: u64,
    /// The JSON of all live objects, in bytes.
    pub live_bytes: u64,
    limits: Limits,
    collections: HashMap<Arc<str>, Collection>,
    /// Each collection with a history, by the revision of its oldest change: the first is forgotten first.
    oldest: BTreeMap<u64, Arc<str>>,
    /// What the changes that are kept take.
    history_bytes: usize,
    /// Nothing is known up to here about a collection that has no entry.
    forgotten: u64,
    /// What expires, by the time when it does.
    expiring: BTreeSet<(i64, Key)>,
}

impl Memory {
    /// An empty store at a revision. Watches from an earlier one cannot be served.
    pub fn at(revision: u64, limits: Limits) -> Self {
        Self {
            revision,
            live_bytes: 0,
            limits,
            collections: HashMap::new(),
            oldest: BTreeMap::new(),
            history_bytes: 0,
            forgotten: if revision == FIRST_REVISION { 0 } else { revision },
            expiring: BTreeSet::new(),
        }
    }

    pub fn get(&self, key: &Key) -> Option<&Arc<Record>> {
        self.collections.get(&key.collection)?.live.get(key)
    }

    pub fn collection(&self, name: &str) -> Option<&Collection> {
        self.collections.get(name)
    }

    /// The collection, made if there is none.
    pub fn collection_mut(&mut self, name: &Arc<str>) -> &mut Collection {
        self.begin(name, self.forgotten)
    }

    /// The collection, made if there is none as one whose past up to a revision is not known.
    pub fn begin(&mut self, name: &Arc<str>, compacted: u64) -> &mut Collection {
        self.collections.entry(name.clone()).or_insert_with(|| Collection::new(compacted))
    }

    pub fn last_change(&self, collection: &str) -> u64 {
        self.collections.get(collection).map_or(self.forgotten, |collection| collection.last_change)
    }

    pub fn list(&self, range: &Range, at: Option<u64>) -> Result<Page, Compacted> {
        let revision = at.unwrap_or(self.revision).min(self.revision);
        match self.collections.get(range.collection) {
            Some(collection) => collection.list(range, revision),
            None if revision < self.forgotten => {
                Err(Compacted { requested: revision, oldest: self.forgotten })
            }
            None => Ok(Page { revision, records: Vec::new(), remaining: 0 }),
        }
    }

    /// Takes in an object that was stored before: it is no change.
    pub fn load(&mut self, key: Key, record: Arc<Record>) {
        self.replace(key, Some(record));
    }

    /// Makes changes visible, in the order of their revisions, and forgets what has become too much or too
    /// old.
    pub fn publish(&mut self, events: &[Arc<Event>], now: i64) {
        for event in events {
            let live = (event.kind != EventKind::Deleted).then(|| event.record.clone());
            self.replace(event.key.clone(), live);
            self.revision = event.revision;
            self.remember(Past { event: event.clone(), time: now });
        }
        self.forget(now);
        for run in events.chunk_by(|event, next| event.key.collection == next.key.collection) {
            let Some(last) = run.last() else { continue };
            if let Some(collection) = self.collections.get(&last.key.collection) {
                collection.changed.send_replace(last.revision);
            }
        }
    }

    /// How many bytes and changes the history holds.
    #[cfg(test)]
    pub fn history(&self) -> (usize, usize) {
        (self.history_bytes, self.collections.values().map(Collection::history_len).sum())
    }

    /// Objects that are due, and when the next one is.
    pub fn expired(&self, now: i64, max: usize) -> (Vec<(Key, Arc<Record>)>, Option<i64>) {
        let due: Vec<_> = self.expiring.iter().take_while(|(time, _)| *time <= now).take(max).collect();
        let next = self.expiring.iter().nth(due.len()).map(|(time, _)| *time);
        let found = due.into_iter().filter_map(|(_, key)| Some((key.clone(), self.get(key)?.clone())));
        (found.collect(), next)
    }

    fn replace(&mut self, key: Key, record: Option<Arc<Record>>) {
        let live = &mut self.collection_mut(&key.collection).live;
        let old = match &record {
            Some(record) => live.insert(key.clone(), record.clone()),
            None => live.remove(&key),
        };
        if let Some(old) = old {
            self.live_bytes -= old.json().len() as u64;
            if let Some(time) = old.expires() {
                self.expiring.remove(&(time, key.clone()));
            }
        }
        if let Some(new) = record {
            self.live_bytes += new.json().len() as u64;
            if let Some(time) = new.expires() {
                self.expiring.insert((time, key));
            }
        }
    }

    fn remember(&mut self, past: Past) {
        self.history_bytes += past.cost();
        let (revision, name) = (past.event.revision, past.event.key.collection.clone());
        let most = self.limits.history_events;
        let collection = self.collection_mut(&name);
        let was_empty = collection.oldest().is_none();
        collection.push(past);
        let too_many = collection.history_len() > most;
        if was_empty {
            self.oldest.insert(revision, name.clone());
        }
        if too_many {
            self.forget_oldest(&name);
        }
    }

    fn forget(&mut self, now: i64) {
        let too_old = now.saturating_sub(self.limits.history_age_millis());
        while let Some(name) = self.oldest.values().next().cloned() {
            let oldest = self.collections.get(&name).and_then(Collection::oldest);
            let old = oldest.is_none_or(|past| past.time < too_old);
            if !old && self.history_bytes <= self.limits.history_bytes {
                break;
            }
            self.forget_oldest(&name);
        }
    }

    /// Forgets the oldest change of a collection, and with its last one an empty collection itself.
    fn forget_oldest(&mut self, name: &Arc<str>) {
        let Some(collection) = self.collections.get_mut(name) else { return };
        let Some(past) = collection.pop() else { return };
        self.history_bytes -= past.cost();
        self.oldest.remove(&past.event.revision);
        if let Some(next) = collection.oldest() {
            self.oldest.insert(next.event.revision, name.clone());
        } else if collection.live.is_empty() && collection.changed.receiver_count() == 0 {
            self.forgotten = self.forgotten.max(past.event.revision);
            self.collections.remove(name);
        }
    }
}
