//! How large a store may grow, and whose time it goes by.

use std::time::Duration;

use anneal_kit::Clock;

#[derive(Clone, Debug)]
pub struct Options {
    pub clock: Clock,
    pub limits: Limits,
}

/// Bounds of what a store keeps.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The JSON of one object.
    pub object_bytes: usize,
    /// The JSON of all live objects.
    pub live_bytes: u64,
    /// Changes that are kept of one collection, so that a busy one does not push out those of a quiet one.
    pub history_events: usize,
    /// Memory that the changes of all collections take.
    pub history_bytes: usize,
    /// How long a change is kept.
    pub history_age: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { clock: Clock::machine(), limits: Limits::default() }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // What etcd takes in one request, so that what fits upstream fits here.
            object_bytes: 3 << 19,
            // etcd's own default for its whole file.
            live_bytes: 2 << 30,
            // A burst of a few thousand pods, each written three or four times, may pass before a client
            // that is slow to read has to list again.
            history_events: 10_000,
            // With the largest objects still some twenty changes, more than any batch publishes at once.
            history_bytes: 64 << 20,
            // Upstream compacts every 5 minutes what is older than 5 minutes: nobody gets more than 10.
            history_age: Duration::from_secs(600),
        }
    }
}

impl Limits {
    pub(super) fn history_age_millis(&self) -> i64 {
        i64::try_from(self.history_age.as_millis()).unwrap_or(i64::MAX)
    }
}
