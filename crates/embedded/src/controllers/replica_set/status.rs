//! What a ReplicaSet's status says of its pods.

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{
    api::apps::v1::{ReplicaSetCondition, ReplicaSetStatus},
    apimachinery::pkg::apis::meta::v1::Time,
};

use crate::controllers::records::{Pod, ReplicaSet};

const FAILURE: &str = "ReplicaFailure";

/// The status of a set with these pods, of which some may be ending, and with what went wrong as reason and message.
pub fn of(
    set: &ReplicaSet,
    pods: &[Arc<Pod>],
    failure: Option<(&'static str, String)>,
    now: Timestamp,
) -> ReplicaSetStatus {
    let active = || pods.iter().filter(|pod| pod.is_active());
    let ending = pods.iter().filter(|pod| pod.is_ending() && !pod.is_finished()).count();
    let some = |count: usize| Some(number(count)).filter(|count| *count != 0);
    ReplicaSetStatus {
        replicas: number(active().count()),
        fully_labeled_replicas: some(active().filter(|pod| is_fully_labelled(pod, set)).count()),
        ready_replicas: some(active().filter(|pod| pod.is_ready()).count()),
        available_replicas: some(active().filter(|pod| available_in(pod, set, now).is_zero()).count()),
        terminating_replicas: Some(number(ending)),
        observed_generation: set.metadata.generation,
        conditions: conditions(set, failure, now),
    }
}

/// When to look again because pods become available by time alone.
pub fn next(set: &ReplicaSet, pods: &[Arc<Pod>], now: Timestamp) -> Option<Duration> {
    let waits = pods.iter().filter(|pod| pod.is_active()).map(|pod| available_in(pod, set, now));
    waits.filter(|wait| !wait.is_zero() && *wait != SignedDuration::MAX).min()?.try_into().ok()
}

/// How long until a pod is available: ready for long enough. For ever if it is not ready.
fn available_in(pod: &Pod, set: &ReplicaSet, now: Timestamp) -> SignedDuration {
    let Some(since) = pod.ready_since() else { return SignedDuration::MAX };
    let least = SignedDuration::from_secs(set.spec.min_ready_seconds.into());
    if least.is_zero() {
        return SignedDuration::ZERO;
    }
    least.saturating_sub(now.duration_since(since)).max(SignedDuration::ZERO)
}

fn is_fully_labelled(pod: &Pod, set: &ReplicaSet) -> bool {
    let labels = set.spec.template["metadata"]["labels"].as_object();
    labels
        .into_iter()
        .flatten()
        .all(|(name, value)| pod.labels().get(name).map(String::as_str) == value.as_str())
}

/// A failure is told as it was first met: that it lasts is no news.
fn conditions(
    set: &ReplicaSet,
    failure: Option<(&'static str, String)>,
    now: Timestamp,
) -> Option<Vec<ReplicaSetCondition>> {
    let mut conditions = set.status.conditions.clone().unwrap_or_default();
    match failure {
        None => conditions.retain(|condition| condition.type_ != FAILURE),
        Some(_) if conditions.iter().any(|condition| condition.type_ == FAILURE) => {}
        Some((reason, message)) => conditions.push(ReplicaSetCondition {
            type_: FAILURE.to_owned(),
            status: "True".to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message),
            last_transition_time: Some(Time(whole(now))),
        }),
    }
    Some(conditions).filter(|conditions| !conditions.is_empty())
}

/// Times in a status are of whole seconds.
fn whole(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn set(status: Value) -> ReplicaSet {
        let template = json!({ "metadata": { "labels": { "a": "b", "c": "d" } } });
        let spec = json!({ "replicas": 3, "minReadySeconds": 10, "template": template });
        let set = json!({ "metadata": { "name": "a", "generation": 2 }, "spec": spec, "status": status });
        serde_json::from_value(set).unwrap()
    }

    fn pod(labels: Value, phase: &str, ready_since: Option<i64>, ending: bool) -> Arc<Pod> {
        let mut pod = json!({ "metadata": { "labels": labels }, "status": { "phase": phase } });
        if let Some(since) = ready_since {
            let since = second(since).to_string();
            pod["status"]["conditions"] =
                json!([{ "type": "Ready", "status": "True", "lastTransitionTime": since }]);
        }
        if ending {
            pod["metadata"]["deletionTimestamp"] = second(0).to_string().into();
        }
        Arc::new(serde_json::from_value(pod).unwrap())
    }

    #[test]
    fn pods_are_counted_by_what_they_are() {
        let full = json!({ "a": "b", "c": "d", "e": "f" });
        let pods = [
            pod(full.clone(), "Running", Some(0), false),
            pod(full.clone(), "Running", Some(93), false),
            pod(json!({ "a": "b" }), "Running", Some(95), false),
            pod(full.clone(), "Pending", None, false),
            pod(full.clone(), "Running", Some(0), true),
            pod(full.clone(), "Failed", None, true),
            pod(full, "Succeeded", None, false),
        ];
        let set = set(json!({}));
        let status = json!(of(&set, &pods, None, second(100)));
        let wanted = json!({
            "replicas": 4, "fullyLabeledReplicas": 3, "readyReplicas": 3, "availableReplicas": 1,
            "terminatingReplicas": 1, "observedGeneration": 2
        });
        assert_eq!(status, wanted);
        assert_eq!(next(&set, &pods, second(100)), Some(Duration::from_secs(3)));
        assert_eq!(next(&set, &pods, second(105)), None);
    }

    #[test]
    fn a_failure_stays_as_it_was_first_told_until_it_is_over() {
        let first = of(&set(json!({})), &[], Some(("FailedCreate", "no".to_owned())), second(1));
        let failing = set(json!(first));
        let again = of(&failing, &[], Some(("FailedCreate", "still no".to_owned())), second(2));
        assert_eq!(
            (again.conditions.as_ref(), again.conditions.as_ref().map(Vec::len)),
            (first.conditions.as_ref(), Some(1))
        );
        assert_eq!(of(&failing, &[], None, second(3)).conditions, None);
    }
}
