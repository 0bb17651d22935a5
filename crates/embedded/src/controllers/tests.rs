//! The controllers together: what they make of objects comes to rest, and at rest nothing is written.

use std::{path::Path, time::Duration};

use anneal_kit::Clock;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Client, ResourceExt,
    api::{DynamicObject, ListParams, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{Value, json};

use crate::{Cluster, Data, Options, User};

const DEPLOYMENTS: usize = 20;

async fn start(directory: &Path) -> Cluster {
    let data = Data::Directory(directory.to_owned());
    Cluster::start(Options { data, clock: Clock::machine(), ..Options::default() }).await.unwrap()
}

fn api(client: &Client, group: &str, kind: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
    Api::namespaced_with(client.clone(), "default", &resource)
}

async fn create(client: &Client, object: Value) {
    let (version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
    let group = version.split_once('/').map_or("", |(group, _)| group);
    let object: DynamicObject = serde_json::from_value(object.clone()).unwrap();
    api(client, group, kind).create(&PostParams::default(), &object).await.unwrap();
}

fn template(name: &str, restart: &str) -> Value {
    json!({
        "metadata": { "labels": { "app": name } },
        "spec": { "restartPolicy": restart, "containers": [{ "name": "main", "image": "example.com/a:1" }] },
    })
}

/// Plays scheduler and kubelet for the pods there are: those of Jobs end well, the others become ready.
async fn play(client: &Client) {
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    for pod in pods.list(&ListParams::default()).await.unwrap() {
        let name = pod.name_any();
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default();
        if phase != "Pending" {
            continue;
        }
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": { "name": name },
            "target": { "kind": "Node", "name": "local" },
        });
        let path = format!("/api/v1/namespaces/default/pods/{name}/binding");
        let request = http::Request::post(path).header("content-type", "application/json");
        client.request_text(request.body(binding.to_string().into_bytes()).unwrap()).await.unwrap();
        let ends = pod.labels().contains_key("job-name");
        let phase = if ends { "Succeeded" } else { "Running" };
        let ready = if ends { "False" } else { "True" };
        let time = "2026-01-01T00:00:00Z";
        let conditions = json!([{ "type": "Ready", "status": ready, "lastTransitionTime": time }]);
        let status = json!({ "status": { "phase": phase, "podIP": "127.1.0.1", "conditions": conditions } });
        pods.patch_status(&name, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    }
}

async fn all_available(client: &Client) -> bool {
    let deployments = api(client, "apps", "Deployment").list(&ListParams::default()).await.unwrap();
    let jobs = api(client, "batch", "Job").list(&ListParams::default()).await.unwrap();
    deployments.iter().all(|deployment| deployment.data["status"]["availableReplicas"] == 3)
        && jobs.iter().all(|job| job.data["status"]["succeeded"] == 1)
}

/// Lets time pass in which everything that still wants to be done is done.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::sleep(time).await;
    tokio::time::resume();
}

#[tokio::test]
async fn at_rest_nothing_is_written() {
    const TEN_MINUTES: Duration = Duration::from_secs(600);
    let directory = tempfile::tempdir().unwrap();
    let cluster = start(directory.path()).await;
    let client = cluster.client(User::admin());
    let node: k8s_openapi::api::core::v1::Node =
        serde_json::from_value(json!({ "metadata": { "name": "local" } })).unwrap();
    Api::all(client.clone()).create(&PostParams::default(), &node).await.unwrap();
    for number in 0..DEPLOYMENTS {
        let name = format!("web-{number}");
        let (meta, labels) = (json!({ "name": name }), json!({ "app": name }));
        let selector = json!({ "matchLabels": labels });
        create(
            &client,
            json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": {
            "replicas": 3, "selector": selector, "template": template(&name, "Always") } }),
        )
        .await;
        create(
            &client,
            json!({ "apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {
            "selector": labels, "ports": [{ "port": 80 }] } }),
        )
        .await;
        create(
            &client,
            json!({ "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": {
            "minAvailable": 1, "selector": selector } }),
        )
        .await;
        create(
            &client,
            json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {
            "template": template(&format!("job-{number}"), "Never") } }),
        )
        .await;
    }
    while !all_available(&client).await {
        play(&client).await;
    }
    // Events are still being written, and some statuses.
    pass(TEN_MINUTES).await;
    let rest = cluster.server.store.revision();
    pass(TEN_MINUTES).await;
    assert_eq!(cluster.server.store.revision(), rest, "at rest");

    cluster.stop().await;
    let cluster = start(directory.path()).await;
    pass(TEN_MINUTES).await;
    assert_eq!(cluster.server.store.revision(), rest, "after a restart");
    cluster.stop().await;
}
