//! The status of a Job, and how the end of a pod gets into it exactly once.
//!
//! A finished pod is held by a finalizer. Its end is first written down (its uid among the uncounted, or its index
//! among the completed), then the finalizer goes, and when it is gone the uid becomes a number. Each step can be
//! seen from outside, so that whoever takes over knows which is next. A Job is finished only when nothing is left
//! to count.

use std::{collections::HashSet, sync::Arc};

use anneal_kit::Event;
use jiff::Timestamp;
use k8s_openapi::{
    api::batch::v1::{JobCondition, JobStatus},
    apimachinery::pkg::apis::meta::v1::Time,
};

use super::{
    failure_policy::meaning,
    pods::{has_failed, has_place, has_succeeded, index, is_tracked},
    tally::{Tally, number, uncounted},
    verdict::{Verdict, verdict},
};
use crate::controllers::records::{Job, Pod};

/// How many ends are written down at a time, which keeps a status small.
const MOST_UNCOUNTED: usize = 500;

/// What is to be written, and what may be done and said once it is.
#[derive(Debug)]
pub struct Outcome {
    pub status: JobStatus,
    /// Pods whose end is written down, or does not count: their finalizer may go.
    pub release: Vec<Arc<Pod>>,
    pub events: Vec<Event>,
}

/// The status of a Job with these pods.
pub fn next(job: &Job, pods: &[Arc<Pod>], now: Timestamp) -> Outcome {
    let tally = Tally::of(job, pods);
    let decided = verdict(job, &tally, pods, now);
    let now = Timestamp::from_second(now.as_second()).unwrap_or(now);
    let mut status = job.status.clone();
    status.active = some(number(tally.active.len()));
    status.ready = Some(tally.ready);
    status.terminating = Some(tally.terminating);
    let mut events = Vec::new();
    start(job, &mut status, now);
    if decided.is_none() && !job.is_ending() {
        suspend(job, &mut status, now, &mut events);
    }
    count_released(&mut status, pods);
    let release = write_down(job, &tally, decided.as_ref(), pods, &mut status);
    if job.indexes().is_some() {
        status.succeeded = some(tally.succeeded);
        status.completed_indexes = Some(tally.succeeded_indexes.to_string()).filter(|text| !text.is_empty());
        status.failed_indexes = tally.failed_indexes.as_ref().map(ToString::to_string);
    }
    if let Some(verdict) = decided {
        ensure(&mut status, verdict.condition(), &verdict, now);
        let rest = tally.active.is_empty() && tally.terminating == 0;
        if rest && release.is_empty() && uncounted_in(&status) == 0 {
            finish(job, &mut status, &verdict, now, &mut events);
        }
    }
    Outcome { status, release, events }
}

/// A counter as it is written: none for zero.
fn some(count: i32) -> Option<i32> {
    (count != 0).then_some(count)
}

fn start(job: &Job, status: &mut JobStatus, now: Timestamp) {
    if status.start_time.is_none() && !job.spec.suspend {
        status.start_time = Some(Time(now));
    }
}

/// The time of a Job begins anew when it goes on.
fn suspend(job: &Job, status: &mut JobStatus, now: Timestamp, events: &mut Vec<Event>) {
    let known = status.conditions.iter_mut().flatten().find(|condition| condition.type_ == "Suspended");
    let was = known.as_ref().is_some_and(|condition| condition.status == "True");
    if was == job.spec.suspend {
        return;
    }
    let (is, reason, event, message) = if job.spec.suspend {
        ("True", "JobSuspended", "Suspended", "Job suspended")
    } else {
        ("False", "JobResumed", "Resumed", "Job resumed")
    };
    let condition = condition("Suspended", is, reason, message, now);
    match known {
        Some(known) => *known = condition,
        None => status.conditions.get_or_insert_default().push(condition),
    }
    status.start_time = (!job.spec.suspend).then_some(Time(now));
    events.push(Event::normal(event, if job.spec.suspend { "Suspend" } else { "Resume" }, message));
}

/// Makes numbers of the uncounted whose finalizer is gone.
fn count_released(status: &mut JobStatus, pods: &[Arc<Pod>]) {
    let held: HashSet<&str> = pods.iter().filter(|pod| is_tracked(pod)).map(|pod| pod.uid()).collect();
    let lists = status.uncounted_terminated_pods.get_or_insert_default();
    for (list, counter) in
        [(&mut lists.succeeded, &mut status.succeeded), (&mut lists.failed, &mut status.failed)]
    {
        let Some(uids) = list else { continue };
        let before = uids.len();
        uids.retain(|uid| held.contains(uid.as_str()));
        *counter = some(counter.unwrap_or_default() + number(before - uids.len()));
        if uids.is_empty() {
            *list = None;
        }
    }
}

/// Writes down which pods have ended, and returns those whose finalizer may go then.
///
/// Once a Job is to end and none of its pods is active, all may go: those that were stopped have failed with a Job
/// that failed, and are nothing with one that succeeded.
fn write_down(
    job: &Job,
    tally: &Tally<'_>,
    verdict: Option<&Verdict>,
    pods: &[Arc<Pod>],
    status: &mut JobStatus,
) -> Vec<Arc<Pod>> {
    let [known_succeeded, known_failed] = uncounted(job);
    let ends = job.is_ending() || verdict.is_some() && tally.active.is_empty();
    let fails = |pod: &Pod| match verdict {
        Some(verdict) if verdict.success => pod.status.phase == "Failed",
        Some(_) => ends || has_failed(job, pod),
        None => has_failed(job, pod),
    };
    let lists = status.uncounted_terminated_pods.get_or_insert_default();
    let (mut succeeded, mut failed) =
        (lists.succeeded.take().unwrap_or_default(), lists.failed.take().unwrap_or_default());
    let mut release = Vec::new();
    for pod in pods.iter().filter(|pod| is_tracked(pod)) {
        let uid = pod.uid();
        let replaced = || {
            let waiting = index(pod).and_then(|index| tally.waiting.get(&index));
            has_failed(job, pod) && waiting.is_none_or(|waiting| waiting.uid() != uid)
        };
        if !ends && !has_succeeded(pod) && !replaced() {
            continue;
        }
        let known = known_succeeded.contains(uid) || known_failed.contains(uid);
        if release.len() >= MOST_UNCOUNTED || !known && succeeded.len() + failed.len() >= MOST_UNCOUNTED {
            // The ends of those before bring us back for this one.
            continue;
        }
        release.push(pod.clone());
        if has_succeeded(pod) && !known_failed.contains(uid) {
            // An index is its own proof that it was counted.
            if job.indexes().is_none() && !known {
                succeeded.push(uid.to_owned());
            }
        } else if fails(pod) && !known && has_place(job, pod) && meaning(job, pod).counts() {
            failed.push(uid.to_owned());
        }
    }
    lists.succeeded = Some(succeeded).filter(|uids| !uids.is_empty());
    lists.failed = Some(failed).filter(|uids| !uids.is_empty());
    release
}

fn uncounted_in(status: &JobStatus) -> usize {
    let lists = status.uncounted_terminated_pods.iter();
    lists.flat_map(|lists| lists.succeeded.iter().chain(&lists.failed)).map(Vec::len).sum()
}

fn condition(kind: &str, is: &str, reason: &str, message: &str, now: Timestamp) -> JobCondition {
    JobCondition {
        type_: kind.to_owned(),
        status: is.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        last_probe_time: Some(Time(now)),
        last_transition_time: Some(Time(now)),
    }
}

/// Says a verdict by a condition, once.
fn ensure(status: &mut JobStatus, kind: &str, verdict: &Verdict, now: Timestamp) {
    let conditions = status.conditions.get_or_insert_default();
    let new = condition(kind, "True", &verdict.reason, &verdict.message, now);
    match conditions.iter_mut().find(|condition| condition.type_ == kind) {
        Some(known) if known.status == "True" => {}
        Some(known) => *known = new,
        None => conditions.push(new),
    }
}

fn finish(job: &Job, status: &mut JobStatus, verdict: &Verdict, now: Timestamp, events: &mut Vec<Event>) {
    // One that was suspended at its end has none; a finished Job must.
    status.start_time.get_or_insert(Time(now));
    if !verdict.success {
        ensure(status, "Failed", verdict, now);
        events.push(Event::warning(known_reason(&verdict.reason), "Fail", &verdict.message));
        return;
    }
    ensure(status, "Complete", verdict, now);
    status.completion_time = Some(Time(now));
    if job.spec.completions.is_some_and(|wanted| status.succeeded.unwrap_or_default() > wanted) {
        let note = "Too many succeeded pods running after completion count reached";
        events.push(Event::warning("TooManySucceededPods", "Complete", note));
    }
    events.push(Event::normal("Completed", "Complete", "Job completed"));
}

/// Reasons of Events are a small set; a condition may have been written by anybody.
fn known_reason(reason: &str) -> &'static str {
    let known = [
        "BackoffLimitExceeded",
        "DeadlineExceeded",
        "FailedIndexes",
        "MaxFailedIndexesExceeded",
        "PodFailurePolicy",
    ];
    known.into_iter().find(|known| *known == reason).unwrap_or("Failed")
}
