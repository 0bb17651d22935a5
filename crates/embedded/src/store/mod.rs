//! Objects and their history: one revision for all, kept in memory and in a log behind it.
//!
//! Live objects are held in memory as the bytes that clients are shown, and with them the changes of the
//! last minutes, which serve watches and lists of an older revision. Every change goes through `commit`,
//! which names what it expects to replace. In a durable store nothing is visible to anybody before it is
//! synced, and what was acknowledged or seen is there after a crash; a store that is damaged refuses to open
//! rather than forget. The history is in memory only: watches from before a restart have to list again.

mod change;
mod durable;
mod expiry;
mod history;
mod key;
mod memory;
mod options;
mod record;
#[cfg(test)]
mod tests;
mod watch;

use std::{
    path::Path,
    sync::{
        Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::Notify;

pub use change::{Change, CommitError, Compacted, Event, EventKind, Expect, Page};
pub use durable::OpenError;
pub use key::{Key, Range};
pub use options::{Limits, Options};
pub use record::{Draft, Record};
pub use watch::Watcher;

use change::Proposal;
use durable::{DataDir, Disk, Log, Writer};
use memory::{FIRST_REVISION, Memory};

/// The store. Clones are the same store.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    options: Options,
    memory: RwLock<Memory>,
    /// The way to the disk, if there is one.
    writer: Option<Writer>,
    closed: AtomicBool,
    /// Why nothing can be written any more, though nobody has closed the store.
    broken: OnceLock<String>,
    /// Whether there is a task that deletes what expires.
    swept: AtomicBool,
    /// Wakes that task: there may be something that expires earlier, or the store is gone.
    expiring: Arc<Notify>,
}

impl Store {
    /// A store in memory alone.
    pub fn ephemeral(options: Options) -> Self {
        let memory = Memory::at(FIRST_REVISION, options.limits.clone());
        Self::new(options, memory, None)
    }

    /// A store in a directory, which is made if there is none. It is to be called in a runtime, but blocks:
    /// it reads all there is.
    pub fn open(data_dir: &Path, options: Options) -> Result<Self, OpenError> {
        Self::open_on(Box::new(DataDir::hold(data_dir)?), options)
    }

    fn open_on(disk: Box<dyn Disk>, options: Options) -> Result<Self, OpenError> {
        let (log, revision, objects) = Log::open(disk)?;
        let mut memory = Memory::at(revision, options.limits.clone());
        for (key, record) in objects {
            memory.load(key, record);
        }
        let (writer, queue) = Writer::new();
        let store = Self::new(options, memory, Some(writer));
        let inner = Arc::downgrade(&store.0);
        std::thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || queue.run(log, inner))
            .map_err(OpenError::Thread)?;
        store.sweep();
        Ok(store)
    }

    fn new(options: Options, memory: Memory, writer: Option<Writer>) -> Self {
        Self(Arc::new(Inner {
            options,
            memory: RwLock::new(memory),
            writer,
            closed: AtomicBool::new(false),
            broken: OnceLock::new(),
            swept: AtomicBool::new(false),
            expiring: Arc::default(),
        }))
    }

    /// The revision of the last visible change. Revisions only rise; that of an empty store is 1.
    pub fn revision(&self) -> u64 {
        self.0.read().revision
    }

    /// The revision of the last visible change in a collection, or a later one: for caches, which are good
    /// as long as it stays.
    pub fn last_change(&self, collection: &str) -> u64 {
        self.0.read().last_change(collection)
    }

    pub fn get(&self, key: &Key) -> Option<Arc<Record>> {
        self.0.read().get(key).cloned()
    }

    /// A page of a collection, as it is or as it was at a revision. One in the future is taken for now: the
    /// page says which revision it shows.
    pub fn list(&self, range: &Range, at: Option<u64>) -> Result<Page, Compacted> {
        self.0.read().list(range, at)
    }

    /// Writes or deletes an object, if it is what the caller expects. Once it has begun it takes place, even
    /// if the caller does not wait for the outcome.
    pub async fn commit(&self, key: Key, expect: Expect, change: Change) -> Result<Arc<Record>, CommitError> {
        if self.0.closed.load(Ordering::Acquire) {
            return Err(CommitError::Closed("the store is closed".to_owned()));
        }
        let now = self.0.now();
        let record = match &self.0.writer {
            Some(writer) => writer.commit(key, expect, change, now).await?,
            None => self.0.commit(key, expect, &change, now)?,
        };
        if record.expires().is_some() {
            self.sweep();
        }
        Ok(record)
    }

    /// The changes of a collection after a revision, as they come.
    pub fn watch(&self, collection: &str, namespace: Option<&str>, after: u64) -> Result<Watcher, Compacted> {
        Watcher::new(self.clone(), collection, namespace, after)
    }

    /// Begins a collection for a kind that is new, unless there is one: nobody can watch from before it.
    pub fn begin(&self, collection: &str) {
        let mut memory = self.0.write();
        let now = memory.revision;
        memory.begin(&collection.into(), now);
    }

    /// Refuses further writes. When it returns, the data directory is free for another process. Reads still
    /// show the last state.
    pub async fn close(&self) {
        self.0.closed.store(true, Ordering::Release);
        self.0.expiring.notify_one();
        if let Some(writer) = &self.0.writer {
            writer.close().await;
        }
    }
}

impl Inner {
    /// Commits in memory alone.
    fn commit(
        &self,
        key: Key,
        expect: Expect,
        change: &Change,
        now: i64,
    ) -> Result<Arc<Record>, CommitError> {
        let mut memory = self.write();
        let proposal = Proposal {
            current: memory.get(&key).cloned(),
            key,
            expect,
            change,
            revision: memory.revision + 1,
            now,
            live_bytes: memory.live_bytes,
        };
        let event = Arc::new(proposal.decide(&self.options.limits)?);
        memory.publish(std::slice::from_ref(&event), now);
        Ok(event.record.clone())
    }

    fn read(&self) -> RwLockReadGuard<'_, Memory> {
        // Nobody calls foreign code while holding the lock, so a panic inside is out of the question.
        self.memory.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Memory> {
        self.memory.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The wall time in milliseconds.
    fn now(&self) -> i64 {
        self.options.clock.now().as_millisecond()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.expiring.notify_one();
    }
}
