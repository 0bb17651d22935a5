//! What happens to a pod beside writes: it is bound to a node, deleted with a grace period, asked for its log.

use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::api::{
    builtin::forms::text,
    error::{About, ApiError, Result},
    fault::{Faults, Path},
    object::{child, is_empty, name, timestamp},
    valid,
};

/// How many seconds a pod is given to end. Nobody has to end what never began or is over: those are gone at once.
pub fn grace_period(pod: &Value, requested: Option<i64>) -> i64 {
    let over = ["Failed", "Succeeded"].contains(&text(&pod["status"], "phase"));
    if text(&pod["spec"], "nodeName").is_empty() || over {
        return 0;
    }
    let period = requested.or_else(|| pod["spec"]["terminationGracePeriodSeconds"].as_i64()).unwrap_or(0);
    if period < 0 { 1 } else { period }
}

/// Binds a pod to the node that a Binding names. Binding counts for no generation.
pub fn bind(pod: &mut Value, binding: &Value, now: Timestamp) -> Result<()> {
    let target = &binding["target"];
    let mut faults = Faults::default();
    if !text(target, "kind").is_empty() {
        valid::one_of(&target["kind"], &["Node", "<empty>"], &Path::new("target.kind"), &mut faults);
    }
    if text(target, "name").is_empty() {
        faults.required(&Path::new("target.name"), "");
    }
    if !faults.is_empty() {
        // Upstream has no reason for this refusal, and no better code.
        return Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "", faults.to_string()));
    }
    if let Some(why) = not_bindable(pod) {
        return Err(ApiError::conflict(About { group: "", resource: "pods/binding", name: name(pod) }, &why));
    }
    pod["spec"]["nodeName"] = target["name"].clone();
    for field in ["annotations", "labels"] {
        merge_texts(pod, binding, field);
    }
    if let Some(status) = child(pod, "status") {
        status.remove("nominatedNodeName");
    }
    set_condition(pod, "PodScheduled", now);
    Ok(())
}

fn not_bindable(pod: &Value) -> Option<String> {
    let name = name(pod);
    if !pod["metadata"]["deletionTimestamp"].is_null() {
        return Some(format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    match text(&pod["spec"], "nodeName") {
        "" if is_empty(&pod["spec"]["schedulingGates"]) => None,
        "" => Some(format!("pod {name} has non-empty .spec.schedulingGates")),
        node => Some(format!("pod {name} is already assigned to node {node:?}")),
    }
}

/// What a scheduler says about the pod goes with the binding.
fn merge_texts(pod: &mut Value, binding: &Value, field: &str) {
    let Some(texts) = binding["metadata"][field].as_object().filter(|texts| !texts.is_empty()) else {
        return;
    };
    if pod["metadata"][field].is_null() {
        pod["metadata"][field] = json!({});
    }
    if let Some(own) = pod["metadata"][field].as_object_mut() {
        own.extend(texts.clone());
    }
}

/// Makes a condition true, in its place if it is there.
fn set_condition(pod: &mut Value, kind: &str, now: Timestamp) {
    let condition = json!({
        "type": kind, "status": "True", "lastProbeTime": null, "lastTransitionTime": timestamp(now)
    });
    match pod["status"]["conditions"].as_array_mut() {
        Some(conditions) => match conditions.iter_mut().find(|condition| condition["type"] == kind) {
            Some(place) => *place = condition,
            None => conditions.push(condition),
        },
        None => pod["status"]["conditions"] = json!([condition]),
    }
}

/// Whose log is meant. A pod of one container needs no name.
pub fn log_container<'a>(pod: &'a Value, requested: &'a str) -> Result<&'a str> {
    let names = |field: &str| -> Vec<&'a str> {
        pod["spec"][field].as_array().into_iter().flatten().map(|container| text(container, "name")).collect()
    };
    let (regular, init) = (names("containers"), names("initContainers"));
    if !requested.is_empty() {
        let known = regular.contains(&requested)
            || init.contains(&requested)
            || names("ephemeralContainers").contains(&requested);
        let refusal = || format!("container {requested} is not valid for pod {}", name(pod));
        return if known { Ok(requested) } else { Err(ApiError::bad_request(refusal())) };
    }
    if let [only] = regular.as_slice() {
        return Ok(only);
    }
    let mut message = format!(
        "a container name must be specified for pod {}, choose one of: [{}]",
        name(pod),
        regular.join(" ")
    );
    if !init.is_empty() {
        message.push_str(&format!(" or one of the init containers: [{}]", init.join(" ")));
    }
    Err(ApiError::bad_request(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(node: &str) -> Value {
        json!({
            "metadata": { "name": "a" },
            "spec": { "nodeName": node, "terminationGracePeriodSeconds": 30, "containers": [{ "name": "c" }] },
            "status": { "phase": "Running", "nominatedNodeName": "n" }
        })
    }

    #[test]
    fn only_what_runs_is_given_time_to_end() {
        assert_eq!(grace_period(&pod("n"), None), 30);
        assert_eq!(grace_period(&pod("n"), Some(5)), 5);
        assert_eq!(grace_period(&pod("n"), Some(-5)), 1);
        assert_eq!(grace_period(&pod(""), Some(5)), 0);
        let mut over = pod("n");
        over["status"]["phase"] = "Failed".into();
        assert_eq!(grace_period(&over, None), 0);
    }

    #[test]
    fn a_pod_is_bound_once() {
        let now = Timestamp::UNIX_EPOCH;
        let binding =
            json!({ "metadata": { "name": "a", "labels": { "zone": "z" } }, "target": { "name": "n" } });
        let mut pod = pod("");
        bind(&mut pod, &binding, now).unwrap();
        assert_eq!(pod["spec"]["nodeName"], "n");
        assert_eq!(pod["metadata"]["labels"], json!({ "zone": "z" }));
        let condition = json!({
            "type": "PodScheduled", "status": "True",
            "lastProbeTime": null, "lastTransitionTime": "1970-01-01T00:00:00Z"
        });
        assert_eq!(pod["status"], json!({ "phase": "Running", "conditions": [condition] }));
        let refusal = bind(&mut pod, &binding, now).unwrap_err();
        assert_eq!((refusal.code.as_u16(), refusal.reason), (409, "Conflict"));
        assert!(refusal.message.contains("pods/binding \"a\": pod a is already assigned to node \"n\""));
    }

    #[test]
    fn neither_a_gated_nor_a_terminating_pod_is_bound() {
        let binding = json!({ "metadata": { "name": "a" }, "target": { "name": "n" } });
        for (field, value) in [
            ("/spec", json!({ "schedulingGates": [{ "name": "g" }] })),
            ("/metadata", json!({ "name": "a", "deletionTimestamp": "1970-01-01T00:00:00Z" })),
        ] {
            let mut pod = pod("");
            *pod.pointer_mut(field).unwrap() = value;
            assert_eq!(bind(&mut pod, &binding, Timestamp::UNIX_EPOCH).unwrap_err().reason, "Conflict");
        }
    }

    #[test]
    fn a_log_needs_to_know_the_container() {
        let mut pod = pod("n");
        assert_eq!(log_container(&pod, "").unwrap(), "c");
        pod["spec"]["containers"] = json!([{ "name": "b" }, { "name": "c" }]);
        assert_eq!(log_container(&pod, "b").unwrap(), "b");
        assert!(log_container(&pod, "").unwrap_err().message.ends_with("choose one of: [b c]"));
        assert_eq!(log_container(&pod, "d").unwrap_err().code.as_u16(), 400);
    }
}
