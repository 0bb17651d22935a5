//! Disruption budgets: how many of the pods that a budget selects may be evicted now.
//!
//! Ensures that a budget's status tells what its pods and their owners are, so that the server can refuse an
//! eviction by it; a budget that cannot be computed allows none and says why. Touches no pod.
//!
//! The server writes the same status at each eviction: it counts the budget down and notes the pod, which is then
//! taken for gone until it is, or until it is clear that nobody deletes it.

mod expected;
mod plan;

use std::time::Duration;

use anneal_kit::{Cache, CallError, Clock, Event, Key, Next, Objects, Queue, Record, Recorder};
use kube::Resource;
use serde_json::json;

use self::expected::{Owners, Scales};
use super::{
    Context, Controller, merge_patch,
    records::{Deployment, DisruptionBudget, Pod, ReplicaSet, StatefulSet},
};

/// How long until a budget is looked at again that depends on what is not watched, or could not be computed.
const RECHECK: Duration = Duration::from_secs(30);

pub fn start(context: &Context) -> impl Future<Output = ()> + Send + use<> {
    let disruption = Disruption {
        budgets: context.objects(),
        pods: context.objects::<Pod>().cache().clone(),
        scales: Scales {
            client: context.client.clone(),
            deployments: context.objects::<Deployment>().cache().clone(),
            replica_sets: context.objects::<ReplicaSet>().cache().clone(),
            stateful_sets: context.objects::<StatefulSet>().cache().clone(),
        },
        clock: context.clock.clone(),
        recorder: context.recorder("controllermanager"),
    };
    let queue = Queue::default();
    let wake = queue.clone();
    disruption.budgets.cache().on_change(move |change| {
        if let Some(budget) = &change.new {
            wake.add(Key::of(budget.as_ref()));
        }
    });
    let (budgets, wake) = (disruption.budgets.cache().clone(), queue.clone());
    disruption.pods.on_change(move |change| {
        for pod in change.both() {
            let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
            for budget in budgets.in_namespace(namespace) {
                if budget.spec.selector.matches(pod.labels()) {
                    wake.add(Key::of(budget.as_ref()));
                }
            }
        }
    });
    let budgets = disruption.budgets.cache();
    wake_all_beside(&disruption.scales.deployments, |object| object.spec.replicas, budgets, &queue);
    wake_all_beside(&disruption.scales.replica_sets, |object| object.spec.replicas, budgets, &queue);
    wake_all_beside(&disruption.scales.stateful_sets, |object| object.spec.replicas, budgets, &queue);
    context.run(Controller::Disruption, queue, move |key| {
        let disruption = disruption.clone();
        async move { disruption.reconcile(&key).await }
    })
}

/// Looks at all budgets of a namespace when the number of pods changes that somebody there wants.
fn wake_all_beside<R: Record + Resource>(
    objects: &Cache<R>,
    replicas: fn(&R) -> i32,
    budgets: &Cache<DisruptionBudget>,
    queue: &Queue<Key>,
) {
    let (budgets, queue) = (budgets.clone(), queue.clone());
    objects.on_change(move |change| {
        let [old, new] = [&change.old, &change.new].map(|object| object.as_deref().map(replicas));
        let namespace = change.any().and_then(|object| object.meta().namespace.as_deref());
        if let Some(namespace) = namespace.filter(|_| old != new) {
            for budget in budgets.in_namespace(namespace) {
                queue.add(Key::of(budget.as_ref()));
            }
        }
    });
}

#[derive(Clone)]
struct Disruption {
    budgets: Objects<DisruptionBudget>,
    pods: Cache<Pod>,
    scales: Scales,
    clock: Clock,
    recorder: Recorder,
}

impl Disruption {
    async fn reconcile(&self, key: &Key) -> Result<Next, CallError> {
        let Some(budget) = self.budgets.cache().get(key) else { return Ok(Next::Settled) };
        let mut pods = self.pods.in_namespace(&key.namespace);
        pods.retain(|pod| budget.spec.selector.matches(pod.labels()));
        let now = self.clock.now();
        let owners = match plan::needs_owners(&budget.spec) {
            true => self.scales.of(&pods).await,
            false => Ok(Owners::default()),
        };
        let expected = owners.and_then(|owners| plan::expect(&budget.spec, pods.len(), owners));
        let (status, next) = match &expected {
            Ok(expected) => plan::status(&budget, expected, &pods, now),
            Err(why) => (plan::failed(&budget, why, now), Some(RECHECK)),
        };
        if status != budget.status {
            // By the version: an eviction may have been counted meanwhile.
            let patch = json!({
                "metadata": { "uid": budget.metadata.uid, "resourceVersion": budget.metadata.resource_version },
                "status": merge_patch::between(&json!(budget.status), &json!(status)),
            });
            match self.budgets.merge_status(key, &patch).await {
                Err(error) if error.is_not_found() => return Ok(Next::Settled),
                written => drop(written?),
            }
            for event in plan::events(&expected, pods.len()) {
                self.tell(&budget, event);
            }
        }
        let unwatched = expected.is_ok_and(|expected| expected.unwatched).then_some(RECHECK);
        Ok([next, unwatched].into_iter().flatten().min().map_or(Next::Settled, Next::After))
    }

    fn tell(&self, budget: &DisruptionBudget, event: Event) {
        self.recorder.publish(anneal_kit::reference(budget), event);
    }
}
