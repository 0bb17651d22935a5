//! Events: what a person should know of an object's life.
//!
//! They are told in passing: a controller neither waits for them nor fails because of them. The same thing said
//! again within a while counts up the Event that is there, also after a restart: its name is made of what it says.

use std::{
    collections::{HashMap, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use futures::{FutureExt, future::join_all};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::{
    Api, Client, Resource,
    api::{DynamicObject, Patch, PatchParams, PostParams},
    core::ApiResource,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::clock::Clock;

/// How many are written at a time: a server that syncs each write has time for others meanwhile.
const WRITERS: usize = 8;
/// What waits for a writer; more is dropped, and the log says so.
const MOST_WAITING: usize = 512;
/// The same thing said within this time is one Event.
const WINDOW: Duration = Duration::from_secs(600);
/// The longest note, in bytes, as the server has it.
const LONGEST_NOTE: usize = 1024;
/// How many Events' counts a writer remembers.
const MOST_COUNTS: usize = 512;

/// Whether somebody should look.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Severity {
    /// All is as it should be.
    Normal,
    /// Somebody should look.
    Warning,
}

/// Something that happened to an object.
#[derive(Clone, Debug)]
pub struct Event {
    /// Whether somebody should look.
    pub severity: Severity,
    /// Why: one CamelCase word, of a small set.
    pub reason: &'static str,
    /// What was done: a CamelCase verb.
    pub action: &'static str,
    /// A sentence for a person.
    pub note: String,
    /// Another object that it is about.
    pub related: Option<ObjectReference>,
}

impl Event {
    /// A good one.
    pub fn normal(reason: &'static str, action: &'static str, note: impl Into<String>) -> Self {
        Self { severity: Severity::Normal, reason, action, note: note.into(), related: None }
    }

    /// One that somebody should look at.
    pub fn warning(reason: &'static str, action: &'static str, note: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::normal(reason, action, note) }
    }
}

/// A reference to an object, as Events have it.
pub fn reference<R: Resource<DynamicType = ()>>(object: &R) -> ObjectReference {
    ObjectReference { resource_version: None, ..object.object_ref(&()) }
}

struct Told {
    /// Made of all the rest.
    name: String,
    controller: &'static str,
    regarding: ObjectReference,
    event: Event,
    at: Timestamp,
}

/// Tells Events in the name of a controller.
#[derive(Clone)]
pub struct Recorder {
    controller: &'static str,
    clock: Clock,
    /// One for each writer. Who says the same comes to the same writer, and so in turn.
    writers: Arc<[mpsc::Sender<Told>]>,
}

impl Recorder {
    /// A recorder, and what writes for it: to be run for ever.
    pub fn new(client: Client, clock: Clock, instance: String) -> (Self, impl Future<Output = ()> + Send) {
        let (writers, waiting): (Vec<_>, Vec<_>) = (0..WRITERS).map(|_| mpsc::channel(MOST_WAITING)).unzip();
        let writing =
            waiting.into_iter().map(move |waiting| write_all(client.clone(), instance.clone(), waiting));
        let recorder = Self { controller: "anneal", clock, writers: writers.into() };
        (recorder, join_all(writing).map(drop))
    }

    /// The same in the name of another controller.
    #[must_use]
    pub fn of(&self, controller: &'static str) -> Self {
        Self { controller, ..self.clone() }
    }

    /// Tells what happened.
    pub fn publish(&self, regarding: ObjectReference, event: Event) {
        let (controller, reason, at) = (self.controller, event.reason, self.clock.now());
        let hash = hash_of(controller, &regarding, &event, at);
        let name = name_of(&regarding, hash);
        let told = Told { name, controller, regarding, event, at };
        let writer = usize::try_from(hash % self.writers.len() as u64).unwrap_or_default();
        if self.writers[writer].try_send(told).is_err() {
            tracing::warn!(controller, reason, "Too many Events are waiting, dropping one");
        }
    }
}

async fn write_all(client: Client, instance: String, mut waiting: mpsc::Receiver<Told>) {
    let kind = ApiResource::erase::<k8s_openapi::api::events::v1::Event>(&());
    let mut counts: HashMap<String, i64> = HashMap::new();
    while let Some(told) = waiting.recv().await {
        let namespace = told.regarding.namespace.as_deref().unwrap_or("default");
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind);
        if counts.len() > MOST_COUNTS {
            counts.clear();
        }
        if let Err(error) = write(&api, &told, &instance, namespace, &mut counts).await {
            let (controller, reason) = (told.controller, told.event.reason);
            // A namespace that is ending takes no Events, and is no reason for alarm.
            tracing::debug!(controller, reason, %error, "An Event could not be written");
        }
    }
}

async fn write(
    api: &Api<DynamicObject>,
    told: &Told,
    instance: &str,
    namespace: &str,
    counts: &mut HashMap<String, i64>,
) -> Result<(), kube::Error> {
    let name = &told.name;
    let count = counts.entry(name.clone()).or_default();
    *count += 1;
    if *count == 1 {
        let event = body_of(told, instance, namespace);
        let made = match serde_json::from_value(event) {
            Ok(event) => api.create(&PostParams::default(), &event).await,
            Err(error) => return Err(kube::Error::SerdeError(error)),
        };
        match made {
            Err(kube::Error::Api(status)) if status.code == 409 => {
                let before = api.get(name).await?.data["series"]["count"].as_i64();
                *count = before.unwrap_or(1) + 1;
            }
            made => return made.map(drop),
        }
    }
    let series = json!({ "series": { "count": *count, "lastObservedTime": micros(told.at) } });
    match api.patch(name, &PatchParams::default(), &Patch::Merge(series)).await {
        Err(kube::Error::Api(status)) if status.code == 404 => {
            // It has expired meanwhile: the next one begins anew.
            counts.remove(name);
            Ok(())
        }
        patched => patched.map(drop),
    }
}

/// Of what is said and about whom, so that a repeat has the same.
fn hash_of(controller: &str, regarding: &ObjectReference, event: &Event, at: Timestamp) -> u64 {
    let mut hasher = DefaultHasher::new();
    let window = at.as_second().div_euclid(i64::try_from(WINDOW.as_secs()).unwrap_or(i64::MAX));
    (controller, &regarding.uid, event.reason, event.action, &event.note, window).hash(&mut hasher);
    hasher.finish()
}

fn name_of(regarding: &ObjectReference, hash: u64) -> String {
    // As much of the object's name as fits in with the hash.
    let object: String = regarding.name.as_deref().unwrap_or_default().chars().take(230).collect();
    format!("{}.{hash:016x}", object.trim_end_matches(['.', '-']))
}

fn body_of(told: &Told, instance: &str, namespace: &str) -> Value {
    let Event { severity, reason, action, note, related } = &told.event;
    let end = (0..=note.len().min(LONGEST_NOTE)).rev().find(|end| note.is_char_boundary(*end));
    let mut body = json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": { "name": told.name, "namespace": namespace },
        "eventTime": micros(told.at),
        "reportingController": told.controller,
        "reportingInstance": instance,
        "type": if *severity == Severity::Normal { "Normal" } else { "Warning" },
        "reason": reason,
        "action": action,
        "regarding": told.regarding,
        "note": &note[..end.unwrap_or_default()],
    });
    if let Some(related) = related {
        body["related"] = json!(related);
    }
    body
}

fn micros(at: Timestamp) -> String {
    format!("{at:.6}")
}
