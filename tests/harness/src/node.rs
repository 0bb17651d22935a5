//! A played node: scheduler and kubelet for the pods of one namespace.
//!
//! On a control plane without nodes nothing ever runs. This binds pods and writes the status that a
//! kubelet would write, so that controllers which look at pods can be tested. It is told what to
//! do, pod by pod: nothing happens behind the test's back.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::{Http, PatchKind};

/// Plays scheduler and kubelet in a namespace.
#[derive(Clone)]
pub struct PlayedNode {
    http: Http,
    namespace: String,
    node: String,
}

impl PlayedNode {
    /// For a namespace, with a Node object that bears the namespace's name.
    ///
    /// # Errors
    /// When the server does not make the Node.
    pub async fn new(http: &Http, namespace: &str) -> Result<Self> {
        let node = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": { "name": namespace, "labels": { "anneal.dev/test": "true" } }
        });
        let reply = http.post("/api/v1/nodes", &node).await?;
        ensure!(matches!(reply.status, 201 | 409), "making a node: {reply}");
        Ok(Self { http: http.clone(), namespace: namespace.to_owned(), node: namespace.to_owned() })
    }

    /// Binds a pod, as the scheduler does.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn bind(&self, pod: &str) -> Result<()> {
        let binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": { "name": pod },
            "target": { "apiVersion": "v1", "kind": "Node", "name": self.node }
        });
        self.http.post(&self.path(pod, "/binding"), &binding).await?.is(201)?;
        Ok(())
    }

    /// Binds a pod if need be and reports it running and ready, or not ready.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn run(&self, pod: &str, ready: bool) -> Result<Value> {
        let live = self.http.get(&self.path(pod, "")).await?.ok()?;
        if live["spec"]["nodeName"].is_null() {
            self.bind(pod).await?;
        }
        let now = live["metadata"]["creationTimestamp"].clone();
        let ready_text = if ready { "True" } else { "False" };
        let containers = live["spec"]["containers"].as_array().cloned().unwrap_or_default();
        let container = |container: &Value| {
            json!({
                "name": container["name"], "image": container["image"], "imageID": "played", "ready": ready,
                "started": true, "restartCount": 0, "containerID": "played://1",
                "state": { "running": { "startedAt": now } }
            })
        };
        self.status(
            pod,
            json!({
                "phase": "Running",
                "startTime": now,
                "podIP": "192.0.2.1",
                "podIPs": [{ "ip": "192.0.2.1" }],
                "hostIP": "192.0.2.2",
                "conditions": [
                    { "type": "PodScheduled", "status": "True", "lastTransitionTime": now },
                    { "type": "Initialized", "status": "True", "lastTransitionTime": now },
                    { "type": "ContainersReady", "status": ready_text, "lastTransitionTime": now },
                    { "type": "Ready", "status": ready_text, "lastTransitionTime": now }
                ],
                "containerStatuses": containers.iter().map(container).collect::<Vec<_>>()
            }),
        )
        .await
    }

    /// Reports a pod as ended, with this exit code in every container.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn end(&self, pod: &str, exit_code: i32) -> Result<Value> {
        let live = self.run(pod, false).await?;
        let now = live["metadata"]["creationTimestamp"].clone();
        let reason = if exit_code == 0 { "Completed" } else { "Error" };
        let mut containers = live["status"]["containerStatuses"].as_array().cloned().unwrap_or_default();
        for container in &mut containers {
            container["started"] = false.into();
            container["state"] = json!({
                "terminated": { "exitCode": exit_code, "reason": reason, "startedAt": now, "finishedAt": now }
            });
        }
        let phase = if exit_code == 0 { "Succeeded" } else { "Failed" };
        self.status(pod, json!({ "phase": phase, "containerStatuses": containers })).await
    }

    /// Removes a pod for good, as the kubelet does once its containers have stopped.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn remove(&self, pod: &str) -> Result<()> {
        let reply = self.http.delete(&self.path(pod, ""), &json!({ "gracePeriodSeconds": 0 })).await?;
        ensure!(matches!(reply.status, 200 | 404), "removing a pod: {reply}");
        Ok(())
    }

    /// Writes a pod's status by merge patch.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn status(&self, pod: &str, status: Value) -> Result<Value> {
        let patch = json!({ "status": status });
        self.http.patch(&self.path(pod, "/status"), PatchKind::Merge, &patch).await?.ok()
    }

    fn path(&self, pod: &str, subresource: &str) -> String {
        format!("/api/v1/namespaces/{}/pods/{pod}{subresource}", self.namespace)
    }
}
