//! Jobs: pods that run to their end, as many as asked for, tried again when they fail.
//!
//! Ensures that a Job has the pods it should have now (`plan`), that the end of each is counted once (`status`), and
//! that the Job ends as its limits say (`verdict`). Pods that are not a Job's own, or belong to one that another
//! controller manages, are left alone; pods that have lost their Job are let go.
//!
//! The order of a visit: own pods are claimed, pods are made or removed, then the status is written from what is
//! there, and only then finalizers go of pods whose end is in the status.

mod backoff;
mod failure_policy;
mod indexes;
mod plan;
mod pods;
mod status;
mod tally;
mod template;
mod verdict;

use std::{fmt, sync::Arc, time::Duration};

use anneal_kit::{CallError, Clock, Event, Key, Next, Objects, Queue, Recorder};
use jiff::Timestamp;
use serde_json::{Value, json};

use self::{
    pods::{TRACKING, is_tracked},
    tally::Tally,
};
use super::{
    Context, Controller, merge_patch,
    records::{Job, Pod},
};

/// What is looked at.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
enum Item {
    /// A Job, which may be gone: then its pods are.
    Job { key: Key, uid: String },
    /// A pod that nobody looks after.
    Pod(Key),
}

impl fmt::Display for Item {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job { key, .. } => key.fmt(formatter),
            Self::Pod(key) => write!(formatter, "pod {key}"),
        }
    }
}

pub fn start(context: &Context) -> impl Future<Output = ()> + Send + use<> {
    let jobs = Jobs {
        jobs: context.objects(),
        pods: context.objects(),
        clock: context.clock.clone(),
        recorder: context.recorder("job-controller"),
    };
    let queue = Queue::default();
    let wake = queue.clone();
    jobs.jobs.cache().on_change(move |change| {
        for job in change.both() {
            wake.add(Item::Job { key: Key::of(job.as_ref()), uid: job.uid().to_owned() });
        }
    });
    let wake = queue.clone();
    jobs.pods.cache().on_change(move |change| {
        for (key, uid) in change.both().filter_map(|pod| owner(pod)) {
            wake.add(Item::Job { key, uid: uid.to_owned() });
        }
        if let Some(pod) = change.new.as_ref().filter(|pod| pod.controller().is_none()) {
            wake.add(Item::Pod(Key::of(pod.as_ref())));
        }
    });
    context.run(Controller::Job, queue, move |item| {
        let jobs = jobs.clone();
        async move {
            match item {
                Item::Job { key, uid } => jobs.reconcile(&key, &uid).await,
                Item::Pod(key) => jobs.reconcile_pod(&key).await,
            }
        }
    })
}

/// The Job that a pod says it belongs to: its key and uid.
fn owner(pod: &Pod) -> Option<(Key, &str)> {
    let owner = pod.controller().filter(|owner| owner.kind == "Job" && owner.api_version == "batch/v1")?;
    let namespace = pod.metadata.namespace.clone().unwrap_or_default();
    Some((Key::new(namespace, &owner.name), owner.uid.as_str()))
}

#[derive(Clone)]
struct Jobs {
    jobs: Objects<Job>,
    pods: Objects<Pod>,
    clock: Clock,
    recorder: Recorder,
}

impl Jobs {
    async fn reconcile(&self, key: &Key, uid: &str) -> Result<Next, CallError> {
        let Some(job) = self.jobs.cache().get(key).filter(|job| job.uid() == uid) else {
            return self.release_all(uid).await;
        };
        if job.is_foreign() {
            return Ok(Next::Settled);
        }
        if job.finished().is_some() {
            return self.release_all(uid).await;
        }
        let now = self.clock.now();
        self.claim(&job).await?;
        let managed = self.manage(&job, now).await;
        self.account(&job, now).await?;
        let waits = [managed?, verdict::time_left(&job, now)];
        Ok(waits.into_iter().flatten().min().map_or(Next::Settled, Next::After))
    }

    /// A pod that nobody looks after gets the Job that selects it, or else is let go.
    async fn reconcile_pod(&self, key: &Key) -> Result<Next, CallError> {
        let Some(pod) = self.pods.cache().get(key).filter(|pod| pod.controller().is_none()) else {
            return Ok(Next::Settled);
        };
        let jobs = self.jobs.cache().in_namespace(&key.namespace);
        match jobs.iter().find(|job| adopts(job, &pod)) {
            Some(job) => self.adopt(job, &pod).await?,
            None => self.release(&pod).await?,
        }
        Ok(Next::Settled)
    }

    /// Lets go of all pods of a Job that is no more, or has ended.
    async fn release_all(&self, uid: &str) -> Result<Next, CallError> {
        for pod in self.pods.cache().owned_by(uid) {
            if owner(&pod).is_some_and(|(_, owner)| owner == uid) {
                self.release(&pod).await?;
            }
        }
        Ok(Next::Settled)
    }

    /// The pods of a Job, by name.
    fn pods_of(&self, job: &Job) -> Vec<Arc<Pod>> {
        let mut pods = self.pods.cache().owned_by(job.uid());
        pods.retain(|pod| owner(pod).is_some_and(|(_, uid)| uid == job.uid()));
        pods.retain(|pod| job.spec.selector.matches(pod.labels()));
        pods
    }

    /// Takes pods in that the Job selects, and lets those go that it selects no more.
    async fn claim(&self, job: &Job) -> Result<(), CallError> {
        if job.is_ending() {
            return Ok(());
        }
        for pod in self.pods.cache().owned_by(job.uid()) {
            let own = owner(&pod).is_some_and(|(_, uid)| uid == job.uid());
            if own && !job.spec.selector.matches(pod.labels()) {
                let owners = pod.metadata.owner_references.iter().flatten();
                let others: Vec<_> = owners.filter(|owner| owner.uid != job.uid()).collect();
                let patch = json!({ "ownerReferences": others, "finalizers": without_tracking(&pod) });
                self.patch(&pod, patch).await?;
            }
        }
        // A selector that the server made selects nothing that was there before the Job; pods that come later are
        // looked at one by one.
        if job.spec.manual_selector {
            let namespace = job.metadata.namespace.as_deref().unwrap_or_default();
            for pod in self.pods.cache().in_namespace(namespace) {
                if pod.controller().is_none() && adopts(job, &pod) {
                    self.adopt(job, &pod).await?;
                }
            }
        }
        Ok(())
    }

    /// Makes a pod the Job's own, if that is still there.
    async fn adopt(&self, job: &Job, pod: &Pod) -> Result<(), CallError> {
        let fresh = self.jobs.get(&Key::of(job)).await?;
        if fresh.is_none_or(|fresh| fresh.uid() != job.uid() || fresh.is_ending()) {
            return Ok(());
        }
        let mut owners = json!(pod.metadata.owner_references.as_deref().unwrap_or_default());
        let mut finalizers = json!(pod.metadata.finalizers.as_deref().unwrap_or_default());
        if let Some(owners) = owners.as_array_mut() {
            owners.retain(|owner| owner["uid"] != job.uid());
            owners.push(template::reference(job));
        }
        if let Some(finalizers) = finalizers.as_array_mut().filter(|_| !is_tracked(pod)) {
            finalizers.push(TRACKING.into());
        }
        self.patch(pod, json!({ "ownerReferences": owners, "finalizers": finalizers })).await
    }

    /// Makes and removes pods; tells when to look again.
    async fn manage(&self, job: &Job, now: Timestamp) -> Result<Option<Duration>, CallError> {
        let pods = self.pods_of(job);
        let tally = Tally::of(job, &pods);
        if let Some(verdict) = verdict::verdict(job, &tally, &pods, now) {
            // First the verdict is written: pods that are being deleted look like failures.
            let written = job.holding(verdict.condition()).is_some();
            for pod in tally.active.iter().filter(|_| written) {
                self.delete(job, pod).await?;
            }
            return Ok(None);
        }
        if job.is_ending() {
            return Ok(None);
        }
        let plan = plan::plan(job, &tally, &pods, now);
        for pod in &plan.remove {
            // Nobody is to count it as failed: it is let go before it goes.
            self.release(pod).await?;
            self.delete(job, pod).await?;
        }
        for index in &plan.create {
            let replaces = index.and_then(|index| tally.waiting.get(&index));
            self.create(job, *index, replaces.map(|pod| pod.as_ref())).await?;
        }
        Ok(plan.wait)
    }

    async fn create(&self, job: &Job, index: Option<u32>, replaces: Option<&Pod>) -> Result<(), CallError> {
        let namespace = job.metadata.namespace.as_deref().unwrap_or_default();
        match self.pods.create(namespace, &template::pod(job, index, replaces)).await {
            Ok(pod) => {
                let note = format!("Created pod: {}", pod.name());
                self.tell(job, Event::normal("SuccessfulCreate", "CreatePod", note));
                Ok(())
            }
            Err(error) if error.is_forbidden() && error.message().contains("is being terminated") => Ok(()),
            Err(error) => {
                let note = format!("Error creating: {}", error.message());
                self.tell(job, Event::warning("FailedCreate", "CreatePod", note));
                Err(error)
            }
        }
    }

    async fn delete(&self, job: &Job, pod: &Pod) -> Result<(), CallError> {
        match self.pods.delete(pod, None).await {
            Ok(()) => {
                let note = format!("Deleted pod: {}", pod.name());
                self.tell(job, Event::normal("SuccessfulDelete", "DeletePod", note));
                Ok(())
            }
            Err(error) => {
                let note = format!("Error deleting: {}", error.message());
                self.tell(job, Event::warning("FailedDelete", "DeletePod", note));
                Err(error)
            }
        }
    }

    /// Writes what the pods have come to, and lets go of those whose end is written.
    async fn account(&self, job: &Job, now: Timestamp) -> Result<(), CallError> {
        let outcome = status::next(job, &self.pods_of(job), now);
        if outcome.status != job.status {
            // By the version: counters must never be counted up from an old state.
            let mut patch = merge_patch::of_status(&job.metadata, &job.status, &outcome.status);
            patch["metadata"]["resourceVersion"] = json!(job.metadata.resource_version);
            self.jobs.merge_status(&Key::of(job), &patch).await?;
            for event in outcome.events {
                self.tell(job, event);
            }
        }
        for pod in &outcome.release {
            self.release(pod).await?;
        }
        Ok(())
    }

    /// Takes our finalizer off a pod.
    async fn release(&self, pod: &Pod) -> Result<(), CallError> {
        if !is_tracked(pod) {
            return Ok(());
        }
        self.patch(pod, json!({ "finalizers": without_tracking(pod) })).await
    }

    /// Changes metadata of this very pod as it is known; it is no failure if it is gone.
    async fn patch(&self, pod: &Pod, mut metadata: Value) -> Result<(), CallError> {
        metadata["uid"] = json!(pod.metadata.uid);
        metadata["resourceVersion"] = json!(pod.metadata.resource_version);
        match self.pods.merge(&Key::of(pod), &json!({ "metadata": metadata })).await {
            Err(error) if error.is_not_found() => Ok(()),
            patched => patched.map(drop),
        }
    }

    fn tell(&self, job: &Job, event: Event) {
        self.recorder.publish(anneal_kit::reference(job), event);
    }
}

fn adopts(job: &Job, pod: &Pod) -> bool {
    !job.is_foreign()
        && !job.is_ending()
        && job.finished().is_none()
        && !pod.is_ending()
        && job.spec.selector.matches(pod.labels())
}

/// The finalizers of a pod but ours.
fn without_tracking(pod: &Pod) -> Vec<&String> {
    pod.metadata.finalizers.iter().flatten().filter(|finalizer| *finalizer != TRACKING).collect()
}

#[cfg(test)]
mod tests;
