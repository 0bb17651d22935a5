//! Which pods a Job that goes on is to have.

use std::{cmp::Reverse, collections::HashSet, sync::Arc, time::Duration};

use jiff::Timestamp;

use super::{
    backoff,
    indexes::Indexes,
    pods::{has_place, index, is_stopping, is_tracked},
    tally::{Tally, number},
};
use crate::controllers::records::{Job, Pod};

/// How many pods are made or removed at a time, so that a big Job does not keep small ones waiting.
const MOST_AT_ONCE: usize = 500;

/// What to do about a Job's pods.
#[derive(Debug, Default)]
pub struct Plan<'a> {
    /// Pods that are too many. Their end does not count.
    pub remove: Vec<&'a Arc<Pod>>,
    /// The indexes of pods to be made; none for a pod without one.
    pub create: Vec<Option<u32>>,
    /// When there may be more to create.
    pub wait: Option<Duration>,
}

/// What to do about the pods of a Job that nobody ended. Pods go first: only if none is to go, others come.
pub fn plan<'a>(job: &Job, tally: &Tally<'a>, pods: &[Arc<Pod>], now: Timestamp) -> Plan<'a> {
    let wanted = if job.spec.suspend { 0 } else { wanted(job, tally) };
    let remove = too_many(job, &tally.active, wanted);
    if !remove.is_empty() || job.spec.suspend {
        return Plan { remove, ..Plan::default() };
    }
    let stopping = if job.waits_for_ends() { tally.terminating } else { 0 };
    let missing = wanted - stopping - number(tally.active.len());
    let missing = usize::try_from(missing).unwrap_or_default().min(MOST_AT_ONCE);
    if missing == 0 {
        return Plan::default();
    }
    if job.spec.backoff_limit_per_index.is_none()
        && let Some(wait) = backoff::left(job, pods, now)
    {
        return Plan { wait: Some(wait), ..Plan::default() };
    }
    match job.indexes() {
        None => Plan { create: vec![None; missing], ..Plan::default() },
        Some(bound) => of_indexes(tally, &taken(job, tally, pods), bound, missing, now),
    }
}

/// How many pods should run now.
fn wanted(job: &Job, tally: &Tally<'_>) -> i32 {
    match job.spec.completions {
        Some(completions) => (completions - tally.succeeded).min(job.spec.parallelism).max(0),
        // Once one has succeeded, the others may finish, and no more come.
        None if tally.succeeded > 0 => number(tally.active.len()),
        None => job.spec.parallelism,
    }
}

/// The indexes that need no pod.
fn taken(job: &Job, tally: &Tally<'_>, pods: &[Arc<Pod>]) -> Indexes {
    let stopping = pods.iter().filter(|pod| job.waits_for_ends() && is_stopping(pod));
    let held: Indexes = tally.active.iter().copied().chain(stopping).filter_map(|pod| index(pod)).collect();
    let settled = tally.succeeded_indexes.with(&held);
    tally.failed_indexes.as_ref().map_or_else(|| settled.clone(), |failed| settled.with(failed))
}

/// The first indexes without a pod, but for those that must wait after a failure.
fn of_indexes<'a>(tally: &Tally<'a>, taken: &Indexes, bound: u32, most: usize, now: Timestamp) -> Plan<'a> {
    let mut plan = Plan::default();
    for index in taken.missing(bound).take(most) {
        match tally.waiting.get(&index).and_then(|last| backoff::left_for_index(last, now)) {
            None => plan.create.push(Some(index)),
            Some(left) => plan.wait = Some(plan.wait.map_or(left, |wait| wait.min(left))),
        }
    }
    plan
}

/// Pods that nobody tracks (a removal was interrupted), that have no place or one that another has, and as many
/// more as exceed the number that is wanted.
fn too_many<'a>(job: &Job, active: &[&'a Arc<Pod>], wanted: i32) -> Vec<&'a Arc<Pod>> {
    let mut ranked = active.to_vec();
    // The best first: each index is kept for the first that has it.
    ranked.sort_by_key(|pod| Reverse(worth(pod)));
    let mut places = HashSet::new();
    let (kept, mut removed): (Vec<_>, Vec<_>) = ranked.into_iter().partition(|pod| {
        is_tracked(pod)
            && has_place(job, pod)
            && (job.indexes().is_none() || index(pod).is_some_and(|index| places.insert(index)))
    });
    let excess = active.len().saturating_sub(usize::try_from(wanted).unwrap_or_default());
    let more = excess.saturating_sub(removed.len());
    removed.extend(kept.into_iter().rev().take(more));
    removed.truncate(MOST_AT_ONCE);
    removed
}

/// What is lost with a pod: those that have not come far go first, and of equal ones the younger.
fn worth(pod: &Pod) -> impl Ord + use<> {
    let phase = match pod.status.phase.as_str() {
        "Running" => 2,
        "Unknown" => 1,
        _ => 0,
    };
    let restarts = pod.status.container_statuses.iter().map(|container| container.restart_count).max();
    let created = pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
    let ready = pod.ready_since();
    let bound = !pod.spec.node_name.is_empty();
    (
        bound,
        phase,
        ready.is_some(),
        Reverse(ready),
        Reverse(restarts),
        Reverse(created),
        pod.name().to_owned(),
    )
}
