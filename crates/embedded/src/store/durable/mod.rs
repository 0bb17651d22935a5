//! The log behind a durable store, and the evidence that it is whole.
//!
//! Two files: `store.redb` holds every live object, each with a checksum, and a summary of them all that is
//! written in the same transaction. `store.head` holds the last summary that was acknowledged. A commit is
//! synced in the first, then in the second, then shown to anybody. So the log may be ahead of the head, when
//! a crash came in between, but never behind it: if it is, something acknowledged is missing, and the store
//! refuses to open. redb alone would not notice: a flipped bit in its header takes it back by a commit.

mod disk;
mod entry;
mod head;
mod log;
mod summary;
mod writer;

use std::path::PathBuf;

#[cfg(test)]
pub(super) use disk::File;
pub(super) use disk::{DataDir, Disk};
pub(super) use log::Log;
pub(super) use writer::Writer;

/// Why a durable store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("failed to open {}: {source}", .path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("failed to start the thread of the store: {0}")]
    Thread(std::io::Error),
    #[error("{} is in use by another process", .0.display())]
    InUse(PathBuf),
    #[error("{} was written by a newer version of this program: its format is {found}, and {known} is known", .path.display())]
    Newer { path: PathBuf, found: u32, known: u32 },
    #[error("{} is damaged, restore it from a backup: {reason}", .path.display())]
    Damaged { path: PathBuf, reason: String },
}

/// Why a batch was not written. It is not visible to anybody.
#[derive(Debug, thiserror::Error)]
pub(super) enum WriteError {
    /// It may work later.
    #[error("{0}")]
    Retryable(String),
    /// What is on the disk is uncertain.
    #[error("{0}")]
    Fatal(String),
}
