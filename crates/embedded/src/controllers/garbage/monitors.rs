//! One watch per kind, for as long as the kind is served.
//!
//! Which kinds there are is read anew whenever a definition changes. A kind that comes is watched; one that goes takes
//! its watch with it.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, PoisonError},
    time::Duration,
};

use anneal_kit::{Cache, Change, Clock, Key};
use futures::{FutureExt, StreamExt, TryStreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::runtime::{WatchStreamExt, watcher};
use tokio::{
    sync::{Notify, watch},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use super::{
    Collector,
    graph::{Node, Uid},
};
use crate::controllers::{
    kinds::{self, Kind, Thing},
    records::Definition,
};

/// A definition's change is told a moment before or after the server acts on it: after this, it has.
const SETTLED: Duration = Duration::from_secs(1);

/// What is watched, and what else an owner may be of.
#[derive(Default)]
pub struct Kinds {
    /// By group and kind, with whether it is watched.
    served: HashMap<(String, String), (Arc<Kind>, bool)>,
    /// Those whose objects are not all known yet, by name.
    unlisted: BTreeSet<String>,
    /// Custom kinds whose definition is gone, and before it the last of their objects.
    ended: HashSet<(String, String)>,
}

/// What a reference is to.
pub enum Referred {
    /// To this kind, in the version that the server prefers, and whether it is watched.
    Served(Arc<Kind>, bool),
    /// To a kind of which there can be nothing.
    Ended,
    /// To a kind that may come.
    Unserved,
}

impl Kinds {
    pub fn of_reference(&self, reference: &OwnerReference) -> Referred {
        let group = reference.api_version.rsplit_once('/').map_or("", |(group, _)| group);
        let kind = (group.to_owned(), reference.kind.clone());
        match self.served.get(&kind) {
            Some((kind, watched)) => Referred::Served(kind.clone(), *watched),
            None if self.ended.contains(&kind) => Referred::Ended,
            None => Referred::Unserved,
        }
    }

    /// Takes note of definitions that come and go.
    pub fn note(&mut self, change: &Change<Definition>) {
        let kind =
            |definition: &Definition| (definition.spec.group.clone(), definition.spec.names.kind.clone());
        match (&change.old, &change.new) {
            (_, Some(there)) => drop(self.ended.remove(&kind(there))),
            (Some(gone), None) => drop(self.ended.insert(kind(gone))),
            (None, None) => {}
        }
    }

    pub fn are_listed(&self) -> bool {
        self.unlisted.is_empty()
    }
}

pub struct Monitors {
    collector: Arc<Collector>,
    definitions: Cache<Definition>,
    clock: Clock,
    listed: Arc<watch::Sender<bool>>,
    running: JoinSet<()>,
    /// By name, each with what ends it.
    watches: HashMap<String, (Arc<Kind>, CancellationToken)>,
    settling: bool,
}

impl Monitors {
    pub fn new(collector: Arc<Collector>, definitions: Cache<Definition>, clock: Clock) -> Self {
        let listed = Arc::new(watch::Sender::new(false));
        let (running, watches) = (JoinSet::new(), HashMap::new());
        Self { collector, definitions, clock, listed, running, watches, settling: true }
    }

    /// Waits until every object of every kind was seen once.
    pub fn listed(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut listed = self.listed.subscribe();
        async move {
            // It fails only when the watches have ended, and with them everything else.
            let _ = listed.wait_for(|listed| *listed).await;
        }
    }

    /// Keeps up with the server, for ever.
    pub async fn keep(mut self, changed: Arc<Notify>) {
        loop {
            let found = kinds::discover(&self.collector.client).await;
            let failed = found.is_err();
            match found {
                Ok(kinds) => self.settle(kinds),
                Err(error) => tracing::warn!(%error, "Discovering kinds failed, trying again"),
            }
            // After a change they are read at once, and again when the server has surely acted on it.
            tokio::select! {
                () = changed.notified() => self.settling = true,
                () = self.clock.sleep(SETTLED), if self.settling => self.settling = failed,
            }
        }
    }

    /// Begins and ends watches, so that those run which should.
    fn settle(&mut self, kinds: Vec<Kind>) {
        let known: HashMap<String, Arc<Kind>> =
            self.watches.iter().map(|(name, (kind, _))| (name.clone(), kind.clone())).collect();
        // A kind that has not changed stays the very same.
        let kinds: Vec<Arc<Kind>> = kinds
            .into_iter()
            .map(|kind| match known.get(&kind.name()) {
                Some(known) if **known == kind => known.clone(),
                _ => Arc::new(kind),
            })
            .collect();
        let wanted: HashMap<String, Arc<Kind>> =
            kinds.iter().filter(|kind| is_watched(kind)).map(|kind| (kind.name(), kind.clone())).collect();
        let begun: Vec<_> = wanted.iter().filter(|(name, kind)| known.get(*name) != Some(kind)).collect();
        let ended: Vec<_> = known.iter().filter(|(name, kind)| wanted.get(*name) != Some(kind)).collect();
        {
            let mut table = self.collector.kinds.write().unwrap_or_else(PoisonError::into_inner);
            let by_kind = |kind: &Arc<Kind>| {
                ((kind.api.group.clone(), kind.api.kind.clone()), (kind.clone(), is_watched(kind)))
            };
            table.served = kinds.iter().map(by_kind).collect();
            for (name, _) in &ended {
                table.unlisted.remove(*name);
            }
            table.unlisted.extend(begun.iter().map(|(name, _)| (*name).clone()));
            // The last that was waited for may be one that went.
            if table.are_listed() {
                self.listed.send_replace(true);
            }
        }
        for (name, kind) in &ended {
            self.end(name, kind, wanted.contains_key(*name));
        }
        for (name, kind) in &begun {
            let end = CancellationToken::new();
            let monitor = Monitor {
                collector: self.collector.clone(),
                kind: (*kind).clone(),
                listed: HashSet::new(),
                all_listed: self.listed.clone(),
                end: end.clone(),
            };
            self.running.spawn(end.clone().run_until_cancelled_owned(monitor.follow()).map(drop));
            self.watches.insert((*name).clone(), ((*kind).clone(), end));
        }
        while self.running.try_join_next().is_some() {}
        // Their owners may be of a kind that came, or of one that went.
        let unresolved = self.collector.graph().unresolved();
        self.collector.wake(unresolved);
    }

    fn end(&mut self, name: &str, kind: &Kind, goes_on: bool) {
        if let Some((_, end)) = self.watches.remove(name) {
            end.cancel();
        }
        if !goes_on {
            // The server lets a definition go after the last of its objects.
            let are_gone = self.definitions.get(&Key::new("", name)).is_none();
            let looks = self.collector.graph().end_kind(kind, are_gone);
            self.collector.wake(looks);
        }
    }
}

/// Whether objects of a kind take part. Events own nothing and are not owned: they go by their age.
fn is_watched(kind: &Kind) -> bool {
    ["delete", "list", "watch"].into_iter().all(|verb| kind.can(verb))
        && !matches!(kind.name().as_str(), "events." | "events.events.k8s.io")
}

/// The watch of one kind.
struct Monitor {
    collector: Arc<Collector>,
    kind: Arc<Kind>,
    /// What a list has brought so far.
    listed: HashSet<Uid>,
    all_listed: Arc<watch::Sender<bool>>,
    end: CancellationToken,
}

impl Monitor {
    async fn follow(mut self) {
        let objects = self.kind.objects(&self.collector.client, "");
        let mut events = watcher(objects, watcher::Config::default()).default_backoff().into_stream().boxed();
        loop {
            match events.try_next().await {
                Ok(Some(event)) => {
                    let done = matches!(event, watcher::Event::InitDone);
                    let looks = self.take_in(event);
                    self.collector.wake(looks);
                    if done {
                        self.note_as_listed();
                    }
                }
                Ok(None) => return,
                // The stream itself waits before it tries again. A kind that has just gone is no reason for alarm.
                Err(error) => {
                    tracing::debug!(kind = self.kind.name(), %error, "Watching failed, trying again")
                }
            }
        }
    }

    fn take_in(&mut self, event: watcher::Event<Thing>) -> Vec<Uid> {
        let mut graph = self.collector.graph();
        // Nobody would ever take out again what is put in after the end.
        if self.end.is_cancelled() {
            return Vec::new();
        }
        let uid = |thing: &Thing| -> Uid { thing.metadata.uid.as_deref().unwrap_or_default().into() };
        match event {
            watcher::Event::Init => {
                self.listed.clear();
                Vec::new()
            }
            watcher::Event::InitApply(thing) => {
                let uid = uid(&thing);
                self.listed.insert(uid.clone());
                graph.put(&uid, Node::of(&self.kind, thing.metadata))
            }
            watcher::Event::InitDone => graph.retain(&self.kind, &std::mem::take(&mut self.listed)),
            watcher::Event::Apply(thing) => graph.put(&uid(&thing), Node::of(&self.kind, thing.metadata)),
            watcher::Event::Delete(thing) => graph.remove(&uid(&thing)),
        }
    }

    fn note_as_listed(&self) {
        let mut kinds = self.collector.kinds.write().unwrap_or_else(PoisonError::into_inner);
        if kinds.unlisted.remove(&self.kind.name()) && kinds.are_listed() {
            self.all_listed.send_replace(true);
        }
    }
}
