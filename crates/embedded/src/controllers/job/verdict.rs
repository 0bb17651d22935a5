//! Whether a Job is to end, and how.

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::{JobCondition, SuccessPolicyRule};

use super::{
    failure_policy::{Meaning, meaning},
    indexes::Indexes,
    pods::{has_failed, until},
    tally::Tally,
};
use crate::controllers::records::{Job, Pod};

/// How a Job ends.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Verdict {
    pub success: bool,
    pub reason: String,
    pub message: String,
}

impl Verdict {
    fn failure(reason: &str, message: impl Into<String>) -> Self {
        Self { success: false, reason: reason.to_owned(), message: message.into() }
    }

    fn success(reason: &str, message: impl Into<String>) -> Self {
        Self { success: true, reason: reason.to_owned(), message: message.into() }
    }

    /// The condition that says it before the Job has ended.
    pub fn condition(&self) -> &'static str {
        if self.success { "SuccessCriteriaMet" } else { "FailureTarget" }
    }

    fn of(condition: &JobCondition, success: bool) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        Self { success, reason: text(&condition.reason), message: text(&condition.message) }
    }
}

/// What was decided before stands; then failures come before successes.
pub fn verdict(job: &Job, tally: &Tally<'_>, pods: &[Arc<Pod>], now: Timestamp) -> Option<Verdict> {
    let before = || {
        let success = job.holding("SuccessCriteriaMet").map(|condition| Verdict::of(condition, true));
        success.or_else(|| job.holding("FailureTarget").map(|condition| Verdict::of(condition, false)))
    };
    before()
        .or_else(|| by_failure_policy(job, pods))
        .or_else(|| by_retries(job, tally, pods))
        .or_else(|| by_deadline(job, now))
        .or_else(|| by_failed_indexes(job, tally))
        .or_else(|| by_success_policy(job, tally))
        .or_else(|| by_completions(job, tally))
}

fn by_failure_policy(job: &Job, pods: &[Arc<Pod>]) -> Option<Verdict> {
    job.spec.pod_failure_policy.as_ref()?;
    pods.iter().filter(|pod| has_failed(job, pod)).find_map(|pod| match meaning(job, pod) {
        Meaning::FailsJob(why) => Some(Verdict::failure("PodFailurePolicy", why)),
        _ => None,
    })
}

fn by_retries(job: &Job, tally: &Tally<'_>, pods: &[Arc<Pod>]) -> Option<Verdict> {
    let limit = job.spec.backoff_limit;
    // Pods that restart by themselves have failed as often as they restarted.
    let restarts = || {
        let running = pods.iter().filter(|pod| matches!(pod.status.phase.as_str(), "Running" | "Pending"));
        let containers = running
            .flat_map(|pod| pod.status.container_statuses.iter().chain(&pod.status.init_container_statuses));
        containers.map(|container| i64::from(container.restart_count)).sum::<i64>()
    };
    let restarted_too_often =
        || job.spec.template["spec"]["restartPolicy"] == "OnFailure" && restarts() >= i64::from(limit).max(1);
    (tally.failed > limit || restarted_too_often())
        .then(|| Verdict::failure("BackoffLimitExceeded", "Job has reached the specified backoff limit"))
}

fn deadline(job: &Job) -> Option<Timestamp> {
    let allowed = job.spec.active_deadline_seconds.filter(|_| !job.spec.suspend)?;
    let start = job.status.start_time.as_ref()?.0;
    Some(start.saturating_add(SignedDuration::from_secs(allowed)).unwrap_or(Timestamp::MAX))
}

/// How long a Job may go on.
pub fn time_left(job: &Job, now: Timestamp) -> Option<Duration> {
    deadline(job).and_then(|deadline| until(deadline, now))
}

fn by_deadline(job: &Job, now: Timestamp) -> Option<Verdict> {
    deadline(job)
        .filter(|deadline| *deadline <= now)
        .map(|_| Verdict::failure("DeadlineExceeded", "Job was active longer than specified deadline"))
}

fn by_failed_indexes(job: &Job, tally: &Tally<'_>) -> Option<Verdict> {
    let failed = tally.failed_indexes.as_ref()?.total();
    let most = job.spec.max_failed_indexes.and_then(|most| u32::try_from(most).ok());
    if most.is_some_and(|most| failed > most) {
        let message = "Job has exceeded the specified maximal number of failed indexes";
        return Some(Verdict::failure("MaxFailedIndexesExceeded", message));
    }
    let all = failed > 0 && failed + tally.succeeded_indexes.total() >= job.indexes()?;
    all.then(|| Verdict::failure("FailedIndexes", "Job has failed indexes"))
}

fn by_success_policy(job: &Job, tally: &Tally<'_>) -> Option<Verdict> {
    let bound = job.indexes()?;
    let succeeded = &tally.succeeded_indexes;
    let met = |rule: &SuccessPolicyRule| {
        let enough = rule.succeeded_count.and_then(|count| u32::try_from(count).ok());
        match &rule.succeeded_indexes {
            Some(indexes) => {
                let required = Indexes::parse(indexes, bound);
                let done = required.in_common(succeeded);
                required.total() > 0
                    && (done == required.total() || enough.is_some_and(|enough| done >= enough))
            }
            None => enough.is_some_and(|enough| succeeded.total() >= enough),
        }
    };
    let rules = job.spec.success_policy.as_ref().filter(|_| succeeded.total() > 0)?.rules.iter();
    let (index, _) = rules.enumerate().find(|(_, rule)| met(rule))?;
    Some(Verdict::success("SuccessPolicy", format!("Matched rules at index {index}")))
}

fn by_completions(job: &Job, tally: &Tally<'_>) -> Option<Verdict> {
    let wanted = job.spec.completions.unwrap_or(1);
    (tally.succeeded >= wanted && tally.active.is_empty())
        .then(|| Verdict::success("CompletionsReached", "Reached expected number of succeeded pods"))
}
