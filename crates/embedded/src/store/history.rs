//! One collection: its live objects and the changes that led to them, as far back as they are kept.
//!
//! All watches of a collection share its history; a watch is no more than a place in it.

use std::{
    collections::{BTreeMap, VecDeque},
    iter::Peekable,
    sync::Arc,
};

use tokio::sync::watch;

use super::{Compacted, Event, Key, Page, Range, Record};

pub(super) struct Collection {
    pub live: BTreeMap<Key, Arc<Record>>,
    /// In the order of revisions.
    history: VecDeque<Past>,
    /// Changes up to this revision may be missing from the history.
    compacted: u64,
    /// The revision of the last change.
    pub last_change: u64,
    /// Tells watches of changes.
    pub changed: watch::Sender<u64>,
}

/// A change, and what decides how long it is kept.
pub(super) struct Past {
    pub event: Arc<Event>,
    /// When it was published, in milliseconds of Unix time.
    pub time: i64,
}

impl Past {
    /// What an event takes apart from its records: itself, its place, its counters and part of a key.
    const OVERHEAD: usize = 256;

    /// The memory that may be free once the event is gone. It counts a record that a live object or another
    /// event shares as well: a bound that is kept this way is kept for certain.
    pub fn cost(&self) -> usize {
        let previous = self.event.previous.as_ref().map_or(0, |record| record.json().len());
        Self::OVERHEAD + self.event.record.json().len() + previous
    }
}

impl Collection {
    /// A collection about whose past up to a revision nothing is known.
    pub fn new(compacted: u64) -> Self {
        Self {
            live: BTreeMap::new(),
            history: VecDeque::new(),
            compacted,
            last_change: compacted,
            changed: watch::Sender::new(compacted),
        }
    }

    pub fn push(&mut self, past: Past) {
        self.last_change = past.event.revision;
        self.history.push_back(past);
    }

    /// Forgets the oldest change.
    pub fn pop(&mut self) -> Option<Past> {
        let past = self.history.pop_front()?;
        self.compacted = past.event.revision;
        if self.history.len() < self.history.capacity() / 4 {
            self.history.shrink_to(self.history.capacity() / 2);
        }
        Some(past)
    }

    pub fn oldest(&self) -> Option<&Past> {
        self.history.front()
    }

    pub fn history_len(&self) -> usize {
        self.history.len()
    }

    /// The changes after a revision.
    pub fn since(&self, revision: u64) -> Result<impl Iterator<Item = &Arc<Event>>, Compacted> {
        if revision < self.compacted {
            return Err(Compacted { requested: revision, oldest: self.compacted });
        }
        let first = self.history.partition_point(|past| past.event.revision <= revision);
        Ok(self.history.range(first..).map(|past| &past.event))
    }

    /// The objects of a range as they were at a revision.
    pub fn list(&self, range: &Range, revision: u64) -> Result<Page, Compacted> {
        let start = (range.start(), std::ops::Bound::Unbounded);
        // The state of a key at the revision is what the first change after it replaced.
        let mut undone = BTreeMap::new();
        for event in self.since(revision)? {
            undone.entry(&event.key).or_insert(event.previous.as_ref());
        }
        let live = self.live.range(start.clone());
        let mut records = overlaid(live.peekable(), undone.range(start).peekable())
            .take_while(|(key, _)| range.reaches(key));
        let limit = if range.limit == 0 { usize::MAX } else { range.limit };
        let page = records.by_ref().take(limit).map(|(key, record)| (key.clone(), record.clone()));
        Ok(Page { revision, records: page.collect(), remaining: records.count() })
    }
}

/// What is live, but where something else is said about a key, that: another record or none.
fn overlaid<'a>(
    mut live: Peekable<impl Iterator<Item = (&'a Key, &'a Arc<Record>)>>,
    mut over: Peekable<impl Iterator<Item = (&'a &'a Key, &'a Option<&'a Arc<Record>>)>>,
) -> impl Iterator<Item = (&'a Key, &'a Arc<Record>)> {
    std::iter::from_fn(move || {
        loop {
            let Some((&key, &record)) = over.peek().copied() else { return live.next() };
            if let Some(first) = live.next_if(|(live_key, _)| *live_key < key) {
                return Some(first);
            }
            over.next();
            live.next_if(|(live_key, _)| *live_key == key);
            if let Some(record) = record {
                return Some((key, record));
            }
        }
    })
}
