//! Finished Jobs that are to be removed after a while: deletes them when `ttlSecondsAfterFinished` have passed since
//! their end, with their pods before them. Touches no Job that has not ended, or does not ask for it.

use anneal_kit::{CallError, Clock, Key, Next, Objects, Queue};
use jiff::{SignedDuration, Timestamp};
use kube::api::PropagationPolicy;

use super::{Context, Controller, records::Job};

pub fn start(context: &Context) -> impl Future<Output = ()> + Send + use<> {
    let expiry = Expiry { jobs: context.objects(), clock: context.clock.clone() };
    let queue = Queue::default();
    let wake = queue.clone();
    expiry.jobs.cache().on_change(move |change| {
        if let Some(job) = change.new.as_ref().filter(|job| expires_at(job).is_some()) {
            wake.add(Key::of(job.as_ref()));
        }
    });
    context.run(Controller::TtlAfterFinished, queue, move |key| {
        let expiry = expiry.clone();
        async move { expiry.reconcile(&key).await }
    })
}

#[derive(Clone)]
struct Expiry {
    jobs: Objects<Job>,
    clock: Clock,
}

impl Expiry {
    async fn reconcile(&self, key: &Key) -> Result<Next, CallError> {
        let Some(known) = self.jobs.cache().get(key) else { return Ok(Next::Settled) };
        if let Some(wait) = self.wait(&known) {
            return Ok(wait);
        }
        // Somebody may have asked for more time: what counts is what the server has.
        let Some(job) = self.jobs.get(key).await? else { return Ok(Next::Settled) };
        if let Some(wait) = self.wait(&job) {
            return Ok(wait);
        }
        self.jobs.delete(&job, Some(PropagationPolicy::Foreground)).await?;
        Ok(Next::Settled)
    }

    /// When to look again; none if the time has come.
    fn wait(&self, job: &Job) -> Option<Next> {
        let Some(end) = expires_at(job) else { return Some(Next::Settled) };
        let left = std::time::Duration::try_from(end.duration_since(self.clock.now())).ok()?;
        (!left.is_zero()).then_some(Next::After(left))
    }
}

/// When a Job is to go, if it has ended and is to go by itself.
fn expires_at(job: &Job) -> Option<Timestamp> {
    let kept = job.spec.ttl_seconds_after_finished.filter(|_| !job.is_ending())?;
    let finished = job.finished()?.last_transition_time.as_ref()?.0;
    Some(finished.saturating_add(SignedDuration::from_secs(kept)).unwrap_or(Timestamp::MAX))
}
