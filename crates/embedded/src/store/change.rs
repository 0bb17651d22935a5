//! What a change is, what comes of it, and what speaks against it.

use std::sync::Arc;

use super::{Draft, Key, Limits, Record};

/// What the caller of a commit believes to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    Absent,
    Revision(u64),
}

/// What a commit does.
#[derive(Clone, Debug)]
pub enum Change {
    Put(Draft),
    /// Deletes the object. Watches are shown the draft as its last state, at the revision of the delete.
    Delete(Draft),
}

impl Change {
    pub(super) fn draft(&self) -> &Draft {
        match self {
            Self::Put(draft) | Self::Delete(draft) => draft,
        }
    }
}

/// Why a commit did not take place. Nobody has seen anything of it, and the revision is as it was.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    #[error("the object already exists")]
    Exists(Arc<Record>),
    #[error("the object does not exist")]
    Missing,
    #[error("the object has been changed: it is at revision {}", .0.revision())]
    Stale(Arc<Record>),
    #[error("the object takes {size} bytes, and {limit} is the most that is stored")]
    TooLarge { size: usize, limit: usize },
    /// There is no space. It may work later.
    #[error("{0}")]
    Full(String),
    /// The store takes no more writes.
    #[error("{0}")]
    Closed(String),
}

/// The changes after a revision are not known any more: the caller has to list again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("revision {requested} is too old: the oldest one that is known is {oldest}")]
pub struct Compacted {
    pub requested: u64,
    pub oldest: u64,
}

/// A part of a list.
#[derive(Debug)]
pub struct Page {
    /// The revision that is shown.
    pub revision: u64,
    pub records: Vec<(Key, Arc<Record>)>,
    /// How many follow.
    pub remaining: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    Added,
    Modified,
    Deleted,
}

/// A change that has taken place.
#[derive(Clone, Debug)]
pub struct Event {
    pub revision: u64,
    pub kind: EventKind,
    pub key: Key,
    /// The object after the change, or its last state if it was deleted; its revision is the event's.
    pub record: Arc<Record>,
    /// The object before the change.
    pub previous: Option<Arc<Record>>,
}

/// A change that somebody asks for, and where it would stand.
pub(super) struct Proposal<'a> {
    pub key: Key,
    pub expect: Expect,
    pub change: &'a Change,
    /// What is there.
    pub current: Option<Arc<Record>>,
    /// The revision that it would have.
    pub revision: u64,
    /// The time in milliseconds.
    pub now: i64,
    /// The JSON of all live objects, in bytes.
    pub live_bytes: u64,
}

impl Proposal<'_> {
    /// The event that comes of it.
    pub fn decide(self, limits: &Limits) -> Result<Event, CommitError> {
        let previous = match (self.expect, self.current) {
            (Expect::Absent, Some(record)) => return Err(CommitError::Exists(record)),
            (Expect::Revision(_), None) => return Err(CommitError::Missing),
            (Expect::Revision(revision), Some(record)) if record.revision() != revision => {
                return Err(CommitError::Stale(record));
            }
            (_, current) => current,
        };
        let (draft, kind) = match (self.change, &previous) {
            (Change::Delete(_), None) => return Err(CommitError::Missing),
            (Change::Delete(draft), Some(_)) => (draft, EventKind::Deleted),
            (Change::Put(draft), None) => (draft, EventKind::Added),
            (Change::Put(draft), Some(_)) => (draft, EventKind::Modified),
        };
        if kind != EventKind::Deleted {
            let freed = previous.as_ref().map_or(0, |record| record.json().len() as u64);
            let taken = self.live_bytes.saturating_sub(freed);
            check_size(draft.size(), taken, limits)?;
        }
        let record = Arc::new(draft.commit(self.revision, self.now));
        Ok(Event { revision: self.revision, kind, key: self.key, record, previous })
    }
}

fn check_size(size: usize, taken: u64, limits: &Limits) -> Result<(), CommitError> {
    if size > limits.object_bytes {
        return Err(CommitError::TooLarge { size, limit: limits.object_bytes });
    }
    if taken + size as u64 > limits.live_bytes {
        let limit = limits.live_bytes;
        return Err(CommitError::Full(format!("the store holds {taken} of at most {limit} bytes")));
    }
    Ok(())
}
