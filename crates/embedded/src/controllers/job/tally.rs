//! What a Job's pods have come to so far, counted or not.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use super::{
    failure_policy::{Meaning, meaning},
    indexes::Indexes,
    pods::{
        failures_before, finished_at, has_failed, has_place, has_succeeded, ignored_failures_before, index,
        is_stopping, is_tracked,
    },
};
use crate::controllers::records::{Job, Pod};

/// The sum of a Job's status and its pods.
#[derive(Debug, Default)]
pub struct Tally<'a> {
    /// Pods that run or will.
    pub active: Vec<&'a Arc<Pod>>,
    pub ready: i32,
    /// Pods that are being stopped.
    pub terminating: i32,
    pub succeeded: i32,
    pub failed: i32,
    /// Of Jobs with indexes.
    pub succeeded_indexes: Indexes,
    /// Of Jobs that count failures by index.
    pub failed_indexes: Option<Indexes>,
    /// The last failed pod of each index that has no pod now. It is held until it is replaced: the next one
    /// carries on its count.
    pub waiting: BTreeMap<u32, &'a Arc<Pod>>,
}

/// How many, as a status counts.
pub fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// The pods whose end is written down and whose finalizer may be there still: succeeded and failed.
pub fn uncounted<'a>(job: &'a Job) -> [HashSet<&'a str>; 2] {
    let lists = job.status.uncounted_terminated_pods.as_ref();
    let set = |list: Option<&'a Vec<String>>| list.into_iter().flatten().map(String::as_str).collect();
    [
        set(lists.and_then(|lists| lists.succeeded.as_ref())),
        set(lists.and_then(|lists| lists.failed.as_ref())),
    ]
}

impl<'a> Tally<'a> {
    pub fn of(job: &Job, pods: &'a [Arc<Pod>]) -> Self {
        let [succeeded, failed] = uncounted(job);
        let uncounted = |pod: &Pod| succeeded.contains(pod.uid()) || failed.contains(pod.uid());
        let open: Vec<_> = pods.iter().filter(|pod| is_tracked(pod) && has_place(job, pod)).collect();
        let new = || open.iter().copied().filter(|pod| !uncounted(pod));
        let new_succeeded = new().filter(|pod| has_succeeded(pod)).count();
        let new_failed = new().filter(|pod| has_failed(job, pod) && meaning(job, pod).counts()).count();
        let counted = |count: Option<i32>| count.unwrap_or_default();
        let active: Vec<_> = pods.iter().filter(|pod| pod.is_active()).collect();
        let mut tally = Self {
            ready: number(active.iter().filter(|pod| pod.is_ready()).count()),
            terminating: number(pods.iter().filter(|pod| is_stopping(pod)).count()),
            succeeded: counted(job.status.succeeded) + number(succeeded.len() + new_succeeded),
            failed: counted(job.status.failed) + number(failed.len() + new_failed),
            active,
            ..Self::default()
        };
        if let Some(bound) = job.indexes() {
            tally.count_indexes(job, &open, bound);
        }
        tally
    }

    fn count_indexes(&mut self, job: &Job, open: &[&'a Arc<Pod>], bound: u32) {
        let known = |text: &Option<String>| Indexes::parse(text.as_deref().unwrap_or_default(), bound);
        let new: Indexes =
            open.iter().filter(|pod| has_succeeded(pod)).filter_map(|pod| index(pod)).collect();
        self.succeeded_indexes = known(&job.status.completed_indexes).with(&new);
        self.succeeded = i32::try_from(self.succeeded_indexes.total()).unwrap_or(i32::MAX);
        let Some(limit) = job.spec.backoff_limit_per_index else { return };
        let fails = |pod: &Pod| {
            has_failed(job, pod)
                && match meaning(job, pod) {
                    Meaning::FailsIndex => true,
                    Meaning::Ignored => false,
                    Meaning::Counts | Meaning::FailsJob(_) => failures_before(pod) >= limit,
                }
        };
        let new: Indexes = open.iter().filter(|pod| fails(pod)).filter_map(|pod| index(pod)).collect();
        let failed = known(&job.status.failed_indexes).with(&new);
        let active: Indexes = self.active.iter().filter_map(|pod| index(pod)).collect();
        let settled = self.succeeded_indexes.with(&failed).with(&active);
        for pod in open.iter().filter(|pod| has_failed(job, pod)) {
            let Some(index) = index(pod).filter(|index| !settled.contains(*index)) else { continue };
            let failures = |pod: &Pod| failures_before(pod).saturating_add(ignored_failures_before(pod));
            let rank = |pod: &Pod| (failures(pod), finished_at(pod));
            if self.waiting.get(&index).is_none_or(|known| rank(known) <= rank(pod)) {
                self.waiting.insert(index, pod);
            }
        }
        self.failed_indexes = Some(failed);
    }
}
