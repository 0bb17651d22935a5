//! What a pod says to its Job.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::controllers::records::{Job, Pod};

/// Holds a pod until its end is counted.
pub const TRACKING: &str = "batch.kubernetes.io/job-tracking";
/// Both an annotation and a label.
pub const INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// How many pods of the same index failed before this one.
pub const FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";
/// How many of them a failure policy did not count.
pub const IGNORED_FAILURES: &str = "batch.kubernetes.io/job-index-ignored-failure-count";

/// Whether its end is still to be counted.
pub fn is_tracked(pod: &Pod) -> bool {
    pod.is_held_by(TRACKING)
}

/// Whether it is being stopped and still runs.
pub fn is_stopping(pod: &Pod) -> bool {
    pod.is_ending() && !pod.is_finished()
}

pub fn has_succeeded(pod: &Pod) -> bool {
    pod.status.phase == "Succeeded"
}

/// Whether it failed, or counts as failed because somebody took it away.
pub fn has_failed(job: &Job, pod: &Pod) -> bool {
    pod.status.phase == "Failed" || is_stopping(pod) && !job.waits_for_ends()
}

/// Its index, if it has one.
pub fn index(pod: &Pod) -> Option<u32> {
    pod.annotation(INDEX)?.parse().ok()
}

/// Whether its index is one of the Job's, or the Job has none.
pub fn has_place(job: &Job, pod: &Pod) -> bool {
    job.indexes().is_none_or(|bound| index(pod).is_some_and(|index| index < bound))
}

fn count(pod: &Pod, annotation: &str) -> i32 {
    let count = pod.annotation(annotation).and_then(|count| count.parse().ok());
    count.filter(|count| *count >= 0).unwrap_or_default()
}

/// How many pods of its index failed and counted before this one.
pub fn failures_before(pod: &Pod) -> i32 {
    count(pod, FAILURES)
}

/// How many pods of its index failed and did not count before this one.
pub fn ignored_failures_before(pod: &Pod) -> i32 {
    count(pod, IGNORED_FAILURES)
}

/// When it ended: when its last container did, else when it was not ready any more, else when somebody deleted it.
pub fn finished_at(pod: &Pod) -> Timestamp {
    let ends = pod.status.container_statuses.iter().map(|container| {
        let terminated = container.state.terminated.as_ref()?;
        terminated.finished_at.as_ref().map(|time| time.0)
    });
    let last = ends.collect::<Option<Vec<_>>>().and_then(|ends| ends.into_iter().max());
    let unready = || {
        let ready = pod.condition("Ready").filter(|ready| ready.status == "False")?;
        ready.last_transition_time.as_ref().map(|time| time.0)
    };
    let deleted = || {
        let end = pod.metadata.deletion_timestamp.as_ref()?.0;
        let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or_default();
        end.checked_sub(SignedDuration::from_secs(grace)).ok()
    };
    let created = || pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
    last.or_else(unready).or_else(deleted).or_else(created).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// How long until a moment, if it is not past.
pub fn until(moment: Timestamp, now: Timestamp) -> Option<Duration> {
    Duration::try_from(moment.duration_since(now)).ok().filter(|left| !left.is_zero())
}
