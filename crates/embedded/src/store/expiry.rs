//! Deletes what has had its time.
//!
//! One task per store, which sleeps until the next object is due. It deletes as anybody else does, with the
//! revision that it saw: an object that was written again in between is left alone.

use std::{
    sync::{Arc, Weak, atomic::Ordering},
    time::Duration,
};

use futures::future::join_all;
use tokio::{runtime::Handle, sync::Notify};

use super::{Change, CommitError, Expect, Inner, Store};

/// How many objects are deleted before others get a turn: they share one sync, and their events fit well
/// into what is kept of a collection.
const AT_ONCE: usize = 500;

/// Deleting waits for at least this long between two rounds that found nothing more to do, so that objects
/// due in a row share one round, and after a round that failed.
const SHORTEST: Duration = Duration::from_secs(1);

/// The wall time may be set while the task sleeps by another: it looks again after this long.
const LONGEST: Duration = Duration::from_secs(60);

impl Store {
    /// Starts the task if it does not run, and else tells it to look again.
    pub(super) fn sweep(&self) {
        let Ok(runtime) = Handle::try_current() else { return };
        if !self.0.swept.swap(true, Ordering::AcqRel) {
            runtime.spawn(sweep(Arc::downgrade(&self.0), self.0.expiring.clone()));
        }
        self.0.expiring.notify_one();
    }
}

async fn sweep(store: Weak<Inner>, wake: Arc<Notify>) {
    loop {
        let Some(inner) = store.upgrade() else { return };
        if inner.closed.load(Ordering::Acquire) {
            return;
        }
        let clock = inner.options.clock.clone();
        let next = round(&Store(inner)).await;
        clock.sleep(SHORTEST).await;
        match next {
            Some(wait) => tokio::select! {
                () = clock.sleep(wait) => {}
                () = wake.notified() => {}
            },
            None => wake.notified().await,
        }
    }
}

/// Deletes what is due and says how long to wait for the next.
async fn round(store: &Store) -> Option<Duration> {
    loop {
        let now = store.0.now();
        let (due, next) = store.0.read().expired(now, AT_ONCE);
        if due.is_empty() {
            let wait = u64::try_from(next?.saturating_sub(now)).unwrap_or(0);
            return Some(Duration::from_millis(wait).min(LONGEST));
        }
        let deletes = due.into_iter().map(|(key, record)| {
            store.commit(key, Expect::Revision(record.revision()), Change::Delete(record.to_draft()))
        });
        let failed = join_all(deletes)
            .await
            .into_iter()
            .any(|deleted| matches!(deleted, Err(CommitError::Full(_) | CommitError::Closed(_))));
        if failed {
            return Some(LONGEST);
        }
        tokio::task::yield_now().await;
    }
}
