//! Watching: a stream of what happens to the objects of a kind.
//!
//! A watch is a cursor into the store's history. It is asked for more only when its client has taken what it
//! was given, so a client that reads nothing costs nothing; if it is away for too long it is told that its
//! place in history is gone (410), and lists anew.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::stream;
use serde_json::{Value, json};
use tokio::{
    sync::{OwnedSemaphorePermit, watch},
    time::Instant,
};

use super::{
    answer::Rendering,
    error::{ApiError, Result},
    list::{self, Selection},
    options::ListOptions,
    resource::Resource,
    server::Server,
    wire,
};
use crate::store::{Compacted, Event, EventKind, Range, Record, Watcher};

/// How often a watch that asked for bookmarks is told how far it is.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// How long a watch lasts unless it says: as upstream's, between this and twice this.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(1800);
/// How many events are taken from the history at once.
const BATCH: usize = 128;

/// A watch's stream, and when it ends by itself.
pub struct Frames {
    pub frames: stream::BoxStream<'static, std::io::Result<Bytes>>,
    pub deadline: Instant,
}

struct Watch {
    server: Arc<Server>,
    resource: Arc<Resource>,
    rendering: Rendering,
    selection: Selection,
    bookmarks: bool,
    /// The frames of one event, or what is left of them.
    ready: VecDeque<Bytes>,
    /// Objects to begin with.
    initial: VecDeque<Arc<Record>>,
    /// Events that have come and are not told yet. They are shared by all watches; frames are not, so there is one
    /// at a time.
    events: VecDeque<Arc<Event>>,
    /// The bookmark that ends them, if it was asked for.
    initial_end: Option<u64>,
    watcher: Option<Watcher>,
    changed: watch::Receiver<u64>,
    deadline: Instant,
    next_bookmark: Instant,
    first: bool,
    _permit: OwnedSemaphorePermit,
}

/// Begins a watch of a namespace, or of all of them.
pub async fn watch(
    server: &Arc<Server>,
    resource: &Arc<Resource>,
    namespace: Option<&str>,
    options: &ListOptions,
    rendering: Rendering,
) -> Result<Frames> {
    let Ok(permit) = server.watches.clone().try_acquire_owned() else {
        return Err(ApiError::too_many_requests(
            "too many watches are open, please try again later",
            Some(1),
        ));
    };
    let selection = Selection::new(resource, options)?;
    let now = server.clock.instant();
    let timeout = match options.timeout {
        Some(seconds) if seconds > 0 => Duration::from_secs(seconds),
        _ => server.rng.jitter(DEFAULT_TIMEOUT, 1.0),
    };
    let mut watch = Watch {
        server: server.clone(),
        resource: resource.clone(),
        rendering,
        selection,
        bookmarks: options.bookmarks,
        ready: VecDeque::new(),
        initial: VecDeque::new(),
        events: VecDeque::new(),
        initial_end: None,
        watcher: None,
        changed: server.resources_changed.subscribe(),
        deadline: now + timeout,
        next_bookmark: now + server.rng.jitter(BOOKMARK_EVERY, 0.25),
        first: true,
        _permit: permit,
    };
    if let Err(error) = watch.begin(namespace, options).await {
        watch.fail(&error);
    }
    let deadline = watch.deadline;
    let frames = Box::pin(stream::unfold(watch, |mut watch| async move {
        let frame = watch.next().await?;
        Some((Ok(frame), watch))
    }));
    Ok(Frames { frames, deadline })
}

impl Watch {
    /// Finds the place to begin at.
    async fn begin(&mut self, namespace: Option<&str>, options: &ListOptions) -> Result<()> {
        let from = options.version.unwrap_or_default();
        if options.initial_events.unwrap_or_default() {
            list::wait_for(&self.server, from).await?;
            let range = Range { namespace, ..Range::all(&self.resource.collection) };
            let page = self.server.store.list(&range, None).map_err(|_| expired(from))?;
            self.initial = page.records.into_iter().map(|(_, record)| record).collect();
            let (resource, selection) = (&self.resource, &self.selection);
            self.initial.retain(|record| selection.matches(resource, record));
            self.initial_end = self.bookmarks.then_some(page.revision);
            return self.follow(namespace, page.revision);
        }
        let from = if from == 0 { self.server.store.revision() } else { from };
        self.follow(namespace, from)
    }

    fn follow(&mut self, namespace: Option<&str>, after: u64) -> Result<()> {
        let watcher = self.server.store.watch(&self.resource.collection, namespace, after);
        self.watcher = Some(watcher.map_err(|Compacted { .. }| expired(after))?);
        Ok(())
    }

    /// The next frame; `None` ends the stream.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            if let Some(record) = self.initial.pop_front() {
                self.show("ADDED", &record, None);
                continue;
            }
            if let Some(revision) = self.initial_end.take() {
                self.bookmark(revision, true);
                continue;
            }
            if let Some(event) = self.events.pop_front() {
                self.tell(&event);
                continue;
            }
            // Without a watcher the watch has failed, and has said so.
            let watcher = self.watcher.as_mut()?;
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(self.deadline) => return None,
                changed = self.changed.changed() => {
                    // A kind that is gone or has another schema is not watched on: its clients list anew.
                    if changed.is_err() || self.server.watches.is_closed() || !self.is_still_served() {
                        return None;
                    }
                }
                events = watcher.next(BATCH) => match events {
                    Ok(events) => self.events.extend(events),
                    Err(Compacted { .. }) => {
                        let revision = watcher.revision();
                        self.fail(&expired(revision));
                    }
                },
                () = tokio::time::sleep_until(self.next_bookmark) => {
                    self.next_bookmark = self.server.clock.instant() + BOOKMARK_EVERY;
                    if self.bookmarks {
                        let revision = watcher.revision();
                        self.bookmark(revision, false);
                    }
                }
            }
        }
    }

    fn is_still_served(&self) -> bool {
        let Resource { group, version, plural, .. } = &*self.resource;
        let served = self.server.resources.find(group, version, plural);
        served.is_some_and(|served| Arc::ptr_eq(&served, &self.resource))
    }

    /// Tells of an event as this watch sees it: what enters its selection is added, what leaves it deleted.
    fn tell(&mut self, event: &Event) {
        if self.selection.is_everything() {
            let kind = match event.kind {
                EventKind::Added => "ADDED",
                EventKind::Modified => "MODIFIED",
                EventKind::Deleted => "DELETED",
            };
            return self.show(kind, &event.record, None);
        }
        let matches = |record: &Record| self.selection.matches(&self.resource, record);
        let before = event.previous.as_deref().is_some_and(matches);
        let after = event.kind != EventKind::Deleted && matches(&event.record);
        match (before, after, &event.previous) {
            (false, true, _) => self.show("ADDED", &event.record, None),
            (true, true, _) => self.show("MODIFIED", &event.record, None),
            (true, false, _) if event.kind == EventKind::Deleted => self.show("DELETED", &event.record, None),
            // It goes as it last was in the selection, with the version of the change that took it out.
            (true, false, Some(previous)) => self.show("DELETED", previous, Some(event.revision)),
            _ => {}
        }
    }

    fn show(&mut self, kind: &str, record: &Record, at: Option<u64>) {
        let now = self.server.clock.now();
        let object = self.rendering.watched(&self.resource, record, at, now, self.first);
        self.first = false;
        self.ready.extend(wire::event_frames(kind, object));
    }

    fn bookmark(&mut self, revision: u64, ends_initial: bool) {
        let mut metadata = json!({ "resourceVersion": revision.to_string(), "creationTimestamp": null });
        if ends_initial {
            metadata["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
        }
        let object = self.rendering.bookmark(&self.resource, metadata, self.first);
        self.first = false;
        self.ready.extend(wire::event_frames("BOOKMARK", object.into()));
    }

    /// Says what is wrong, and ends.
    fn fail(&mut self, error: &ApiError) {
        self.watcher = None;
        let status: Value = error.status();
        self.ready.extend(wire::event_frames("ERROR", Bytes::from(status.to_string()).into()));
    }
}

fn expired(revision: u64) -> ApiError {
    ApiError::expired(format!("too old resource version: {revision}"))
}
