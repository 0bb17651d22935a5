//! How long to wait before a failed pod is replaced.
//!
//! It is told from the pods that are there, not remembered: a restart forgets nothing.

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};

use super::pods::{
    failures_before, finished_at, has_failed, has_succeeded, ignored_failures_before, is_tracked, until,
};
use crate::controllers::records::{Job, Pod};

/// After the first failure; each later one doubles it.
const FIRST: SignedDuration = SignedDuration::from_secs(10);
/// A Job that keeps failing is still tried often enough to be noticed.
const LONGEST: SignedDuration = SignedDuration::from_mins(10);

/// What is left to wait before any pod of a Job is replaced: by the failures since its last success.
pub fn left(job: &Job, pods: &[Arc<Pod>], now: Timestamp) -> Option<Duration> {
    let success = pods.iter().filter(|pod| has_succeeded(pod)).map(|pod| finished_at(pod)).max();
    // Of pods that were taken away those count that nobody has dealt with yet: others were too many.
    let failed =
        pods.iter().filter(|pod| pod.status.phase == "Failed" || is_tracked(pod) && has_failed(job, pod));
    let since: Vec<_> =
        failed.map(|pod| finished_at(pod)).filter(|at| success.is_none_or(|success| *at > success)).collect();
    left_after(since.len(), since.iter().copied().max()?, now)
}

/// What is left to wait before the pod of an index is replaced.
pub fn left_for_index(last: &Pod, now: Timestamp) -> Option<Duration> {
    let failures = failures_before(last).saturating_add(ignored_failures_before(last)).saturating_add(1);
    left_after(usize::try_from(failures).unwrap_or_default(), finished_at(last), now)
}

fn left_after(failures: usize, last: Timestamp, now: Timestamp) -> Option<Duration> {
    let doublings = u32::try_from(failures.checked_sub(1)?).unwrap_or(u32::MAX).min(16);
    let wait = FIRST.saturating_mul(1 << doublings).min(LONGEST);
    until(last.saturating_add(wait).unwrap_or(Timestamp::MAX), now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_from_the_last_failure() {
        let at = |second: i64| Timestamp::from_second(second).expect("a time");
        for (failures, now, left) in [
            (0, 100, None),
            (1, 100, Some(10)),
            (1, 109, Some(1)),
            (1, 110, None),
            (2, 105, Some(15)),
            (3, 100, Some(40)),
            (6, 100, Some(320)),
            (7, 100, Some(600)),
            (usize::MAX, 100, Some(600)),
        ] {
            let seconds = left.map(Duration::from_secs);
            assert_eq!(left_after(failures, at(100), at(now)), seconds, "{failures} failures, {now}");
        }
    }
}
