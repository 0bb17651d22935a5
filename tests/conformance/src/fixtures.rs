//! Objects that cases make again and again, and what they look for in answers.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

/// A ConfigMap with one entry, the plainest of objects.
pub fn config_map(name: &str, value: &str) -> Value {
    json!({ "metadata": { "name": name }, "data": { "key": value } })
}

/// A pod that nothing schedules but the test itself.
pub fn pod(name: &str) -> Value {
    json!({ "metadata": { "name": name, "labels": { "app": name } }, "spec": pod_spec() })
}

/// The spec of such a pod.
pub fn pod_spec() -> Value {
    json!({
        "schedulerName": "the-test",
        "terminationGracePeriodSeconds": 5,
        "containers": [{ "name": "main", "image": "registry.invalid/app:1" }]
    })
}

/// A Lease, plain and never touched by a controller.
pub fn lease(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": { "holderIdentity": "first" } })
}

/// An object's version as the number it is.
pub fn version(object: &Value) -> Result<u64> {
    let version = object["metadata"]["resourceVersion"].as_str();
    version.and_then(|version| version.parse().ok()).with_context(|| format!("no version: {object}"))
}

/// Whether a refusal names this field for this reason.
pub fn has_cause(status: &Value, field: &str, reason: &str) -> Result<()> {
    let causes = status["details"]["causes"].as_array();
    let found =
        causes.into_iter().flatten().any(|cause| cause["field"] == field && cause["reason"] == reason);
    ensure!(found, "no cause {reason} for {field}: {status}");
    Ok(())
}

/// A Deployment or ReplicaSet that wants no pods.
pub fn no_pods(name: &str) -> Value {
    let labels = json!({ "app": name });
    json!({
        "metadata": { "name": name },
        "spec": {
            "replicas": 0,
            "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": pod_spec() }
        }
    })
}

/// A schema that takes any spec and status.
pub fn free_form() -> Value {
    let anything = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    json!({ "type": "object", "properties": { "spec": anything, "status": anything } })
}
