//! A played node: scheduler and kubelet for the pods of one namespace.
//!
//! On a control plane without nodes nothing ever runs. This binds pods and writes the status that a
//! kubelet would write, so that controllers which look at pods can be tested. It is told what to
//! do, pod by pod: nothing happens behind the test's back.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::{Http, PatchKind, eventually};

/// Plays scheduler and kubelet in a namespace.
#[derive(Clone)]
pub struct PlayedNode {
    http: Http,
    namespace: String,
    node: String,
    addresses: Arc<AtomicU8>,
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
        Ok(Self {
            http: http.clone(),
            namespace: namespace.to_owned(),
            node: namespace.to_owned(),
            addresses: Arc::new(AtomicU8::new(1)),
        })
    }

    /// Binds a pod, as the scheduler does, and waits until the server's own watchers have seen it.
    ///
    /// Upstream judges a deletion by the pod in its cache first: one that is not bound there yet may lose
    /// its grace period.
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
        let query = format!("resourceVersion=0&fieldSelector=metadata.name%3D{pod}");
        let cached = format!("/api/v1/namespaces/{}/pods?{query}", self.namespace);
        eventually(format!("the server to know that {pod} is bound"), || async {
            let list = self.http.get(&cached).await?.ok()?;
            Ok(list["items"][0]["spec"]["nodeName"].is_string().then_some(()))
        })
        .await
    }

    /// Binds a pod if need be and reports it running and ready, or not ready. Each pod gets an address of
    /// its own and keeps it.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn run(&self, pod: &str, ready: bool) -> Result<Value> {
        let live = self.bound(pod).await?;
        let now = &live["metadata"]["creationTimestamp"];
        let state = json!({ "running": { "startedAt": now } });
        self.report(&live, "Running", ready, state).await
    }

    /// Binds a pod if need be and reports it as ended, with this exit code in every container.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn end(&self, pod: &str, exit_code: i32) -> Result<Value> {
        let live = self.bound(pod).await?;
        let now = &live["metadata"]["creationTimestamp"];
        let (phase, reason) = if exit_code == 0 { ("Succeeded", "Completed") } else { ("Failed", "Error") };
        let state = json!({
            "terminated": { "exitCode": exit_code, "reason": reason, "startedAt": now, "finishedAt": now }
        });
        self.report(&live, phase, false, state).await
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

    async fn bound(&self, pod: &str) -> Result<Value> {
        let live = self.http.get(&self.path(pod, "")).await?.ok()?;
        if live["spec"]["nodeName"].is_null() {
            self.bind(pod).await?;
        }
        Ok(live)
    }

    /// Writes everything in one go, as kubelets do: some controllers look at nothing else that changes
    /// together with readiness.
    async fn report(&self, live: &Value, phase: &str, ready: bool, state: Value) -> Result<Value> {
        let ip = match live["status"]["podIP"].as_str() {
            Some(ip) => ip.to_owned(),
            None => format!("192.0.2.{}", self.addresses.fetch_add(1, Ordering::Relaxed)),
        };
        let now = &live["metadata"]["creationTimestamp"];
        let condition = |kind: &str, is: bool| {
            let status = if is { "True" } else { "False" };
            json!({ "type": kind, "status": status, "lastTransitionTime": now })
        };
        let container = |container: &Value| {
            json!({
                "name": container["name"], "image": container["image"], "imageID": "played", "ready": ready,
                "started": phase == "Running", "restartCount": 0, "containerID": "played://1", "state": state
            })
        };
        let containers = live["spec"]["containers"].as_array().into_iter().flatten();
        let status = json!({
            "phase": phase,
            "startTime": now,
            "podIP": ip,
            "podIPs": [{ "ip": ip }],
            "hostIP": "198.51.100.1",
            "conditions": [
                condition("PodScheduled", true),
                condition("Initialized", true),
                condition("ContainersReady", ready),
                condition("Ready", ready)
            ],
            "containerStatuses": containers.map(container).collect::<Vec<_>>()
        });
        self.status(live["metadata"]["name"].as_str().unwrap_or_default(), status).await
    }

    fn path(&self, pod: &str, subresource: &str) -> String {
        format!("/api/v1/namespaces/{}/pods/{pod}{subresource}", self.namespace)
    }
}
