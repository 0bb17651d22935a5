//! Pods as an API: defaults, binding, status, eviction, graceful deletion.

use anneal_harness::{Needs, Reply};
use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::{
    Case, Cx, Kind,
    case::cases,
    fixtures::{pod, pod_spec},
};

pub(super) fn cases() -> Vec<Case> {
    cases![
        Needs::API => [
            fills_in_defaults,
            pull_policy_follows_the_tag,
            quality_of_service_follows_requests_and_limits,
            starts_pending_whatever_the_body_says,
            binding_sets_the_node_and_the_condition,
            second_binding_is_a_conflict,
            binding_a_missing_pod_is_not_found,
            spec_stays_but_for_the_image,
            deadline_and_tolerations_may_be_added,
            status_is_written_through_its_subresource_only,
            selectors_find_pods_by_node_and_phase,
            deletion_of_a_bound_pod_waits_for_its_node,
            deletion_of_an_unbound_or_ended_pod_is_immediate,
            eviction_without_a_budget_deletes,
            eviction_of_a_missing_pod_is_not_found,
            dry_run_of_an_eviction_changes_nothing,
            log_needs_to_know_the_container,
            names_every_fault_of_a_spec,
            refuses_a_pod_without_containers,
            missing_service_account_is_forbidden,
            mounts_the_service_account_token,
            omits_the_service_account_token_on_request,
            tolerates_a_lost_node_for_a_while,
        ],
        Needs::API.since(34) => [generation_counts_changes_of_the_spec],
    ]
}

async fn fills_in_defaults(cx: Cx) -> Result<()> {
    let body = json!({
        "metadata": { "name": "a" },
        "spec": { "containers": [{
            "name": "main", "image": "registry.invalid/app:1",
            "ports": [{ "containerPort": 80 }],
            "readinessProbe": { "httpGet": { "port": 80 } }
        }] }
    });
    let made = cx.objects(&Kind::POD).create(body).await?.is(201)?;
    let spec = &made["spec"];
    for (field, value) in [
        ("restartPolicy", json!("Always")),
        ("dnsPolicy", json!("ClusterFirst")),
        ("terminationGracePeriodSeconds", json!(30)),
        ("schedulerName", json!("default-scheduler")),
        ("serviceAccountName", json!("default")),
        ("serviceAccount", json!("default")),
        ("securityContext", json!({})),
        ("enableServiceLinks", json!(true)),
        ("preemptionPolicy", json!("PreemptLowerPriority")),
        ("priority", json!(0)),
    ] {
        ensure!(spec[field] == value, "{field}: {spec}");
    }
    let container = &spec["containers"][0];
    for (field, value) in [
        ("imagePullPolicy", json!("IfNotPresent")),
        ("terminationMessagePath", json!("/dev/termination-log")),
        ("terminationMessagePolicy", json!("File")),
        ("resources", json!({})),
        ("ports", json!([{ "containerPort": 80, "protocol": "TCP" }])),
    ] {
        ensure!(container[field] == value, "{field}: {container}");
    }
    let probe = json!({
        "httpGet": { "path": "/", "port": 80, "scheme": "HTTP" },
        "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3
    });
    ensure!(container["readinessProbe"] == probe, "{container}");
    Ok(())
}

async fn pull_policy_follows_the_tag(cx: Cx) -> Result<()> {
    let digest = format!("registry.invalid/app@sha256:{}", "0".repeat(64));
    let images = [
        ("registry.invalid/app", "Always"),
        ("registry.invalid/app:latest", "Always"),
        ("registry.invalid:5000/app", "Always"),
        ("registry.invalid/app:1", "IfNotPresent"),
        (digest.as_str(), "IfNotPresent"),
    ];
    for (index, (image, policy)) in images.into_iter().enumerate() {
        let mut body = pod(&format!("a-{index}"));
        body["spec"]["containers"][0]["image"] = image.into();
        let made = cx.objects(&Kind::POD).create(body).await?.is(201)?;
        ensure!(made["spec"]["containers"][0]["imagePullPolicy"] == policy, "{image}: {}", made["spec"]);
    }
    Ok(())
}

async fn quality_of_service_follows_requests_and_limits(cx: Cx) -> Result<()> {
    let all = json!({ "cpu": "100m", "memory": "64Mi" });
    for (name, resources, class) in [
        ("none", json!({}), "BestEffort"),
        ("request", json!({ "requests": { "cpu": "100m" } }), "Burstable"),
        ("less", json!({ "requests": { "cpu": "50m", "memory": "64Mi" }, "limits": all }), "Burstable"),
        ("limits", json!({ "limits": all }), "Guaranteed"),
    ] {
        let mut body = pod(name);
        body["spec"]["containers"][0]["resources"] = resources;
        let made = cx.objects(&Kind::POD).create(body).await?.is(201)?;
        ensure!(made["status"]["qosClass"] == class, "{name}: {}", made["status"]);
        if name == "limits" {
            let requests = &made["spec"]["containers"][0]["resources"]["requests"];
            ensure!(*requests == all, "limits must fill in requests: {requests}");
        }
    }
    Ok(())
}

async fn starts_pending_whatever_the_body_says(cx: Cx) -> Result<()> {
    let mut body = pod("a");
    body["status"] = json!({ "phase": "Running", "podIP": "192.0.2.9" });
    let made = cx.objects(&Kind::POD).create(body).await?.is(201)?;
    ensure!(made["status"]["phase"] == "Pending" && made["status"]["podIP"].is_null(), "{}", made["status"]);
    Ok(())
}

async fn binding_sets_the_node_and_the_condition(cx: Cx) -> Result<()> {
    let pods = cx.objects(&Kind::POD);
    pods.create(pod("a")).await?.is(201)?;
    let status = bind(&cx, "a", "here").await?.is(201)?;
    ensure!(status["kind"] == "Status" && status["status"] == "Success", "{status}");
    let bound = pods.get("a").await?.ok()?;
    ensure!(bound["spec"]["nodeName"] == "here", "{bound}");
    let conditions = bound["status"]["conditions"].as_array().cloned().unwrap_or_default();
    ensure!(conditions.iter().any(|c| c["type"] == "PodScheduled" && c["status"] == "True"), "{bound}");
    ensure!(bound["status"]["phase"] == "Pending", "{bound}");
    Ok(())
}

async fn second_binding_is_a_conflict(cx: Cx) -> Result<()> {
    let pods = cx.objects(&Kind::POD);
    pods.create(pod("a")).await?.is(201)?;
    bind(&cx, "a", "here").await?.is(201)?;
    bind(&cx, "a", "there").await?.refused(409, "Conflict")?;
    ensure!(pods.get("a").await?.ok()?["spec"]["nodeName"] == "here");
    Ok(())
}

async fn binding_a_missing_pod_is_not_found(cx: Cx) -> Result<()> {
    bind(&cx, "a", "here").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn spec_stays_but_for_the_image(cx: Cx) -> Result<()> {
    let pods = cx.objects(&Kind::POD);
    pods.create(pod("a")).await?.is(201)?;
    let mut fresh = pods.get("a").await?.ok()?;
    for (pointer, value) in [
        ("/spec/restartPolicy", json!("Never")),
        ("/spec/nodeName", json!("here")),
        ("/spec/hostNetwork", json!(true)),
        ("/spec/containers/0/command", json!(["true"])),
        ("/spec/containers/0/env", json!([{ "name": "a", "value": "b" }])),
    ] {
        let mut changed = fresh.clone();
        let (parent, field) = pointer.rsplit_once('/').unwrap_or_default();
        changed.pointer_mut(parent).unwrap()[field] = value;
        let status = pods.update("a", &changed).await?.refused(422, "Invalid")?;
        ensure!(has_cause(&status, "spec", "FieldValueForbidden"), "{pointer}: {status}");
    }
    fresh["spec"]["containers"][0]["image"] = "registry.invalid/app:2".into();
    let changed = pods.update("a", &fresh).await?.is(200)?;
    ensure!(changed["spec"]["containers"][0]["image"] == "registry.invalid/app:2", "{changed}");
    Ok(())
}

async fn deadline_and_tolerations_may_be_added(cx: Cx) -> Result<()> {
    let pods = cx.objects(&Kind::POD);
    let mut fresh = pods.create(pod("a")).await?.is(201)?;
    fresh["spec"]["activeDeadlineSeconds"] = 60.into();
    let tolerations = fresh["spec"]["tolerations"].as_array_mut().unwrap();
    tolerations.push(json!({ "key": "a", "operator": "Exists" }));
    let mut changed = pods.update("a", &fresh).await?.is(200)?;
    ensure!(changed["spec"]["activeDeadlineSeconds"] == 60, "{changed}");
    changed["spec"]["activeDeadlineSeconds"] = 120.into();
    let status = pods.update("a", &changed).await?.refused(422, "Invalid")?;
    ensure!(has_cause(&status, "spec.activeDeadlineSeconds", "FieldValueInvalid"), "{status}");
    Ok(())
}

async fn generation_counts_changes_of_the_spec(cx: Cx) -> Result<()> {
    let pods = cx.objects(&Kind::POD);
    let generation = |reply: Reply| anyhow::Ok(reply.ok()?["metadata"]["generation"].clone());
    ensure!(generation(pods.create(pod("a")).await?)? == 1);
    let labels = json!({ "metadata": { "labels": { "b": "c" } } });
    ensure!(generation(pods.merge("a", labels).await?)? == 1);
    let status = json!({ "status": { "phase": "Running", "observedGeneration": 1 } });
    let written = pods.merge("a/status", status).await?;
    ensure!(written.ok()?["status"]["observedGeneration"] == 1, "{written}");
    ensure!(generation(written)? == 1);
    let image =
        json!([{ "op": "replace", "path": "/spec/containers/0/image", "value": "registry.invalid/b:1" }]);
    ensure!(generation(pods.patch("a", anneal_harness::PatchKind::Json, &image).await?)? == 2);
    Ok(())
}

async fn status_is_written_through_its_subresource_only(cx: Cx) -> Result<()> {
    let pods = cx.objects(&Kind::POD);
    pods.create(pod("a")).await?.is(201)?;
    let both = json!({
        "metadata": { "labels": { "b": "c" } },
        "spec": { "activeDeadlineSeconds": 60 },
        "status": { "phase": "Running" }
    });
    let whole = pods.merge("a", both.clone()).await?.is(200)?;
    ensure!(whole["metadata"]["labels"]["b"] == "c" && whole["status"]["phase"] == "Pending", "{whole}");
    let mut status_only = both;
    status_only["spec"]["activeDeadlineSeconds"] = 30.into();
    let after = pods.merge("a/status", status_only).await?.is(200)?;
    ensure!(after["status"]["phase"] == "Running" && after["spec"]["activeDeadlineSeconds"] == 60, "{after}");
    Ok(())
}

async fn selectors_find_pods_by_node_and_phase(cx: Cx) -> Result<()> {
    let pods = cx.objects(&Kind::POD);
    for name in ["a", "b", "c"] {
        pods.create(pod(name)).await?.is(201)?;
    }
    bind(&cx, "a", "here").await?.is(201)?;
    bind(&cx, "b", "here").await?.is(201)?;
    pods.merge("b/status", json!({ "status": { "phase": "Running" } })).await?.is(200)?;
    for (selector, names) in [
        ("spec.nodeName=here", vec!["a", "b"]),
        ("spec.nodeName=", vec!["c"]),
        ("status.phase=Pending", vec!["a", "c"]),
        ("spec.nodeName=here,status.phase!=Pending", vec!["b"]),
        ("metadata.name=c", vec!["c"]),
    ] {
        let found = pods.names(&format!("?fieldSelector={selector}")).await?;
        ensure!(found == names, "{selector}: {found:?}");
    }
    Ok(())
}

async fn deletion_of_a_bound_pod_waits_for_its_node(cx: Cx) -> Result<()> {
    let pods = cx.objects(&Kind::POD);
    pods.create(pod("a")).await?.is(201)?;
    cx.node().await?.bind("a").await?;
    let mut watch = pods.watch_from_now().await?;
    let deleted = pods.delete("a").await?.ok()?;
    ensure!(deleted["kind"] == "Pod", "{deleted}");
    let metadata = pods.get("a").await?.ok()?["metadata"].clone();
    ensure!(
        !metadata["deletionTimestamp"].is_null() && metadata["deletionGracePeriodSeconds"] == 5,
        "{metadata}"
    );
    watch.expect("MODIFIED", "a").await?;
    // What the node says once the containers have stopped.
    pods.delete_with("a", &json!({ "gracePeriodSeconds": 0 })).await?.ok()?;
    while watch.next().await?.kind != "DELETED" {}
    pods.get("a").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn deletion_of_an_unbound_or_ended_pod_is_immediate(cx: Cx) -> Result<()> {
    let pods = cx.objects(&Kind::POD);
    pods.create(pod("unbound")).await?.is(201)?;
    pods.create(pod("ended")).await?.is(201)?;
    bind(&cx, "ended", "here").await?.is(201)?;
    pods.merge("ended/status", json!({ "status": { "phase": "Failed" } })).await?.is(200)?;
    for name in ["unbound", "ended"] {
        pods.delete(name).await?.ok()?;
        pods.get(name).await?.refused(404, "NotFound")?;
    }
    Ok(())
}

async fn eviction_without_a_budget_deletes(cx: Cx) -> Result<()> {
    let pods = cx.objects(&Kind::POD);
    pods.create(pod("a")).await?.is(201)?;
    cx.node().await?.bind("a").await?;
    let status = evict(&cx, "a", json!({ "gracePeriodSeconds": 7 })).await?.is(201)?;
    ensure!(status["kind"] == "Status" && status["status"] == "Success", "{status}");
    let metadata = pods.get("a").await?.ok()?["metadata"].clone();
    ensure!(
        !metadata["deletionTimestamp"].is_null() && metadata["deletionGracePeriodSeconds"] == 7,
        "{metadata}"
    );
    Ok(())
}

async fn eviction_of_a_missing_pod_is_not_found(cx: Cx) -> Result<()> {
    evict(&cx, "a", Value::Null).await?.refused(404, "NotFound")?;
    Ok(())
}

async fn dry_run_of_an_eviction_changes_nothing(cx: Cx) -> Result<()> {
    let pods = cx.objects(&Kind::POD);
    let made = pods.create(pod("a")).await?.is(201)?;
    evict(&cx, "a", json!({ "dryRun": ["All"] })).await?.is(201)?;
    ensure!(pods.get("a").await?.is(200)?["metadata"] == made["metadata"]);
    Ok(())
}

async fn log_needs_to_know_the_container(cx: Cx) -> Result<()> {
    let pods = cx.objects(&Kind::POD);
    let mut body = pod("a");
    body["spec"]["containers"] = json!([{ "name": "b", "image": "registry.invalid/b:1" }, { "name": "c", "image": "registry.invalid/c:1" }]);
    pods.create(body).await?.is(201)?;
    pods.get("a/log").await?.refused(400, "BadRequest")?;
    pods.get("a/log?container=d").await?.refused(400, "BadRequest")?;
    pods.get("missing/log").await?.refused(404, "NotFound")?;
    // Nothing has run, so there is nothing to read: no fault of the asker.
    let reply = pods.get("a/log?container=b").await?;
    ensure!((200..300).contains(&reply.status) && reply.bytes.is_empty(), "{reply}");
    Ok(())
}

async fn names_every_fault_of_a_spec(cx: Cx) -> Result<()> {
    let body = json!({
        "metadata": { "name": "a" },
        "spec": {
            "terminationGracePeriodSeconds": -1,
            "volumes": [{ "name": "v", "emptyDir": {} }, { "name": "v", "emptyDir": {} }],
            "containers": [
                {
                    "name": "b", "image": "registry.invalid/b:1",
                    "ports": [{ "containerPort": 70000 }, { "containerPort": 80, "name": "Not_A_Port" }],
                    "env": [{ "name": "" }],
                    "volumeMounts": [{ "name": "missing", "mountPath": "/m" }, { "name": "v", "mountPath": "" }]
                },
                { "name": "b", "image": "" },
                { "name": "Not_A_Name", "image": "registry.invalid/b:1", "resources": {
                    "requests": { "cpu": "2" }, "limits": { "cpu": "1" }
                } }
            ]
        }
    });
    let status = cx.objects(&Kind::POD).create(body).await?.refused(422, "Invalid")?;
    ensure!(status["details"]["kind"] == "Pod" && status["details"]["name"] == "a", "{status}");
    for (field, reason) in [
        ("spec.volumes[1].name", "FieldValueDuplicate"),
        ("spec.containers[0].ports[0].containerPort", "FieldValueInvalid"),
        ("spec.containers[0].ports[1].name", "FieldValueInvalid"),
        ("spec.containers[0].env[0].name", "FieldValueRequired"),
        ("spec.containers[0].volumeMounts[0].name", "FieldValueNotFound"),
        ("spec.containers[0].volumeMounts[1].mountPath", "FieldValueRequired"),
        ("spec.containers[1].name", "FieldValueDuplicate"),
        ("spec.containers[1].image", "FieldValueRequired"),
        ("spec.containers[2].name", "FieldValueInvalid"),
        ("spec.containers[2].resources.requests", "FieldValueInvalid"),
    ] {
        ensure!(has_cause(&status, field, reason), "no {reason} for {field}: {status}");
    }
    Ok(())
}

async fn refuses_a_pod_without_containers(cx: Cx) -> Result<()> {
    let mut body = pod("a");
    body["spec"]["containers"] = json!([]);
    let status = cx.objects(&Kind::POD).create(body).await?.refused(422, "Invalid")?;
    ensure!(has_cause(&status, "spec.containers", "FieldValueRequired"), "{status}");
    Ok(())
}

async fn missing_service_account_is_forbidden(cx: Cx) -> Result<()> {
    let mut body = pod("a");
    body["spec"]["serviceAccountName"] = "missing".into();
    cx.objects(&Kind::POD).create(body).await?.refused(403, "Forbidden")?;
    Ok(())
}

async fn mounts_the_service_account_token(cx: Cx) -> Result<()> {
    let made = cx.objects(&Kind::POD).create(pod("a")).await?.is(201)?;
    let mount = &made["spec"]["containers"][0]["volumeMounts"][0];
    ensure!(
        mount["mountPath"] == "/var/run/secrets/kubernetes.io/serviceaccount" && mount["readOnly"] == true,
        "{made}"
    );
    let volume = &made["spec"]["volumes"][0];
    ensure!(volume["name"] == mount["name"], "{volume}");
    let sources = &volume["projected"]["sources"];
    ensure!(sources[0]["serviceAccountToken"]["path"] == "token", "{volume}");
    ensure!(sources[1]["configMap"]["name"] == "kube-root-ca.crt", "{volume}");
    ensure!(
        sources[2]["downwardAPI"]["items"][0]["fieldRef"]["fieldPath"] == "metadata.namespace",
        "{volume}"
    );
    Ok(())
}

async fn omits_the_service_account_token_on_request(cx: Cx) -> Result<()> {
    let mut body = pod("a");
    body["spec"]["automountServiceAccountToken"] = false.into();
    let made = cx.objects(&Kind::POD).create(body).await?.is(201)?;
    ensure!(made["spec"]["volumes"].is_null(), "{made}");

    let account = json!({ "metadata": { "name": "shy" }, "automountServiceAccountToken": false });
    cx.objects(&Kind::SERVICE_ACCOUNT).create(account).await?.is(201)?;
    let mut body = pod("b");
    body["spec"]["serviceAccountName"] = "shy".into();
    let made = cx.objects(&Kind::POD).create(body).await?.is(201)?;
    ensure!(made["spec"]["volumes"].is_null() && made["spec"]["serviceAccountName"] == "shy", "{made}");
    Ok(())
}

async fn tolerates_a_lost_node_for_a_while(cx: Cx) -> Result<()> {
    let own = json!({ "key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute" });
    let mut spec = pod_spec();
    spec["tolerations"] = json!([own]);
    let body = json!({ "metadata": { "name": "a" }, "spec": spec });
    let made = cx.objects(&Kind::POD).create(body).await?.is(201)?;
    let added = json!({
        "key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute",
        "tolerationSeconds": 300
    });
    ensure!(made["spec"]["tolerations"] == json!([own, added]), "{}", made["spec"]);
    Ok(())
}

async fn bind(cx: &Cx, pod: &str, node: &str) -> Result<Reply> {
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": { "name": pod },
        "target": { "apiVersion": "v1", "kind": "Node", "name": node }
    });
    cx.http.post(&format!("{}/{pod}/binding", Kind::POD.path(&cx.namespace)), &binding).await
}

async fn evict(cx: &Cx, pod: &str, options: Value) -> Result<Reply> {
    let eviction = json!({
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": pod }, "deleteOptions": options
    });
    cx.http.post(&format!("{}/{pod}/eviction", Kind::POD.path(&cx.namespace)), &eviction).await
}

fn has_cause(status: &Value, field: &str, reason: &str) -> bool {
    let causes = status["details"]["causes"].as_array();
    causes.into_iter().flatten().any(|cause| cause["field"] == field && cause["reason"] == reason)
}
