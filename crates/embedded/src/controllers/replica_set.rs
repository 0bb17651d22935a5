//! Keeps as many pods as a ReplicaSet asks for, and tells in its status how they are.
//!
//! Pods that it selects and nobody looks after become its own; those that it no longer selects are let go. It never
//! changes a pod: it makes pods and deletes them, first those that are missed least.

mod plan;
mod status;

use std::{collections::HashMap, sync::Arc};

use anneal_kit::{CallError, Clock, Event, Key, Next, Objects, Queue, Recorder, reference};
use futures::future::join_all;

use super::{
    Context, Controller,
    claim::{self, Orphans},
    merge_patch,
    records::{Pod, ReplicaSet},
    wake::{self, SETTLE},
};

/// How many pods are made at first at a time. If one fails, the others would most likely too.
const FIRST_BATCH: usize = 4;
const LARGEST_BATCH: usize = 32;
/// How many are made or deleted before another look at the world.
const BURST: usize = 500;

pub fn start(context: &Context) -> impl Future<Output = ()> + Send + use<> {
    let pods: Objects<Pod> = context.objects();
    let replicas = Replicas {
        sets: context.objects(),
        orphans: Orphans::of(pods.cache()),
        pods,
        recorder: context.recorder("replicaset-controller"),
        clock: context.clock.clone(),
    };
    let queue = Queue::default();
    let asked = queue.clone();
    replicas.sets.cache().on_change(move |change| wake::changed(change, &asked));
    wake_by_pod(&replicas, &queue);
    context.run(Controller::ReplicaSet, queue, move |key| {
        let replicas = replicas.clone();
        async move { replicas.reconcile(&key).await }
    })
}

/// Pods come, become ready and go in flocks: their set looks once for many.
fn wake_by_pod(replicas: &Replicas, queue: &Queue<Key>) {
    let (queue, sets) = (queue.clone(), replicas.sets.cache().clone());
    replicas.pods.cache().on_change(move |change| {
        wake::owners(change, "ReplicaSet", &queue);
        if let Some(pod) = change.new.as_ref().filter(|pod| pod.controller().is_none()) {
            for set in sets.in_namespace(pod.metadata.namespace.as_deref().unwrap_or_default()) {
                if set.spec.selector.matches(pod.labels()) {
                    queue.add_after(Key::of(set.as_ref()), SETTLE);
                }
            }
        }
    });
}

#[derive(Clone)]
struct Replicas {
    sets: Objects<ReplicaSet>,
    pods: Objects<Pod>,
    orphans: Orphans<Pod>,
    recorder: Recorder,
    clock: Clock,
}

/// Pods that could not be made or deleted, and why.
struct Failure {
    reason: &'static str,
    error: CallError,
}

impl Replicas {
    async fn reconcile(&self, key: &Key) -> Result<Next, CallError> {
        let Some(set) = self.sets.cache().get(key) else { return Ok(Next::Settled) };
        match self.look_after(key, &set).await {
            // The set, or its namespace, is gone or going.
            Err(error) if error.is_not_found() || error.is_namespace_ending() => Ok(Next::Settled),
            outcome => outcome,
        }
    }

    async fn look_after(&self, key: &Key, set: &ReplicaSet) -> Result<Next, CallError> {
        let mut pods = self.claim(set).await?;
        let failure = match self.resize(set, &pods).await {
            // What was made is about to change: its state is told a moment later, once for all of it.
            Ok(true) => return Ok(Next::After(SETTLE)),
            Ok(false) => None,
            Err(failure) if failure.error.is_namespace_ending() => return Err(failure.error),
            Err(failure) => {
                // Some may have been made or deleted before.
                pods = self.claim(set).await?;
                Some(failure)
            }
        };
        let now = self.clock.now();
        let told = failure.as_ref().map(|failure| (failure.reason, failure.error.message()));
        let status = status::of(set, &pods, told, now);
        if status != set.status {
            let patch = merge_patch::of_status(&set.metadata, &set.status, &status);
            self.sets.merge_status(key, &patch).await?;
        }
        match failure {
            Some(failure) => Err(failure.error),
            None => Ok(status::next(set, &pods, now).map_or(Next::Settled, Next::After)),
        }
    }

    async fn claim(&self, set: &ReplicaSet) -> Result<Vec<Arc<Pod>>, CallError> {
        let owner = (set, &self.sets);
        claim::claim(owner, &set.spec.selector, &self.pods, &self.orphans, Pod::is_active).await
    }

    /// Whether any pods were made or deleted.
    async fn resize(&self, set: &ReplicaSet, pods: &[Arc<Pod>]) -> Result<bool, Failure> {
        if set.is_ending() {
            return Ok(false);
        }
        let active: Vec<_> = pods.iter().filter(|pod| pod.is_active()).cloned().collect();
        let wanted = usize::try_from(set.spec.replicas).unwrap_or_default();
        if active.len() < wanted {
            self.make((wanted - active.len()).min(BURST), set).await?;
        } else if active.len() > wanted {
            let surplus = (active.len() - wanted).min(BURST);
            let neighbours = self.neighbours(set, &active);
            self.delete(plan::victims(active, surplus, &neighbours, self.clock.now()), set).await?;
        }
        Ok(pods.iter().filter(|pod| pod.is_active()).count() != wanted)
    }

    async fn make(&self, mut count: usize, set: &ReplicaSet) -> Result<(), Failure> {
        let namespace = set.metadata.namespace.as_deref().unwrap_or_default();
        let body = plan::pod(set);
        let mut batch = FIRST_BATCH;
        while count > 0 {
            let size = batch.min(count);
            let mut failed = None;
            for made in join_all((0..size).map(|_| self.pods.create(namespace, &body))).await {
                match made {
                    Ok(pod) => self.tell(set, "SuccessfulCreate", format!("Created pod: {}", pod.name())),
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
            if let Some(error) = failed {
                return Err(self.failed(set, "FailedCreate", "creating", error));
            }
            (count, batch) = (count - size, LARGEST_BATCH.min(batch * 2));
        }
        Ok(())
    }

    async fn delete(&self, victims: Vec<Arc<Pod>>, set: &ReplicaSet) -> Result<(), Failure> {
        for batch in victims.chunks(LARGEST_BATCH) {
            let deleting = batch.iter().map(|pod| self.pods.delete(pod, None));
            let mut failed = None;
            for (pod, deleted) in batch.iter().zip(join_all(deleting).await) {
                match deleted {
                    Ok(()) => self.tell(set, "SuccessfulDelete", format!("Deleted pod: {}", pod.name())),
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
            if let Some(error) = failed {
                return Err(self.failed(set, "FailedDelete", "deleting", error));
            }
        }
        Ok(())
    }

    /// How many pods of the same owner's sets are on each node: the crowded ones give up theirs first.
    fn neighbours(&self, set: &ReplicaSet, own: &[Arc<Pod>]) -> HashMap<String, usize> {
        let mut on_node = HashMap::new();
        let mut count = |pod: &Pod| *on_node.entry(pod.spec.node_name.clone()).or_default() += 1;
        own.iter().for_each(|pod| count(pod));
        let siblings = set.controller().map(|owner| self.sets.cache().owned_by(&owner.uid));
        for sibling in siblings.iter().flatten().filter(|sibling| sibling.uid() != set.uid()) {
            let pods = self.pods.cache().owned_by(sibling.uid());
            pods.iter().filter(|pod| pod.is_active()).for_each(|pod| count(pod));
        }
        on_node
    }

    fn tell(&self, set: &ReplicaSet, reason: &'static str, note: String) {
        self.recorder.publish(reference(set), Event::normal(reason, "Scale", note));
    }

    fn failed(
        &self,
        set: &ReplicaSet,
        reason: &'static str,
        doing: &'static str,
        error: CallError,
    ) -> Failure {
        if !error.is_namespace_ending() {
            let note = format!("Error {doing}: {}", error.message());
            self.recorder.publish(reference(set), Event::warning(reason, "Scale", note));
        }
        Failure { reason, error }
    }
}
