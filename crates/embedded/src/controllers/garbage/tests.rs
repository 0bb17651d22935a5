//! Kinds that come and go while the collector runs. Upstream's takes up to half a minute to notice them, so these are
//! no cases of the conformance suite.

use std::time::Duration;

use http::Request;
use serde_json::{Value, json};

use super::*;
use crate::{Cluster, Options, User};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const APPLES: &str = "/apis/example.com/v1/namespaces/default/apples";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn call(client: &Client, method: &str, path: &str, body: &Value) -> kube::Result<Value> {
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    client.request(request.body(body.to_string().into_bytes()).expect("a request")).await
}

/// Makes an object, as soon as its kind is served and its namespace there.
async fn make(client: &Client, path: &str, object: &Value) -> Value {
    for _ in 0..500 {
        match call(client, "POST", path, object).await {
            Err(kube::Error::Api(status)) if status.code == 404 => pause().await,
            made => return made.expect("an object"),
        }
    }
    panic!("{path} is not served");
}

async fn gone(client: &Client, path: &str) {
    for _ in 0..500 {
        match call(client, "GET", path, &Value::Null).await {
            Err(kube::Error::Api(status)) if status.code == 404 => return,
            _ => pause().await,
        }
    }
    panic!("{path} is still there");
}

async fn pause() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}

async fn cluster_with_apples() -> (Cluster, Client) {
    let cluster = Cluster::start(Options::default()).await.expect("a cluster");
    let client = cluster.client(User::admin());
    let schema = json!({ "type": "object" });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "apples.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": { "plural": "apples", "singular": "apple", "kind": "Apple", "listKind": "AppleList" },
            "versions": [
                { "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } },
            ],
        },
    });
    make(&client, DEFINITIONS, &definition).await;
    (cluster, client)
}

/// Waits until the collector has dealt with something.
async fn at_work(client: &Client) {
    let absent = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "n", "uid": "2" } });
    make(client, MAPS, &map("later", Some(&absent))).await;
    gone(client, &format!("{MAPS}/later")).await;
}

fn apple(name: &str, owner: Option<&Value>) -> Value {
    object("example.com/v1", "Apple", name, owner)
}

fn map(name: &str, owner: Option<&Value>) -> Value {
    object("v1", "ConfigMap", name, owner)
}

fn object(api_version: &str, kind: &str, name: &str, owner: Option<&Value>) -> Value {
    let owner = owner.map(|owner| {
        json!({
            "apiVersion": owner["apiVersion"], "kind": owner["kind"],
            "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
        })
    });
    let owners: Vec<_> = owner.into_iter().collect();
    json!({
        "apiVersion": api_version, "kind": kind,
        "metadata": { "name": name, "ownerReferences": owners },
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_of_a_new_kind_own_and_are_owned() {
    let (cluster, client) = cluster_with_apples().await;
    let owner = make(&client, MAPS, &map("owner", None)).await;
    let apple = make(&client, APPLES, &apple("a", Some(&owner))).await;
    make(&client, MAPS, &map("dependent", Some(&apple))).await;
    call(&client, "DELETE", &format!("{MAPS}/owner"), &Value::Null).await.expect("deleted");
    gone(&client, &format!("{APPLES}/a")).await;
    gone(&client, &format!("{MAPS}/dependent")).await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dependents_go_with_the_definition_of_their_owner() {
    let (cluster, client) = cluster_with_apples().await;
    let apple = make(&client, APPLES, &apple("a", None)).await;
    make(&client, MAPS, &map("dependent", Some(&apple))).await;
    // A collector that starts after the end of a definition cannot know of it, and leaves its dependents alone.
    at_work(&client).await;
    call(&client, "DELETE", &format!("{DEFINITIONS}/apples.example.com"), &Value::Null)
        .await
        .expect("deleted");
    gone(&client, &format!("{MAPS}/dependent")).await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_of_a_kind_that_nobody_serves_is_not_taken_for_absent() {
    let (cluster, client) = cluster_with_apples().await;
    let pear = json!({
        "apiVersion": "example.com/v1", "kind": "Pear", "metadata": { "name": "p", "uid": "1" },
    });
    let kept = make(&client, MAPS, &map("kept", Some(&pear))).await;
    // The collector has looked at the one before when it has dealt with a later one.
    at_work(&client).await;
    let still = call(&client, "GET", &format!("{MAPS}/kept"), &Value::Null).await.expect("it is there");
    assert_eq!(still["metadata"]["uid"], kept["metadata"]["uid"]);
    cluster.stop().await;
}
