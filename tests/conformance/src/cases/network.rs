//! Services, and the Endpoints and EndpointSlices that follow their pods.

use std::net::IpAddr;

use anneal_harness::{Needs, eventually};
use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::{Case, Cx, Kind, case::cases, fixtures::pod};

pub(super) fn cases() -> Vec<Case> {
    cases![
        Needs::API => [
            service_gets_an_address_and_defaults,
            headless_service_has_no_address,
            address_stays,
            address_is_given_once,
            node_port_is_allocated,
            names_every_fault_of_a_service,
        ],
        Needs::CONTROLLERS => [
            endpoints_list_ready_pods,
            slices_list_ready_pods,
            pods_that_are_not_ready_are_set_apart,
            pods_that_are_not_ready_may_be_published,
            deleted_and_ended_pods_leave,
            terminating_pod_is_marked,
            changed_selector_changes_the_endpoints,
            named_target_port_is_resolved_pod_by_pod,
            service_without_pods_has_empty_endpoints,
            service_without_a_selector_is_left_alone,
            deleted_service_takes_its_endpoints_along,
        ],
    ]
}

async fn service_gets_an_address_and_defaults(cx: Cx) -> Result<()> {
    let services = cx.objects(&Kind::SERVICE);
    let made = services.create(service("a", json!({}))).await?.is(201)?;
    let spec = &made["spec"];
    let ip = spec["clusterIP"].as_str().unwrap_or_default();
    ensure!(ip.parse::<IpAddr>().is_ok() && spec["clusterIPs"] == json!([ip]), "{spec}");
    for (field, value) in [
        ("type", json!("ClusterIP")),
        ("ports", json!([{ "port": 80, "targetPort": 80, "protocol": "TCP" }])),
        ("sessionAffinity", json!("None")),
        ("internalTrafficPolicy", json!("Cluster")),
        ("ipFamilyPolicy", json!("SingleStack")),
    ] {
        ensure!(spec[field] == value, "{field}: {spec}");
    }
    ensure!(spec["ipFamilies"].as_array().is_some_and(|families| families.len() == 1), "{spec}");
    ensure!(made["status"] == json!({ "loadBalancer": {} }), "{made}");
    let other = services.create(service("b", json!({}))).await?.is(201)?;
    ensure!(other["spec"]["clusterIP"] != ip, "{other}");
    Ok(())
}

async fn headless_service_has_no_address(cx: Cx) -> Result<()> {
    let made =
        cx.objects(&Kind::SERVICE).create(service("a", json!({ "clusterIP": "None" }))).await?.is(201)?;
    ensure!(made["spec"]["clusterIP"] == "None" && made["spec"]["clusterIPs"] == json!(["None"]), "{made}");
    Ok(())
}

async fn address_stays(cx: Cx) -> Result<()> {
    let services = cx.objects(&Kind::SERVICE);
    let made = services.create(service("a", json!({}))).await?.is(201)?;
    for ip in ["None", "10.96.255.250"] {
        let change = json!({ "spec": { "clusterIP": ip, "clusterIPs": [ip] } });
        let status = services.merge("a", change).await?.refused(422, "Invalid")?;
        ensure!(has_cause(&status, "spec.clusterIPs[0]", "FieldValueInvalid"), "{status}");
    }
    // Who replaces the object without knowing its address does not lose it.
    let mut replacement = service("a", json!({ "ports": [{ "port": 81 }] }));
    replacement["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"].clone();
    let replaced = services.update("a", &replacement).await?.is(200)?;
    ensure!(replaced["spec"]["clusterIP"] == made["spec"]["clusterIP"], "{replaced}");
    ensure!(replaced["spec"]["ports"][0]["targetPort"] == 81, "{replaced}");
    Ok(())
}

async fn address_is_given_once(cx: Cx) -> Result<()> {
    let services = cx.objects(&Kind::SERVICE);
    let made = services.create(service("a", json!({}))).await?.is(201)?;
    let same = service("b", json!({ "clusterIP": made["spec"]["clusterIP"] }));
    let status = services.create(same.clone()).await?.refused(422, "Invalid")?;
    ensure!(has_cause(&status, "spec.clusterIPs", "FieldValueInvalid"), "{status}");
    services.create_with("?dryRun=All", service("c", json!({}))).await?.is(201)?;
    services.delete("a").await?.is(200)?;
    // A deleted Service gives its address back.
    services.create(same).await?.is(201)?;
    Ok(())
}

async fn node_port_is_allocated(cx: Cx) -> Result<()> {
    let services = cx.objects(&Kind::SERVICE);
    let made = services.create(service("a", json!({ "type": "NodePort" }))).await?.is(201)?;
    let port = made["spec"]["ports"][0]["nodePort"].as_i64().unwrap_or(0);
    ensure!((30000..32768).contains(&port), "{made}");
    ensure!(made["spec"]["externalTrafficPolicy"] == "Cluster", "{made}");
    let plain = services.merge("a", json!({ "spec": { "type": "ClusterIP" } })).await?.is(200)?;
    ensure!(plain["spec"]["ports"][0]["nodePort"].is_null(), "{plain}");
    ensure!(plain["spec"]["clusterIP"] == made["spec"]["clusterIP"], "{plain}");
    Ok(())
}

async fn names_every_fault_of_a_service(cx: Cx) -> Result<()> {
    let ports =
        json!([{ "port": 0, "name": "a" }, { "port": 80 }, { "port": 81, "name": "a", "protocol": "IP" }]);
    let body = service("a", json!({ "ports": ports, "sessionAffinity": "Perhaps" }));
    let status = cx.objects(&Kind::SERVICE).create(body).await?.refused(422, "Invalid")?;
    for (field, reason) in [
        ("spec.ports[0].port", "FieldValueInvalid"),
        ("spec.ports[1].name", "FieldValueRequired"),
        ("spec.ports[2].name", "FieldValueDuplicate"),
        ("spec.ports[2].protocol", "FieldValueNotSupported"),
        ("spec.sessionAffinity", "FieldValueNotSupported"),
    ] {
        ensure!(has_cause(&status, field, reason), "no {reason} for {field}: {status}");
    }
    Ok(())
}

async fn endpoints_list_ready_pods(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    cx.objects(&Kind::SERVICE)
        .create(service("a", json!({ "ports": [{ "name": "web", "port": 80, "targetPort": 8080 }] })))
        .await?
        .is(201)?;
    let mut expected = Vec::new();
    for name in ["one", "two"] {
        cx.objects(&Kind::POD).create(labelled(name)).await?.is(201)?;
        let live = node.run(name, true).await?;
        expected.push(json!({
            "ip": live["status"]["podIP"], "nodeName": cx.namespace,
            "targetRef": {
                "kind": "Pod", "namespace": cx.namespace, "name": name, "uid": live["metadata"]["uid"]
            }
        }));
    }
    cx.objects(&Kind::POD).create(pod("bystander")).await?.is(201)?;
    node.run("bystander", true).await?;
    let subsets = json!([{
        "addresses": expected, "ports": [{ "name": "web", "port": 8080, "protocol": "TCP" }]
    }]);
    endpoints(&cx, "a", |found| found["subsets"] == subsets).await?;
    Ok(())
}

async fn slices_list_ready_pods(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    let made = cx.objects(&Kind::SERVICE).create(service("a", json!({}))).await?.is(201)?;
    for name in ["one", "two"] {
        cx.objects(&Kind::POD).create(labelled(name)).await?.is(201)?;
    }
    let ip = node.run("one", true).await?["status"]["podIP"].clone();
    node.run("two", true).await?;
    let slice = slice(&cx, "a", |found| count(found, "ready", true) == 2).await?;
    let labels = &slice["metadata"]["labels"];
    ensure!(labels["endpointslice.kubernetes.io/managed-by"] == "endpointslice-controller.k8s.io", "{slice}");
    let owner = &slice["metadata"]["ownerReferences"][0];
    ensure!(owner["uid"] == made["metadata"]["uid"] && owner["controller"] == true, "{slice}");
    ensure!(slice["addressType"] == "IPv4", "{slice}");
    ensure!(slice["ports"] == json!([{ "name": "", "port": 80, "protocol": "TCP" }]), "{slice}");
    let one = endpoint(&slice, "one");
    ensure!(one["addresses"] == json!([ip]) && one["nodeName"] == cx.namespace, "{slice}");
    ensure!(one["conditions"] == json!({ "ready": true, "serving": true, "terminating": false }), "{slice}");
    Ok(())
}

async fn pods_that_are_not_ready_are_set_apart(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    cx.objects(&Kind::SERVICE).create(service("a", json!({}))).await?.is(201)?;
    cx.objects(&Kind::POD).create(labelled("one")).await?.is(201)?;
    node.run("one", true).await?;
    endpoints(&cx, "a", |found| addresses(found, "addresses") == 1).await?;
    slice(&cx, "a", |found| count(found, "ready", true) == 1).await?;
    node.run("one", false).await?;
    endpoints(&cx, "a", |found| {
        addresses(found, "addresses") == 0 && addresses(found, "notReadyAddresses") == 1
    })
    .await?;
    let slice = slice(&cx, "a", |found| count(found, "ready", false) == 1).await?;
    let conditions = json!({ "ready": false, "serving": false, "terminating": false });
    ensure!(endpoint(&slice, "one")["conditions"] == conditions, "{slice}");
    Ok(())
}

async fn pods_that_are_not_ready_may_be_published(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    cx.objects(&Kind::SERVICE)
        .create(service("a", json!({ "publishNotReadyAddresses": true })))
        .await?
        .is(201)?;
    cx.objects(&Kind::POD).create(labelled("one")).await?.is(201)?;
    node.run("one", false).await?;
    endpoints(&cx, "a", |found| addresses(found, "addresses") == 1).await?;
    slice(&cx, "a", |found| count(found, "ready", true) == 1).await?;
    Ok(())
}

async fn deleted_and_ended_pods_leave(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    cx.objects(&Kind::SERVICE).create(service("a", json!({}))).await?.is(201)?;
    for name in ["one", "two", "three"] {
        cx.objects(&Kind::POD).create(labelled(name)).await?.is(201)?;
        node.run(name, true).await?;
    }
    slice(&cx, "a", |found| count(found, "ready", true) == 3).await?;
    node.remove("one").await?;
    node.end("two", 0).await?;
    let left = slice(&cx, "a", |found| endpoint_count(found) == 1).await?;
    ensure!(!endpoint(&left, "three").is_null(), "{left}");
    endpoints(&cx, "a", |found| {
        addresses(found, "addresses") == 1 && addresses(found, "notReadyAddresses") == 0
    })
    .await?;
    Ok(())
}

async fn terminating_pod_is_marked(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    cx.objects(&Kind::SERVICE).create(service("a", json!({}))).await?.is(201)?;
    cx.objects(&Kind::POD).create(labelled("one")).await?.is(201)?;
    node.run("one", true).await?;
    slice(&cx, "a", |found| count(found, "ready", true) == 1).await?;
    cx.objects(&Kind::POD).delete("one").await?.ok()?;
    // It serves while it can, but gets nothing new.
    let slice = slice(&cx, "a", |found| count(found, "terminating", true) == 1).await?;
    let conditions = json!({ "ready": false, "serving": true, "terminating": true });
    ensure!(endpoint(&slice, "one")["conditions"] == conditions, "{slice}");
    endpoints(&cx, "a", |found| {
        addresses(found, "addresses") == 0 && addresses(found, "notReadyAddresses") == 0
    })
    .await?;
    Ok(())
}

async fn changed_selector_changes_the_endpoints(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    cx.objects(&Kind::SERVICE).create(service("a", json!({}))).await?.is(201)?;
    for body in [labelled("one"), pod("other")] {
        cx.objects(&Kind::POD).create(body).await?.is(201)?;
    }
    node.run("one", true).await?;
    node.run("other", true).await?;
    slice(&cx, "a", |found| !endpoint(found, "one").is_null()).await?;
    cx.objects(&Kind::SERVICE)
        .merge("a", json!({ "spec": { "selector": { "app": "other" } } }))
        .await?
        .is(200)?;
    slice(&cx, "a", |found| endpoint(found, "one").is_null() && !endpoint(found, "other").is_null()).await?;
    let label = json!({ "metadata": { "labels": { "app": "none" } } });
    cx.objects(&Kind::POD).merge("other", label).await?.is(200)?;
    slice(&cx, "a", |found| endpoint_count(found) == 0).await?;
    Ok(())
}

async fn named_target_port_is_resolved_pod_by_pod(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    let ports = json!([{ "name": "web", "port": 80, "targetPort": "http" }]);
    cx.objects(&Kind::SERVICE).create(service("a", json!({ "ports": ports }))).await?.is(201)?;
    for (name, port) in [("one", 8080), ("two", 9090)] {
        let mut body = labelled(name);
        body["spec"]["containers"][0]["ports"] = json!([{ "name": "http", "containerPort": port }]);
        cx.objects(&Kind::POD).create(body).await?.is(201)?;
        node.run(name, true).await?;
    }
    let port =
        |slice: &Value| (slice["ports"][0]["name"] == "web").then(|| slice["ports"][0]["port"].clone());
    eventually("a slice for each port", async || {
        let slices = slices(&cx, "a").await?;
        let of = |pod: &str| slices.iter().find(|slice| !endpoint(slice, pod).is_null()).and_then(port);
        Ok((of("one") == Some(json!(8080)) && of("two") == Some(json!(9090))).then_some(()))
    })
    .await
}

async fn service_without_pods_has_empty_endpoints(cx: Cx) -> Result<()> {
    cx.objects(&Kind::SERVICE).create(service("a", json!({}))).await?.is(201)?;
    endpoints(&cx, "a", |found| found["subsets"].is_null()).await?;
    slice(&cx, "a", |found| endpoint_count(found) == 0).await?;
    Ok(())
}

async fn service_without_a_selector_is_left_alone(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    cx.objects(&Kind::SERVICE).create(service("free", json!({ "selector": null }))).await?.is(201)?;
    cx.objects(&Kind::SERVICE).create(service("a", json!({}))).await?.is(201)?;
    cx.objects(&Kind::POD).create(labelled("one")).await?.is(201)?;
    node.run("one", true).await?;
    endpoints(&cx, "a", |found| addresses(found, "addresses") == 1).await?;
    slice(&cx, "a", |found| endpoint_count(found) == 1).await?;
    cx.objects(&Kind::ENDPOINTS).get("free").await?.refused(404, "NotFound")?;
    ensure!(slices(&cx, "free").await?.is_empty());
    // Its endpoints are for others to write, and the slices follow them.
    let by_hand = json!({
        "metadata": { "name": "free" },
        "subsets": [{ "addresses": [{ "ip": "198.51.100.7" }], "ports": [{ "port": 80 }] }]
    });
    cx.objects(&Kind::ENDPOINTS).create(by_hand).await?.is(201)?;
    let mirror = slice(&cx, "free", |found| endpoint_count(found) == 1).await?;
    ensure!(mirror["endpoints"][0]["addresses"] == json!(["198.51.100.7"]), "{mirror}");
    Ok(())
}

async fn deleted_service_takes_its_endpoints_along(cx: Cx) -> Result<()> {
    cx.objects(&Kind::SERVICE).create(service("a", json!({}))).await?.is(201)?;
    endpoints(&cx, "a", |_| true).await?;
    slice(&cx, "a", |_| true).await?;
    cx.objects(&Kind::SERVICE).delete("a").await?.is(200)?;
    eventually("Endpoints and slices to be gone", async || {
        let endpoints = cx.objects(&Kind::ENDPOINTS).get("a").await?.status;
        Ok((endpoints == 404 && slices(&cx, "a").await?.is_empty()).then_some(()))
    })
    .await
}

/// A Service on port 80 for pods with the label `app: a`.
fn service(name: &str, spec: Value) -> Value {
    let mut service = json!({
        "metadata": { "name": name }, "spec": { "selector": { "app": "a" }, "ports": [{ "port": 80 }] }
    });
    for (field, value) in spec.as_object().into_iter().flatten() {
        service["spec"][field] = value.clone();
    }
    service
}

/// A pod with the label `app: a`.
fn labelled(name: &str) -> Value {
    let mut body = pod(name);
    body["metadata"]["labels"]["app"] = "a".into();
    body
}

fn has_cause(status: &Value, field: &str, reason: &str) -> bool {
    let causes = status["details"]["causes"].as_array();
    causes.into_iter().flatten().any(|cause| cause["field"] == field && cause["reason"] == reason)
}

/// How many addresses of a sort Endpoints hold.
fn addresses(endpoints: &Value, sort: &str) -> usize {
    let subsets = endpoints["subsets"].as_array().into_iter().flatten();
    subsets.filter_map(|subset| subset[sort].as_array()).map(Vec::len).sum()
}

fn endpoint_count(slice: &Value) -> usize {
    slice["endpoints"].as_array().map_or(0, Vec::len)
}

/// How many endpoints of a slice have a condition.
fn count(slice: &Value, condition: &str, is: bool) -> usize {
    let endpoints = slice["endpoints"].as_array().into_iter().flatten();
    endpoints.filter(|endpoint| endpoint["conditions"][condition] == is).count()
}

/// A pod's endpoint in a slice, or null.
fn endpoint(slice: &Value, pod: &str) -> Value {
    let mut endpoints = slice["endpoints"].as_array().into_iter().flatten();
    endpoints.find(|endpoint| endpoint["targetRef"]["name"] == pod).cloned().unwrap_or_default()
}

async fn endpoints(cx: &Cx, name: &str, is: impl Fn(&Value) -> bool) -> Result<Value> {
    let found = eventually(format!("the Endpoints of {name}"), async || {
        let reply = cx.objects(&Kind::ENDPOINTS).get(name).await?;
        if reply.status == 404 {
            return Ok(None);
        }
        let endpoints = reply.is(200)?;
        Ok(is(&endpoints).then_some(endpoints))
    })
    .await;
    match found {
        Err(error) => Err(error.context(cx.objects(&Kind::ENDPOINTS).get(name).await?.text())),
        found => found,
    }
}

async fn slices(cx: &Cx, service: &str) -> Result<Vec<Value>> {
    let query = format!("?labelSelector=kubernetes.io/service-name={service}");
    let list = cx.objects(&Kind::ENDPOINT_SLICE).list(&query).await?.ok()?;
    Ok(list["items"].as_array().cloned().unwrap_or_default())
}

/// The one slice of a Service, once it is as it should be.
async fn slice(cx: &Cx, service: &str, is: impl Fn(&Value) -> bool) -> Result<Value> {
    let found = eventually(format!("the slice of {service}"), async || {
        let slices = slices(cx, service).await?;
        ensure!(slices.len() <= 1, "{slices:?}");
        Ok(slices.into_iter().find(|slice| is(slice)))
    })
    .await;
    match found {
        Err(error) => Err(error.context(format!("{:?}", slices(cx, service).await?))),
        found => found,
    }
}
