//! What only a real node can show: logs, probes, restarts.

use anneal_harness::{Needs, eventually};
use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::{Case, Cx, Kind, case::cases};

pub(super) fn cases() -> Vec<Case> {
    cases![
        Needs::NODE => [
            pod_runs_and_gets_an_address,
            log_returns_what_was_printed,
            failing_container_is_restarted,
            exit_code_and_reason_are_recorded,
            failing_liveness_probe_restarts_the_container,
            readiness_probe_gates_the_endpoints,
            termination_is_graceful,
            missing_image_is_told,
        ],
    ]
}

async fn pod_runs_and_gets_an_address(cx: Cx) -> Result<()> {
    cx.objects(&Kind::POD).create(shell("a", "sleep 600")).await?.is(201)?;
    let running = awaited(&cx, "a", "to be ready", |pod| is_ready(pod, "True")).await?;
    let status = &running["status"];
    ensure!(status["phase"] == "Running" && !status["startTime"].is_null(), "{status}");
    let ip = status["podIP"].as_str().unwrap_or_default();
    ensure!(ip.parse::<std::net::IpAddr>().is_ok() && status["podIPs"][0]["ip"] == ip, "{status}");
    ensure!(!status["hostIP"].is_null() && !running["spec"]["nodeName"].is_null(), "{running}");
    let container = &status["containerStatuses"][0];
    ensure!(container["ready"] == true && container["started"] == true, "{container}");
    ensure!(container["restartCount"] == 0 && !container["state"]["running"].is_null(), "{container}");
    ensure!(container["containerID"].as_str().is_some_and(|id| id.contains("://")), "{container}");
    Ok(())
}

async fn log_returns_what_was_printed(cx: Cx) -> Result<()> {
    let pods = cx.objects(&Kind::POD);
    let mut body = shell("a", "echo one; echo two >&2; echo three");
    body["spec"]["restartPolicy"] = "Never".into();
    pods.create(body).await?.is(201)?;
    awaited(&cx, "a", "to succeed", |pod| pod["status"]["phase"] == "Succeeded").await?;
    let log = async |query: &str| anyhow::Ok(pods.get(&format!("a/log{query}")).await?.text());
    let whole = log("").await?;
    let mut lines: Vec<_> = whole.lines().collect();
    // The two streams come by different ways, so only each one's own order is sure.
    lines.sort_unstable();
    ensure!(lines == ["one", "three", "two"], "{whole}");
    ensure!(log("?tailLines=1").await?.lines().count() == 1);
    ensure!(log("?tailLines=0").await?.is_empty());
    ensure!(log("?limitBytes=2").await?.len() == 2);
    let stamped = log("?timestamps=true").await?;
    for line in stamped.lines() {
        let (time, text) = line.split_once(' ').unwrap_or_default();
        ensure!(time.contains('T') && lines.contains(&text), "{stamped}");
    }
    Ok(())
}

async fn failing_container_is_restarted(cx: Cx) -> Result<()> {
    // The second attempt finds what the first has left in the pod's volume.
    let mut body = shell("a", "test -e /shared/seen && exit 0; touch /shared/seen; echo first; exit 3");
    body["spec"]["restartPolicy"] = "OnFailure".into();
    share_a_volume(&mut body);
    cx.objects(&Kind::POD).create(body).await?.is(201)?;
    let done = awaited(&cx, "a", "to succeed", |pod| pod["status"]["phase"] == "Succeeded").await?;
    let container = &done["status"]["containerStatuses"][0];
    ensure!(container["restartCount"] == 1, "{container}");
    ensure!(container["state"]["terminated"]["exitCode"] == 0, "{container}");
    ensure!(container["lastState"]["terminated"]["exitCode"] == 3, "{container}");
    let before = cx.objects(&Kind::POD).get("a/log?previous=true").await?.text();
    ensure!(before == "first\n", "{before:?}");
    Ok(())
}

async fn exit_code_and_reason_are_recorded(cx: Cx) -> Result<()> {
    for (name, code, reason, phase) in [("good", 0, "Completed", "Succeeded"), ("bad", 42, "Error", "Failed")]
    {
        let mut body = shell(name, &format!("echo {name} > /dev/termination-log; exit {code}"));
        body["spec"]["restartPolicy"] = "Never".into();
        cx.objects(&Kind::POD).create(body).await?.is(201)?;
        let ended = awaited(&cx, name, "to end", |pod| pod["status"]["phase"] == phase).await?;
        let state = &ended["status"]["containerStatuses"][0]["state"]["terminated"];
        ensure!(state["exitCode"] == code && state["reason"] == reason, "{ended}");
        ensure!(state["message"].as_str().is_some_and(|message| message.trim() == name), "{state}");
        ensure!(!state["startedAt"].is_null() && !state["finishedAt"].is_null(), "{state}");
        ensure!(is_ready(&ended, "False"), "{ended}");
    }
    Ok(())
}

async fn failing_liveness_probe_restarts_the_container(cx: Cx) -> Result<()> {
    let mut body = shell("a", "sleep 600");
    body["spec"]["terminationGracePeriodSeconds"] = 1.into();
    body["spec"]["containers"][0]["livenessProbe"] = json!({ "exec": { "command": ["/bin/sh", "-c", "exit 1"] }, "periodSeconds": 1, "failureThreshold": 1 });
    cx.objects(&Kind::POD).create(body).await?.is(201)?;
    awaited(&cx, "a", "to be restarted", |pod| {
        pod["status"]["containerStatuses"][0]["restartCount"].as_i64().is_some_and(|count| count > 0)
    })
    .await?;
    Ok(())
}

async fn readiness_probe_gates_the_endpoints(cx: Cx) -> Result<()> {
    let service = json!({
        "metadata": { "name": "a" }, "spec": { "selector": { "app": "a" }, "ports": [{ "port": 80 }] }
    });
    cx.objects(&Kind::SERVICE).create(service).await?.is(201)?;
    // The first probe fails for sure, because the container waits for it.
    let mut body =
        shell("a", "until [ -e /shared/probed ]; do sleep 0.1; done; touch /shared/ready; sleep 600");
    share_a_volume(&mut body);
    let probe = "test -e /shared/ready; code=$?; touch /shared/probed; exit $code";
    body["spec"]["containers"][0]["readinessProbe"] =
        json!({ "exec": { "command": ["/bin/sh", "-c", probe] }, "periodSeconds": 1 });
    let mut watch = cx.objects(&Kind::POD).watch_from_now().await?;
    cx.objects(&Kind::POD).create(body).await?.is(201)?;
    let mut ran_unready = false;
    loop {
        let pod = watch.next().await?.object;
        if is_ready(&pod, "True") {
            break;
        }
        ran_unready |= pod["status"]["phase"] == "Running";
    }
    ensure!(ran_unready, "ready before its probe said so");
    eventually("the endpoint to be ready", async || {
        let slices = cx.objects(&Kind::ENDPOINT_SLICE).list("").await?.ok()?;
        Ok((slices["items"][0]["endpoints"][0]["conditions"]["ready"] == true).then_some(()))
    })
    .await
}

async fn termination_is_graceful(cx: Cx) -> Result<()> {
    let pods = cx.objects(&Kind::POD);
    let mut body = shell("a", "trap 'echo asked; exit 0' TERM; echo up; while :; do sleep 0.1; done");
    body["metadata"]["finalizers"] = json!(["anneal.dev/held"]);
    pods.create(body).await?.is(201)?;
    eventually("the container to be up", async || {
        Ok((pods.get("a/log").await?.text() == "up\n").then_some(()))
    })
    .await?;
    pods.delete("a").await?.ok()?;
    // The finalizer keeps the pod for a look at how it ended.
    let ended = awaited(&cx, "a", "to end", |pod| {
        !pod["status"]["containerStatuses"][0]["state"]["terminated"].is_null()
    })
    .await?;
    let state = &ended["status"]["containerStatuses"][0]["state"]["terminated"];
    ensure!(state["exitCode"] == 0, "ended by force: {state}");
    pods.merge("a", json!({ "metadata": { "finalizers": null } })).await?.is(200)?;
    eventually("the pod to be gone", async || Ok((pods.get("a").await?.status == 404).then_some(()))).await
}

async fn missing_image_is_told(cx: Cx) -> Result<()> {
    let mut body = shell("a", "true");
    body["spec"]["containers"][0]["image"] = "registry.invalid/missing:1".into();
    cx.objects(&Kind::POD).create(body).await?.is(201)?;
    let waiting = awaited(&cx, "a", "to lack its image", |pod| {
        let reason = &pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"];
        reason == "ErrImagePull" || reason == "ImagePullBackOff"
    })
    .await?;
    ensure!(waiting["status"]["phase"] == "Pending", "{waiting}");
    Ok(())
}

/// An image with a shell, unless `ANNEAL_TEST_IMAGE` names another.
const IMAGE_UNDER_TEST: &str = "anneal:test";

fn shell(name: &str, script: &str) -> Value {
    let image = std::env::var("ANNEAL_TEST_IMAGE").unwrap_or_else(|_| IMAGE_UNDER_TEST.to_owned());
    json!({
        "metadata": { "name": name, "labels": { "app": name } },
        "spec": {
            "terminationGracePeriodSeconds": 30,
            "containers": [{
                "name": "main", "image": image, "imagePullPolicy": "IfNotPresent",
                "command": ["/bin/sh", "-c", script]
            }]
        }
    })
}

fn share_a_volume(body: &mut Value) {
    body["spec"]["volumes"] = json!([{ "name": "shared", "emptyDir": {} }]);
    body["spec"]["containers"][0]["volumeMounts"] = json!([{ "name": "shared", "mountPath": "/shared" }]);
}

fn is_ready(pod: &Value, is: &str) -> bool {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|condition| condition["type"] == "Ready" && condition["status"] == is)
}

async fn awaited(cx: &Cx, name: &str, what: &str, is: impl Fn(&Value) -> bool) -> Result<Value> {
    let pods = cx.objects(&Kind::POD);
    let found = eventually(format!("{name} {what}"), async || {
        let pod = pods.get(name).await?.is(200)?;
        Ok(is(&pod).then_some(pod))
    })
    .await;
    match found {
        Err(error) => Err(error.context(pods.get(name).await?.text())),
        found => found,
    }
}
