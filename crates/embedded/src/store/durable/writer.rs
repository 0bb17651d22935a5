//! Group commit: one thread takes what has queued up, writes it with one sync and then shows all of it.
//!
//! Requests are decided one after another, each against what the ones before it in the batch will leave. All
//! answers wait for the sync, refusals too: they may tell of an object that is not stored yet.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use tokio::sync::{mpsc, oneshot};

use super::{
    super::{Change, CommitError, Event, EventKind, Expect, Inner, Key, Proposal, Record},
    Log, WriteError,
};

/// Requests of one batch, so that the first does not wait for long on what came after it.
const BATCH_REQUESTS: usize = 256;
/// Their bytes: well below the history's bound, or a batch would push its own events out of it.
const BATCH_BYTES: usize = 8 << 20;
/// Requests that wait for a batch; more wait outside, which is how a slow disk slows its clients down.
const QUEUE: usize = 2 * BATCH_REQUESTS;

type Answer = Result<Arc<Record>, CommitError>;

struct Request {
    key: Key,
    expect: Expect,
    change: Change,
    /// The time in milliseconds.
    now: i64,
    answer: oneshot::Sender<Answer>,
}

enum Message {
    Commit(Request),
    Close(oneshot::Sender<()>),
}

/// The way to the thread. The thread ends when it is dropped.
pub struct Writer(mpsc::Sender<Message>);

impl Writer {
    /// The way, and what `run` takes.
    pub fn new() -> (Self, Queue) {
        let (sender, receiver) = mpsc::channel(QUEUE);
        (Self(sender), Queue(receiver))
    }

    /// Has a change written, and waits for what comes of it.
    pub async fn commit(&self, key: Key, expect: Expect, change: Change, now: i64) -> Answer {
        let (answer, answered) = oneshot::channel();
        let stopped = || CommitError::Closed("the store takes no more writes".to_owned());
        let request = Message::Commit(Request { key, expect, change, now, answer });
        self.0.send(request).await.map_err(|_| stopped())?;
        answered.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// Waits until all that was asked for is written and the files are closed.
    pub async fn close(&self) {
        let (done, closed) = oneshot::channel();
        if self.0.send(Message::Close(done)).await.is_ok() {
            // An error says that the thread is gone, and with it the files.
            let _ = closed.await;
        }
    }
}

pub struct Queue(mpsc::Receiver<Message>);

impl Queue {
    /// Serves requests until the store is closed or gone.
    pub fn run(mut self, mut log: Log, store: Weak<Inner>) {
        while let Some(message) = self.0.blocking_recv() {
            let (requests, close) = self.batch(message);
            if let Some(store) = store.upgrade() {
                commit(&store, &mut log, requests);
            }
            if let Some(done) = close {
                drop(log);
                // Whoever still has a request on its way learns it from its answer's end.
                drop(self);
                let _ = done.send(());
                return;
            }
        }
    }

    /// A message and those that wait behind it, up to one that closes.
    fn batch(&mut self, first: Message) -> (Vec<Request>, Option<oneshot::Sender<()>>) {
        let (mut requests, mut bytes) = (Vec::new(), 0);
        let mut next = Some(first);
        loop {
            match next {
                Some(Message::Commit(request)) => {
                    bytes += request.change.draft().size();
                    requests.push(request);
                }
                Some(Message::Close(done)) => return (requests, Some(done)),
                None => return (requests, None),
            }
            let room = requests.len() < BATCH_REQUESTS && bytes < BATCH_BYTES;
            next = if room { self.0.try_recv().ok() } else { None };
        }
    }
}

fn commit(store: &Inner, log: &mut Log, requests: Vec<Request>) {
    let now = requests.iter().map(|request| request.now).max().unwrap_or(i64::MIN);
    let mut batch = Batch::new(store, log.attempted());
    let answers: Vec<_> = requests.into_iter().map(|request| batch.decide(request)).collect();
    let events = batch.events;
    let written = match store.broken.get() {
        Some(reason) => Err(WriteError::Fatal(reason.clone())),
        None if events.is_empty() => Ok(()),
        None => log.append(&events),
    };
    match written {
        Ok(()) => {
            store.write().publish(&events, now);
            for (to, answer) in answers {
                // A caller that has gone away does not want to know.
                let _ = to.send(answer);
            }
        }
        Err(error) => {
            if let WriteError::Fatal(reason) = &error
                && store.broken.set(reason.clone()).is_ok()
            {
                tracing::error!(%reason, "Refusing all further writes");
            }
            for (to, _) in answers {
                let _ = to.send(Err(match &error {
                    WriteError::Retryable(reason) => CommitError::Full(reason.clone()),
                    WriteError::Fatal(reason) => CommitError::Closed(reason.clone()),
                }));
            }
        }
    }
}

/// Changes that are decided, but that nobody sees yet.
struct Batch<'a> {
    store: &'a Inner,
    events: Vec<Arc<Event>>,
    /// What is live after them, where they changed it.
    after: HashMap<Key, Option<Arc<Record>>>,
    revision: u64,
    live_bytes: u64,
}

impl<'a> Batch<'a> {
    fn new(store: &'a Inner, revision: u64) -> Self {
        let live_bytes = store.read().live_bytes;
        Self { store, events: Vec::new(), after: HashMap::new(), revision, live_bytes }
    }

    fn decide(&mut self, request: Request) -> (oneshot::Sender<Answer>, Answer) {
        let current = match self.after.get(&request.key) {
            Some(changed) => changed.clone(),
            None => self.store.read().get(&request.key).cloned(),
        };
        let proposal = Proposal {
            key: request.key,
            expect: request.expect,
            change: &request.change,
            current,
            revision: self.revision + 1,
            now: request.now,
            live_bytes: self.live_bytes,
        };
        let answer = proposal.decide(&self.store.options.limits).map(|event| self.take(event));
        (request.answer, answer)
    }

    fn take(&mut self, event: Event) -> Arc<Record> {
        let size = |record: &Arc<Record>| record.json().len() as u64;
        let live = (event.kind != EventKind::Deleted).then(|| event.record.clone());
        self.live_bytes -= event.previous.as_ref().map_or(0, size);
        self.live_bytes += live.as_ref().map_or(0, size);
        self.revision = event.revision;
        self.after.insert(event.key.clone(), live);
        let record = event.record.clone();
        self.events.push(Arc::new(event));
        record
    }
}
