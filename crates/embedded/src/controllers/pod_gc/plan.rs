//! Which finished pods are too many, and how a pod says that it was disrupted.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::controllers::records::Pod;

/// The finished pods beyond a number: evicted ones first, then the oldest.
pub fn too_many(mut pods: Vec<Arc<Pod>>, most: usize) -> Vec<Arc<Pod>> {
    pods.retain(|pod| pod.is_finished());
    let excess = pods.len().saturating_sub(most);
    if excess > 0 {
        pods.sort_by_cached_key(|pod| {
            let evicted = pod.status.phase == "Failed" && pod.status.reason == "Evicted";
            let created = pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
            (!evicted, created, pod.name().to_owned())
        });
    }
    pods.truncate(excess);
    pods
}

/// Conditions with one that says that the pod was given up.
pub fn disrupted(mut conditions: Vec<Value>, message: &str, now: Timestamp) -> Vec<Value> {
    let since =
        conditions.iter().position(|condition| condition["type"] == "DisruptionTarget").map(|known| {
            let known = conditions.remove(known);
            (known["status"] == "True").then(|| known["lastTransitionTime"].clone())
        });
    let now = json!(Timestamp::from_second(now.as_second()).unwrap_or(now).to_string());
    conditions.push(json!({
        "type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC", "message": message,
        "lastTransitionTime": since.flatten().unwrap_or(now),
    }));
    conditions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evicted_pods_go_first_and_then_the_oldest() {
        let pod = |name: &str, minute: u32, phase: &str, reason: &str| {
            let created = format!("2026-01-01T00:{minute:02}:00Z");
            let status = json!({ "phase": phase, "reason": reason });
            let metadata = json!({ "name": name, "creationTimestamp": created });
            let pod = serde_json::from_value(json!({ "metadata": metadata, "status": status }));
            Arc::new(pod.expect("a pod"))
        };
        let pods = vec![
            pod("young", 9, "Succeeded", ""),
            pod("old", 1, "Failed", "Error"),
            pod("evicted", 5, "Failed", "Evicted"),
            pod("running", 0, "Running", ""),
        ];
        let names = |most| {
            let gone = too_many(pods.clone(), most);
            gone.iter().map(|pod| pod.name().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(3), [""; 0]);
        assert_eq!(names(1), ["evicted", "old"]);
    }

    #[test]
    fn other_conditions_stay_word_for_word() {
        let ready = json!({ "type": "Ready", "status": "False", "reason": "PodFailed", "message": "why" });
        let now = Timestamp::UNIX_EPOCH;
        let first = disrupted(vec![ready.clone()], "gone", now);
        assert_eq!((first.len(), &first[0], &first[1]["reason"]), (2, &ready, &json!("DeletionByPodGC")));
        assert_eq!(disrupted(first.clone(), "gone", Timestamp::MAX), first);
    }
}
