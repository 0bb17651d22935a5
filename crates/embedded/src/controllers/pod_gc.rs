//! Pods that nothing else ever removes: those bound to a node that is no more, those that end and were never bound,
//! and the oldest of too many that have finished.
//!
//! A node that is missing gets time to show itself, and the server is asked before anything is done about its pods.
//! They are marked as failed first: no kubelet is there to do it, and their owners wait for it.

mod plan;

use std::{fmt, time::Duration};

use anneal_kit::{Cache, CallError, Clock, Key, Next, Objects, Queue, light, record};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Context, Controller, MANAGER,
    records::{Node, Pod},
};

/// How long a node may be missing before its pods are given up.
const QUARANTINE: Duration = Duration::from_secs(40);
/// Others that deal with a pod come first.
const PATIENCE: Duration = Duration::from_secs(20);
/// How many finished pods are kept, as upstream does.
const MOST_FINISHED: usize = 12_500;

/// A pod with its conditions word for word: they are written as a whole. It is read when need be, and never watched.
#[derive(Clone, Debug, Deserialize)]
struct Verbatim {
    #[serde(deserialize_with = "light")]
    metadata: ObjectMeta,
    #[serde(default)]
    status: Conditions,
}
record!(Verbatim of k8s_openapi::api::core::v1::Pod);

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Conditions {
    conditions: Vec<Value>,
}

/// What is looked at.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
enum Item {
    /// A node that may be missing.
    Node(String),
    /// A pod that ends and was never bound.
    Unbound(Key),
    /// All that have finished.
    Finished,
}

impl fmt::Display for Item {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(name) => write!(formatter, "pods of node {name}"),
            Self::Unbound(key) => write!(formatter, "pod {key}"),
            Self::Finished => formatter.write_str("finished pods"),
        }
    }
}

pub fn start(context: &Context) -> impl Future<Output = ()> + Send + use<> {
    let collector = Collector {
        pods: context.objects(),
        nodes: context.objects(),
        verbatim: Objects::new(context.client.clone(), (), MANAGER, Cache::default()),
        clock: context.clock.clone(),
    };
    let queue = Queue::default();
    let wake = queue.clone();
    collector.nodes.cache().on_change(move |change| {
        if let Some(node) = change.old.as_ref().filter(|_| change.new.is_none()) {
            wake.add_after(Item::Node(node.metadata.name.clone().unwrap_or_default()), QUARANTINE);
        }
    });
    let (nodes, wake) = (collector.nodes.cache().clone(), queue.clone());
    collector.pods.cache().on_change(move |change| {
        let Some(pod) = &change.new else { return };
        let node = &pod.spec.node_name;
        if !node.is_empty() && nodes.get(&Key::new("", node)).is_none() {
            wake.add_after(Item::Node(node.clone()), QUARANTINE);
        }
        if node.is_empty() && pod.is_ending() {
            wake.add_after(Item::Unbound(Key::of(pod.as_ref())), PATIENCE);
        }
        if pod.is_finished() && change.old.as_ref().is_none_or(|old| !old.is_finished()) {
            wake.add_after(Item::Finished, PATIENCE);
        }
    });
    context.run(Controller::PodGc, queue, move |item| {
        let collector = collector.clone();
        async move {
            match item {
                Item::Node(name) => collector.node(&name).await?,
                Item::Unbound(key) => collector.unbound(&key).await?,
                Item::Finished => collector.finished().await?,
            }
            Ok::<_, CallError>(Next::Settled)
        }
    })
}

#[derive(Clone)]
struct Collector {
    pods: Objects<Pod>,
    nodes: Objects<Node>,
    verbatim: Objects<Verbatim>,
    clock: Clock,
}

impl Collector {
    async fn node(&self, name: &str) -> Result<(), CallError> {
        let key = Key::new("", name);
        if self.nodes.cache().get(&key).is_some() || self.nodes.get(&key).await?.is_some() {
            return Ok(());
        }
        for pod in self.pods.cache().all().iter().filter(|pod| pod.spec.node_name == name) {
            self.give_up(pod, Some("PodGC: node no longer exists")).await?;
        }
        Ok(())
    }

    async fn unbound(&self, key: &Key) -> Result<(), CallError> {
        match self.pods.cache().get(key).filter(|pod| pod.is_ending() && pod.spec.node_name.is_empty()) {
            Some(pod) => self.give_up(&pod, None).await,
            None => Ok(()),
        }
    }

    async fn finished(&self) -> Result<(), CallError> {
        for pod in plan::too_many(self.pods.cache().all(), MOST_FINISHED) {
            self.give_up(&pod, None).await?;
        }
        Ok(())
    }

    /// Marks a pod as failed, unless it has ended, and deletes it at once.
    async fn give_up(&self, pod: &Pod, disruption: Option<&str>) -> Result<(), CallError> {
        if !pod.is_finished() && !self.mark_failed(pod, disruption).await? {
            return Ok(());
        }
        // What ends without delay already waits for finalizers alone.
        if pod.is_ending() && pod.metadata.deletion_grace_period_seconds == Some(0) {
            return Ok(());
        }
        self.pods.delete_at_once(pod).await
    }

    /// Returns whether the pod is still there.
    async fn mark_failed(&self, pod: &Pod, disruption: Option<&str>) -> Result<bool, CallError> {
        let key = Key::of(pod);
        let fresh = self.verbatim.get(&key).await?.filter(|fresh| fresh.metadata.uid == pod.metadata.uid);
        let Some(fresh) = fresh else { return Ok(false) };
        let mut status = json!({ "phase": "Failed" });
        if let Some(message) = disruption {
            let conditions = plan::disrupted(fresh.status.conditions, message, self.clock.now());
            status["conditions"] = conditions.into();
        }
        let Verbatim { metadata, .. } = fresh;
        let version = json!({ "uid": metadata.uid, "resourceVersion": metadata.resource_version });
        let patch = json!({ "metadata": version, "status": status });
        match self.pods.merge_status(&key, &patch).await {
            Err(error) if error.is_not_found() => Ok(false),
            marked => marked.map(|_| true),
        }
    }
}
