//! What a new pod is like, and which pods are missed least.

use std::{cmp::Ordering, cmp::Reverse, collections::HashMap, sync::Arc};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::controllers::{
    claim,
    records::{Pod, ReplicaSet},
};

/// By which people say what losing a pod costs: the cheap ones go first.
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
/// The longest name of an object: a set's name that long leaves no room for a dash.
const LONGEST_NAME: usize = 253;

/// A pod of a set, to be made.
pub fn pod(set: &ReplicaSet) -> Value {
    let (template, name) = (&set.spec.template, set.name());
    let dash = if name.len() < LONGEST_NAME { "-" } else { "" };
    let mut metadata = json!({
        "generateName": format!("{name}{dash}"),
        "ownerReferences": claim::reference(set).into_iter().collect::<Vec<_>>(),
    });
    for field in ["labels", "annotations", "finalizers"] {
        if let Some(value) = template["metadata"].get(field) {
            metadata[field] = value.clone();
        }
    }
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"] })
}

/// So many of the pods, which are all active, those first that are missed least.
pub fn victims(
    mut pods: Vec<Arc<Pod>>,
    count: usize,
    neighbours: &HashMap<String, usize>,
    now: Timestamp,
) -> Vec<Arc<Pod>> {
    if count < pods.len() {
        pods.sort_by(|a, b| by_loss(a, b, neighbours, now));
        pods.truncate(count);
    }
    pods
}

/// The order in which pods are given up: those that do not serve yet, then cheap ones, then those with many
/// neighbours, then the young.
fn by_loss(a: &Pod, b: &Pod, neighbours: &HashMap<String, usize>, now: Timestamp) -> Ordering {
    let crowd = |pod: &Pod| Reverse(neighbours.get(&pod.spec.node_name).copied().unwrap_or_default());
    let restarts = |pod: &Pod| {
        let statuses = pod.status.container_statuses.iter();
        Reverse(statuses.map(|status| status.restart_count).max().unwrap_or_default())
    };
    let created = |pod: &Pod| pod.metadata.creation_timestamp.as_ref().map(|time| age(time.0, now));
    let ready = |pod: &Pod| pod.ready_since().map(|since| age(since, now));
    let serves = |pod: &Pod| (!pod.spec.node_name.is_empty(), phase(pod), pod.is_ready(), cost(pod));
    serves(a)
        .cmp(&serves(b))
        .then_with(|| crowd(a).cmp(&crowd(b)))
        .then_with(|| ready(a).cmp(&ready(b)))
        .then_with(|| restarts(a).cmp(&restarts(b)))
        .then_with(|| created(a).cmp(&created(b)))
        .then_with(|| a.metadata.uid.cmp(&b.metadata.uid))
}

fn phase(pod: &Pod) -> u8 {
    match pod.status.phase.as_str() {
        "Running" => 2,
        "Unknown" => 1,
        _ => 0,
    }
}

/// As people say it: no plus sign, no leading zeros. Who says nothing sensible says 0.
fn cost(pod: &Pod) -> i32 {
    let cost = pod.metadata.annotations.as_ref().and_then(|annotations| annotations.get(DELETION_COST));
    let cost = cost.filter(|cost| !cost.starts_with('+') && (!cost.starts_with('0') || *cost == "0"));
    cost.and_then(|cost| cost.parse().ok()).unwrap_or_default()
}

/// Ages of the same power of two count as the same, and chance decides between them, so that not all the pods of one
/// moment go.
fn age(since: Timestamp, now: Timestamp) -> Option<u32> {
    u128::try_from(now.duration_since(since).as_nanos()).unwrap_or_default().checked_ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn pod(name: &str, change: impl FnOnce(&mut Value)) -> Arc<Pod> {
        let mut pod = json!({
            "metadata": { "name": name, "uid": name, "creationTimestamp": second(0).to_string() },
            "spec": { "nodeName": "n" },
            "status": {
                "phase": "Running",
                "conditions": [
                    { "type": "Ready", "status": "True", "lastTransitionTime": second(0).to_string() }
                ]
            }
        });
        change(&mut pod);
        Arc::new(serde_json::from_value(pod).unwrap())
    }

    #[test]
    fn pods_that_are_missed_least_go_first() {
        let pods = vec![
            pod("dear", |pod| pod["metadata"]["annotations"] = json!({ DELETION_COST: "5" })),
            pod("old", |_| ()),
            pod("young", |pod| {
                pod["metadata"]["creationTimestamp"] = second(900).to_string().into();
            }),
            pod("restarted", |pod| pod["status"]["containerStatuses"] = json!([{ "restartCount": 3 }])),
            pod("just ready", |pod| {
                pod["status"]["conditions"][0]["lastTransitionTime"] = second(990).to_string().into();
            }),
            pod("crowded", |pod| pod["spec"]["nodeName"] = "m".into()),
            pod("cheap", |pod| pod["metadata"]["annotations"] = json!({ DELETION_COST: "-5" })),
            pod("unready", |pod| pod["status"]["conditions"][0]["status"] = "False".into()),
            pod("pending", |pod| pod["status"]["phase"] = "Pending".into()),
            pod("unbound", |pod| pod["spec"]["nodeName"] = "".into()),
        ];
        let wanted: Vec<_> = pods.iter().rev().map(|pod| pod.name().to_owned()).collect();
        let neighbours = HashMap::from([("m".to_owned(), 2), ("n".to_owned(), 1)]);
        for count in 0..pods.len() {
            let victims = victims(pods.clone(), count, &neighbours, second(1000));
            let names: Vec<_> = victims.iter().map(|pod| pod.name().to_owned()).collect();
            assert_eq!(names, wanted[..count]);
        }
    }

    #[test]
    fn any_number_of_pods_has_an_order() {
        // Uids in no order, times in flocks, some unknown: whatever is compared, it must be the same for all.
        let of = |number: usize| {
            let uid = format!("{:04}", number * 7919 % 1009);
            pod(&uid, |pod| {
                pod["metadata"]["creationTimestamp"] = match number % 7 {
                    0 => Value::Null,
                    _ => second(i64::try_from(number / 3).unwrap()).to_string().into(),
                };
                let ready = second(i64::try_from(number % 90).unwrap()).to_string();
                pod["status"]["conditions"][0]["lastTransitionTime"] = ready.into();
            })
        };
        let pods: Vec<_> = (0..400).map(of).collect();
        let names = |pods: &[Arc<Pod>]| pods.iter().map(|pod| pod.name().to_owned()).collect::<Vec<_>>();
        let one = victims(pods.clone(), 399, &HashMap::new(), second(1000));
        let other = victims(pods.into_iter().rev().collect(), 399, &HashMap::new(), second(1000));
        assert_eq!(names(&one), names(&other));
    }
}
