//! Rolls the pods of a Deployment from one template to the next, through ReplicaSets: one for each template, of which
//! it sets the sizes. It never touches a pod.
//!
//! One look either changes ReplicaSets or writes the status: what changed is about to change more, and its state is
//! told a moment later.

mod plan;
mod revision;
mod rolling;
mod scaling;
mod status;
mod template;

use std::{collections::BTreeMap, sync::Arc};

use anneal_kit::{CallError, Clock, Event, Key, Next, Objects, Queue, Recorder, reference};
use k8s_openapi::api::apps::v1::DeploymentStatus;
use serde_json::{Value, json};

use super::{
    Context, Controller,
    claim::{self, Orphans},
    merge_patch,
    records::{Deployment, Pod, ReplicaSet},
    wake::{self, SETTLE},
};
use plan::{Change, Rollout, Step};

pub fn start(context: &Context) -> impl Future<Output = ()> + Send + use<> {
    let sets: Objects<ReplicaSet> = context.objects();
    let deployments = Deployments {
        deployments: context.objects(),
        orphans: Orphans::of(sets.cache()),
        sets,
        pods: context.objects(),
        recorder: context.recorder("deployment-controller"),
        clock: context.clock.clone(),
    };
    let queue = Queue::default();
    let asked = queue.clone();
    deployments.deployments.cache().on_change(move |change| wake::changed(change, &asked));
    wake_by_set(&deployments, &queue);
    context.run(Controller::Deployment, queue, move |key| {
        let deployments = deployments.clone();
        async move { deployments.reconcile(&key).await }
    })
}

/// A set's status tells of its pods, too: also when the last old one is gone.
fn wake_by_set(deployments: &Deployments, queue: &Queue<Key>) {
    let (queue, cache) = (queue.clone(), deployments.deployments.cache().clone());
    deployments.sets.cache().on_change(move |change| {
        wake::owners(change, "Deployment", &queue);
        if let Some(set) = change.new.as_ref().filter(|set| set.controller().is_none()) {
            let labels = set.metadata.labels.clone().unwrap_or_default();
            for deployment in cache.in_namespace(set.metadata.namespace.as_deref().unwrap_or_default()) {
                if deployment.selector().matches(&labels) {
                    queue.add_after(Key::of(deployment.as_ref()), SETTLE);
                }
            }
        }
    });
}

#[derive(Clone)]
struct Deployments {
    deployments: Objects<Deployment>,
    sets: Objects<ReplicaSet>,
    orphans: Orphans<ReplicaSet>,
    pods: Objects<Pod>,
    recorder: Recorder,
    clock: Clock,
}

impl Deployments {
    async fn reconcile(&self, key: &Key) -> Result<Next, CallError> {
        let Some(deployment) = self.deployments.cache().get(key) else { return Ok(Next::Settled) };
        match self.look_after(key, &deployment).await {
            // The Deployment, or its namespace, is gone or going.
            Err(error) if error.is_not_found() || error.is_namespace_ending() => Ok(Next::Settled),
            outcome => outcome,
        }
    }

    async fn look_after(&self, key: &Key, deployment: &Deployment) -> Result<Next, CallError> {
        let sets = self.claim(deployment).await?;
        let rollout = Rollout::of(deployment, &sets);
        let steps = match deployment.is_ending() {
            true => Vec::new(),
            false => plan::steps(&rollout, |set| self.has_pods(set)),
        };
        if !steps.is_empty() {
            for step in steps {
                self.take(deployment, step).await?;
            }
            return Ok(Next::After(SETTLE));
        }
        let now = self.clock.now();
        if let Some(wait) = status::premature(&rollout, now) {
            return Ok(Next::After(wait));
        }
        let status = status::of(&rollout, now);
        self.write_status(key, deployment, &status, status::revision(&rollout)).await?;
        if !deployment.is_ending() && (deployment.spec.paused || status::is_complete(deployment, &status)) {
            for set in plan::surplus(&rollout) {
                self.sets.delete(set, None).await?;
            }
        }
        Ok(status::due(deployment, &status, now).map_or(Next::Settled, Next::After))
    }

    async fn claim(&self, deployment: &Deployment) -> Result<Vec<Arc<ReplicaSet>>, CallError> {
        let owner = (deployment, &self.deployments);
        let claimable = |set: &ReplicaSet| !set.is_ending();
        claim::claim(owner, &deployment.selector(), &self.sets, &self.orphans, claimable).await
    }

    /// Whether pods of a set are there that may still run.
    fn has_pods(&self, set: &ReplicaSet) -> bool {
        let pods = self.pods.cache().owned_by(set.uid());
        pods.iter().any(|pod| !pod.is_finished())
    }

    async fn take(&self, deployment: &Deployment, step: Step<'_>) -> Result<(), CallError> {
        match step {
            Step::Make { replicas, annotations } => self.make(deployment, replicas, &annotations).await,
            Step::Change(change) => self.change(deployment, change).await,
        }
    }

    async fn make(
        &self,
        deployment: &Deployment,
        replicas: i32,
        annotations: &BTreeMap<String, String>,
    ) -> Result<(), CallError> {
        let namespace = deployment.metadata.namespace.as_deref().unwrap_or_default();
        let hash = template::hash(deployment);
        let body = template::replica_set(deployment, &hash, replicas, annotations);
        match self.sets.create(namespace, &body).await {
            Ok(set) => {
                if replicas > 0 {
                    self.tell_scaled(deployment, set.name(), 0, replicas);
                }
                Ok(())
            }
            Err(error) if error.is_conflict() => {
                let key = Key::new(namespace, template::name(deployment, &hash));
                self.settle_collision(deployment, &key).await
            }
            Err(error) if error.is_not_found() || error.is_namespace_ending() => Err(error),
            Err(error) => {
                let name = template::name(deployment, &hash);
                let message = format!("Failed to create new replica set {name:?}: {}", error.message());
                let status = status::failed(deployment, &message, self.clock.now());
                self.write_status(&Key::of(deployment), deployment, &status, None).await?;
                let event = Event::warning("ReplicaSetCreateError", "Scale", message);
                self.recorder.publish(reference(deployment), event);
                Err(error)
            }
        }
    }

    /// A set has the name already. If it is not ours, or of another template, the hash must become another.
    async fn settle_collision(&self, deployment: &Deployment, key: &Key) -> Result<(), CallError> {
        let Some(set) = self.sets.get(key).await? else { return Ok(()) };
        let ours = set.controller().is_some_and(|owner| Some(&owner.uid) == deployment.metadata.uid.as_ref());
        if ours && template::is_same(&set.spec.template, &deployment.spec.template) {
            return Ok(());
        }
        let collisions = deployment.status.collision_count.unwrap_or_default() + 1;
        let status = DeploymentStatus { collision_count: Some(collisions), ..deployment.status.clone() };
        self.write_status(&Key::of(deployment), deployment, &status, None).await
    }

    async fn change(&self, deployment: &Deployment, change: Change<'_>) -> Result<(), CallError> {
        let Change { set, replicas, annotations, min_ready_seconds } = change;
        let mut patch = json!({ "metadata": { "uid": set.metadata.uid } });
        if !annotations.is_empty() {
            patch["metadata"]["annotations"] = json!(annotations);
        }
        if let Some(seconds) = min_ready_seconds {
            patch["spec"]["minReadySeconds"] = seconds.into();
        }
        let before = set.spec.replicas;
        if replicas != before {
            patch["spec"]["replicas"] = replicas.into();
        }
        self.sets.merge(&Key::of(set), &patch).await?;
        if replicas != before {
            self.tell_scaled(deployment, set.name(), before, replicas);
        }
        Ok(())
    }

    /// Writes what is new, the revision with the status, as the server allows for Deployments.
    async fn write_status(
        &self,
        key: &Key,
        deployment: &Deployment,
        status: &DeploymentStatus,
        revision: Option<&String>,
    ) -> Result<(), CallError> {
        if *status == deployment.status && revision.is_none() {
            return Ok(());
        }
        let mut patch: Value = merge_patch::of_status(&deployment.metadata, &deployment.status, status);
        if let Some(revision) = revision {
            patch["metadata"]["annotations"] = json!({ revision::REVISION: revision });
        }
        self.deployments.merge_status(key, &patch).await.map(drop)
    }

    fn tell_scaled(&self, deployment: &Deployment, set: &str, from: i32, to: i32) {
        let direction = if from < to { "up" } else { "down" };
        let note = format!("Scaled {direction} replica set {set} from {from} to {to}");
        self.recorder.publish(reference(deployment), Event::normal("ScalingReplicaSet", "Scale", note));
    }
}
