//! Events: what a person should know of an object's life.
//!
//! They are told in passing: a controller neither waits for them nor fails because of them. The same thing said
//! again within a while counts up the Event that is there, also after a restart: its name is made of what it says.

use std::{
    collections::{HashMap, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    time::Duration,
};

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

/// What waits to be told; more is dropped, and counted in the log.
const MOST_WAITING: usize = 4096;
/// The same thing said within this time is one Event.
const WINDOW: Duration = Duration::from_secs(600);
/// The longest note, in bytes, as the server has it.
const LONGEST_NOTE: usize = 1024;
/// How many Events' counts are remembered.
const MOST_COUNTS: usize = 4096;

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
    told: mpsc::Sender<Told>,
}

impl Recorder {
    /// A recorder, and what writes for it: to be run for ever.
    pub fn new(client: Client, clock: Clock, instance: String) -> (Self, impl Future<Output = ()> + Send) {
        let (told, waiting) = mpsc::channel(MOST_WAITING);
        (Self { controller: "anneal", clock, told }, write_all(client, instance, waiting))
    }

    /// The same in the name of another controller.
    #[must_use]
    pub fn of(&self, controller: &'static str) -> Self {
        Self { controller, ..self.clone() }
    }

    /// Tells what happened.
    pub fn publish(&self, regarding: ObjectReference, event: Event) {
        let told = Told { controller: self.controller, regarding, event, at: self.clock.now() };
        if let Err(error) = self.told.try_send(told) {
            let (controller, reason) = (self.controller, error.to_string());
            tracing::debug!(controller, reason, "An Event was dropped");
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
    let name = name_of(told);
    let count = counts.entry(name.clone()).or_default();
    *count += 1;
    if *count == 1 {
        let event = body_of(told, instance, &name, namespace);
        let made = match serde_json::from_value(event) {
            Ok(event) => api.create(&PostParams::default(), &event).await,
            Err(error) => return Err(kube::Error::SerdeError(error)),
        };
        match made {
            Err(kube::Error::Api(status)) if status.code == 409 => {
                let before = api.get(&name).await?.data["series"]["count"].as_i64();
                *count = before.unwrap_or(1) + 1;
            }
            made => return made.map(drop),
        }
    }
    let series = json!({ "series": { "count": *count, "lastObservedTime": micros(told.at) } });
    match api.patch(&name, &PatchParams::default(), &Patch::Merge(series)).await {
        Err(kube::Error::Api(status)) if status.code == 404 => {
            // It has expired meanwhile: the next one begins anew.
            counts.remove(&name);
            Ok(())
        }
        patched => patched.map(drop),
    }
}

/// Made of what is said and about whom, so that a repeat has the same name.
fn name_of(told: &Told) -> String {
    let Told { controller, regarding, event, at } = told;
    let mut hasher = DefaultHasher::new();
    let window = at.as_second().div_euclid(i64::try_from(WINDOW.as_secs()).unwrap_or(i64::MAX));
    (controller, &regarding.uid, event.reason, event.action, &event.note, window).hash(&mut hasher);
    // The longest name of an object that fits in with the hash.
    let object: String = regarding.name.as_deref().unwrap_or_default().chars().take(230).collect();
    format!("{}.{:016x}", object.trim_end_matches(['.', '-']), hasher.finish())
}

fn body_of(told: &Told, instance: &str, name: &str, namespace: &str) -> Value {
    let Event { severity, reason, action, note, related } = &told.event;
    let end = (0..=note.len().min(LONGEST_NOTE)).rev().find(|end| note.is_char_boundary(*end));
    let mut body = json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": { "name": name, "namespace": namespace },
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
