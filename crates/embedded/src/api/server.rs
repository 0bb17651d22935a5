//! What every handler works with.

use std::sync::Arc;

use anneal_kit::{Clock, Rng};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, watch};

use super::{access::Secrets, access_control::AccessControl, resource::Resources};
use crate::store::Store;

/// The API server's state; shared by all its handlers.
pub struct Server {
    pub store: Store,
    pub resources: Resources,
    pub access: AccessControl,
    pub clock: Clock,
    pub rng: Rng,
    pub limits: Limits,
    /// Whether somebody makes the default service account of each namespace.
    pub service_accounts: bool,
    /// Held while an address is chosen and taken, so that no two Services get the same.
    pub addresses: Arc<Mutex<()>>,
    /// Rises when the set of served resources changes.
    pub resources_changed: watch::Sender<u64>,
    /// What is left of the requests that may be under way at once.
    pub requests: Arc<Semaphore>,
    /// What is left of the watches that may be open at once.
    pub watches: Arc<Semaphore>,
    /// For large bodies on their way in.
    pub uploads: Budget,
    /// For bodies that are being worked on.
    pub work: Budget,
    /// A turn to work on a large body, which may keep a thread busy for a second. One thread is always left for
    /// what is quickly done.
    pub labour: Arc<Semaphore>,
    /// For large bodies on their way out.
    pub downloads: Budget,
}

/// Bytes that may be in use at once.
pub struct Budget {
    /// What is left, in [`Self::UNIT`]s.
    room: Arc<Semaphore>,
    total: u32,
}

impl Budget {
    /// The unit in which bytes are counted.
    const UNIT: usize = 1 << 10;

    pub fn new(bytes: usize) -> Self {
        let total = u32::try_from(bytes / Self::UNIT).unwrap_or(u32::MAX);
        Self { room: Arc::new(Semaphore::new(total as usize)), total }
    }

    /// What is larger than all there is takes all there is: it has its turn alone.
    fn units(&self, bytes: usize) -> u32 {
        u32::try_from(bytes.div_ceil(Self::UNIT)).unwrap_or(u32::MAX).min(self.total)
    }

    /// Waits until there is room for so many bytes. Nobody closes it, so there always will be.
    pub async fn claim(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        self.room.clone().acquire_many_owned(self.units(bytes)).await.ok()
    }

    /// Room for so many bytes, if there is.
    pub fn try_claim(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        self.room.clone().try_acquire_many_owned(self.units(bytes)).ok()
    }
}

/// How much is taken on at once.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The largest body, as upstream has it.
    pub body_bytes: usize,
    /// Requests under way at once: upstream's bounds for reads and writes together.
    pub requests: usize,
    /// Watches open at once. Each costs a task and the buffers of its connection.
    pub watches: usize,
    /// Seconds that a request may take, watches aside.
    pub request_seconds: u64,
    /// Bytes of large bodies that may be on their way at once. Small ones always are: who sends slowly must not keep
    /// everybody else out.
    pub upload_bytes: usize,
    /// Memory for bodies that are being worked on, as far as their size tells.
    pub work_bytes: usize,
    /// Large bodies that may be worked on at the same time.
    pub labours: usize,
    /// Bytes of large answers that may be on their way at once. Small ones always are, as above.
    pub download_bytes: usize,
}

/// Bodies up to this size are taken without counting.
pub const SMALL_BODY: usize = 64 << 10;

/// How much larger than its text a body may become in memory: `[0,0,…]` is two bytes an item as text and 32 as a
/// value, and there is a copy or two on the way.
pub const GROWTH: usize = 32;

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 3 * 1024 * 1024,
            requests: 600,
            watches: 10_000,
            request_seconds: 60,
            upload_bytes: 256 << 20,
            work_bytes: 512 << 20,
            labours: std::thread::available_parallelism().map_or(1, |cores| (cores.get() - 1).max(1)),
            download_bytes: 128 << 20,
        }
    }
}

impl Server {
    pub fn new(store: Store, secrets: &Secrets, clock: Clock, rng: Rng) -> Self {
        let limits = Limits::default();
        Self {
            resources: Resources::builtin(),
            access: AccessControl::new(store.clone(), secrets, clock.clone(), rng.clone()),
            store,
            clock,
            rng,
            limits,
            service_accounts: false,
            addresses: Arc::default(),
            resources_changed: watch::Sender::new(0),
            requests: Arc::new(Semaphore::new(limits.requests)),
            watches: Arc::new(Semaphore::new(limits.watches)),
            uploads: Budget::new(limits.upload_bytes),
            work: Budget::new(limits.work_bytes),
            labour: Arc::new(Semaphore::new(limits.labours)),
            downloads: Budget::new(limits.download_bytes),
        }
    }

    /// Ends every watch. Requests that come later are answered as long as somebody asks.
    pub fn end(&self) {
        self.watches.close();
        self.resources_changed.send_modify(|count| *count += 1);
    }
}
