//! Deployments and ReplicaSets, on a played node.

use std::collections::BTreeMap;

use anneal_harness::{Needs, PlayedNode, Watch, eventually};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::{
    Case, Cx, Kind, Objects,
    case::cases,
    fixtures::{pod, pod_spec},
};

pub(super) fn cases() -> Vec<Case> {
    cases![
        Needs::API => [
            deployment_defaults_are_filled_in,
            selector_must_match_the_template_and_stay,
            scale_is_read_and_written_by_itself,
            scale_that_is_no_number_changes_nothing,
        ],
        Needs::CONTROLLERS => [
            deployment_makes_a_replica_set_that_makes_pods,
            status_follows_the_pods,
            pods_ready_for_too_short_a_time_are_not_available,
            scaling_adds_and_removes_pods,
            scaling_down_takes_pods_that_are_not_ready_first,
            scaling_down_takes_cheap_pods_first,
            scaling_in_a_rollout_keeps_the_shares,
            pods_that_cannot_be_made_are_told,
            rolling_update_stays_within_its_bounds,
            rolling_update_waits_for_new_pods_to_be_ready,
            recreate_ends_old_pods_before_it_makes_new_ones,
            paused_deployment_does_not_roll,
            restored_template_reuses_its_replica_set,
            old_replica_sets_are_kept_up_to_the_limit,
            missed_progress_deadline_is_told,
            deleted_pod_is_replaced,
            deleted_deployment_takes_everything_along,
            orphaned_replica_set_is_adopted_by_a_new_deployment,
            replica_set_adopts_matching_pods,
            replica_set_releases_relabelled_pods,
        ],
    ]
}

async fn deployment_defaults_are_filled_in(cx: Cx) -> Result<()> {
    let mut body = deployment("a", 1);
    body["spec"].as_object_mut().unwrap().remove("replicas");
    let made = cx.objects(&Kind::DEPLOYMENT).create(body).await?.is(201)?;
    for (field, value) in [
        ("replicas", json!(1)),
        ("revisionHistoryLimit", json!(10)),
        ("progressDeadlineSeconds", json!(600)),
        (
            "strategy",
            json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": "25%", "maxUnavailable": "25%" } }),
        ),
    ] {
        ensure!(made["spec"][field] == value, "{field}: {}", made["spec"]);
    }
    ensure!(made["metadata"]["generation"] == 1, "{made}");
    ensure!(made["spec"]["template"]["spec"]["restartPolicy"] == "Always", "{made}");
    Ok(())
}

async fn selector_must_match_the_template_and_stay(cx: Cx) -> Result<()> {
    let deployments = cx.objects(&Kind::DEPLOYMENT);
    let mut body = deployment("a", 0);
    body["spec"]["template"]["metadata"]["labels"] = json!({ "app": "b" });
    let status = deployments.create(body.clone()).await?.refused(422, "Invalid")?;
    ensure!(status["details"]["causes"][0]["field"] == "spec.template.metadata.labels", "{status}");
    deployments.create(deployment("a", 0)).await?.is(201)?;
    let change = json!({ "spec": {
        "selector": { "matchLabels": { "app": "b" } }, "template": { "metadata": { "labels": { "app": "b" } } }
    } });
    let status = deployments.merge("a", change).await?.refused(422, "Invalid")?;
    ensure!(status["details"]["causes"][0]["field"] == "spec.selector", "{status}");
    Ok(())
}

async fn scale_is_read_and_written_by_itself(cx: Cx) -> Result<()> {
    let deployments = cx.objects(&Kind::DEPLOYMENT);
    deployments.create(deployment("a", 0)).await?.is(201)?;
    let mut scale = deployments.get("a/scale").await?.is(200)?;
    ensure!(scale["kind"] == "Scale" && scale["apiVersion"] == "autoscaling/v1", "{scale}");
    ensure!(scale["spec"].get("replicas").is_none_or(|replicas| *replicas == 0), "{scale}");
    ensure!(scale["status"]["selector"] == "app=a", "{scale}");
    let stale = scale.clone();
    // Controllers write to the Deployment meanwhile.
    scale["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    scale["spec"]["replicas"] = 2.into();
    ensure!(deployments.update("a/scale", &scale).await?.is(200)?["spec"]["replicas"] == 2);
    let scaled = deployments.get("a").await?.ok()?;
    ensure!(scaled["spec"]["replicas"] == 2 && scaled["metadata"]["generation"] == 2, "{scaled}");
    deployments.merge("a/scale", json!({ "spec": { "replicas": 1 } })).await?.is(200)?;
    ensure!(deployments.get("a").await?.ok()?["spec"]["replicas"] == 1);
    deployments.update("a/scale", &stale).await?.refused(409, "Conflict")?;
    deployments.merge("a/scale", json!({ "spec": { "replicas": -1 } })).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn scale_that_is_no_number_changes_nothing(cx: Cx) -> Result<()> {
    let deployments = cx.objects(&Kind::DEPLOYMENT);
    let mut paused = deployment("a", 3);
    paused["spec"]["paused"] = true.into();
    deployments.create(paused).await?.is(201)?;
    let beyond = i64::from(i32::MAX) + 1;
    for replicas in [json!("7"), json!(2.5), json!(beyond), json!([]), json!({})] {
        let wrong = json!({ "spec": { "replicas": replicas } });
        deployments.merge("a/scale", wrong).await?.refused(422, "Invalid")?;
        let mut scale = deployments.get("a/scale").await?.ok()?;
        scale["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        scale["spec"]["replicas"] = replicas;
        deployments.update("a/scale", &scale).await?.refused(400, "BadRequest")?;
    }
    let another = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "a" } });
    deployments.update("a/scale", &another).await?.refused(400, "BadRequest")?;
    let other_uid = json!({ "metadata": { "uid": "00000000-0000-0000-0000-000000000000" } });
    deployments.merge("a/scale", other_uid).await?.refused(409, "Conflict")?;
    ensure!(deployments.get("a").await?.ok()?["spec"]["replicas"] == 3);
    Ok(())
}

async fn deployment_makes_a_replica_set_that_makes_pods(cx: Cx) -> Result<()> {
    let made = cx.objects(&Kind::DEPLOYMENT).create(deployment("a", 2)).await?.is(201)?;
    let pods = active_pods(&cx, 2).await?;
    let sets = list(&cx, &Kind::REPLICA_SET).await?;
    ensure!(sets.len() == 1, "{sets:?}");
    let set = &sets[0];
    let hash = set["metadata"]["labels"]["pod-template-hash"].as_str().unwrap_or_default();
    ensure!(!hash.is_empty() && set["metadata"]["name"] == format!("a-{hash}"), "{set}");
    ensure!(set["spec"]["selector"]["matchLabels"]["pod-template-hash"] == hash, "{set}");
    ensure!(set["metadata"]["annotations"][REVISION] == "1", "{set}");
    ensure!(controller(set) == controller_reference(&made), "{set}");
    for pod in &pods {
        ensure!(pod["metadata"]["labels"] == json!({ "app": "a", "pod-template-hash": hash }), "{pod}");
        ensure!(pod["metadata"]["generateName"] == format!("a-{hash}-"), "{pod}");
        ensure!(controller(pod) == controller_reference(set), "{pod}");
    }
    deployment_is(&cx, "the revision", |a| a["metadata"]["annotations"][REVISION] == "1").await?;
    Ok(())
}

async fn status_follows_the_pods(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    cx.objects(&Kind::DEPLOYMENT).create(deployment("a", 2)).await?.is(201)?;
    let pods = active_pods(&cx, 2).await?;
    let before = deployment_is(&cx, "the status", |a| {
        a["status"]["observedGeneration"] == 1 && a["status"]["updatedReplicas"] == 2
    })
    .await?;
    ensure!(before["status"]["unavailableReplicas"] == 2, "{before}");
    ensure!(is_condition(&before, "Available", "False", "MinimumReplicasUnavailable"), "{before}");
    node.run(name(&pods[0]), true).await?;
    deployment_is(&cx, "one ready pod", |a| a["status"]["readyReplicas"] == 1).await?;
    node.run(name(&pods[1]), true).await?;
    let ready = rolled_out(&cx, "a").await?;
    ensure!(is_condition(&ready, "Available", "True", "MinimumReplicasAvailable"), "{ready}");
    ensure!(is_condition(&ready, "Progressing", "True", "NewReplicaSetAvailable"), "{ready}");
    node.run(name(&pods[0]), false).await?;
    deployment_is(&cx, "the loss to be seen", |a| {
        a["status"]["readyReplicas"] == 1
            && is_condition(a, "Available", "False", "MinimumReplicasUnavailable")
    })
    .await?;
    Ok(())
}

async fn pods_ready_for_too_short_a_time_are_not_available(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    let mut body = deployment("a", 1);
    // Long enough to be running still when the case ends.
    body["spec"]["minReadySeconds"] = 500.into();
    cx.objects(&Kind::DEPLOYMENT).create(body).await?.is(201)?;
    node.run(name(&active_pods(&cx, 1).await?[0]), true).await?;
    let ready = deployment_is(&cx, "a ready pod", |a| a["status"]["readyReplicas"] == 1).await?;
    ensure!(ready["status"]["availableReplicas"].as_i64().unwrap_or(0) == 0, "{ready}");
    ensure!(is_condition(&ready, "Available", "False", "MinimumReplicasUnavailable"), "{ready}");
    Ok(())
}

async fn scaling_adds_and_removes_pods(cx: Cx) -> Result<()> {
    let deployments = cx.objects(&Kind::DEPLOYMENT);
    deployments.create(deployment("a", 1)).await?.is(201)?;
    let first = active_pods(&cx, 1).await?;
    deployments.merge("a", json!({ "spec": { "replicas": 3 } })).await?.is(200)?;
    let pods = active_pods(&cx, 3).await?;
    ensure!(pods.iter().any(|pod| name(pod) == name(&first[0])), "scaling must keep the pod that was there");
    deployments.merge("a", json!({ "spec": { "replicas": 0 } })).await?.is(200)?;
    active_pods(&cx, 0).await?;
    ensure!(list(&cx, &Kind::REPLICA_SET).await?.len() == 1, "scaling must not make ReplicaSets");
    let scaled = rolled_out(&cx, "a").await?;
    ensure!(scaled["metadata"]["annotations"][REVISION] == "1", "{scaled}");
    Ok(())
}

async fn scaling_down_takes_pods_that_are_not_ready_first(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    let sets = cx.objects(&Kind::REPLICA_SET);
    sets.create(replica_set("a", 3)).await?.is(201)?;
    let pods = active_pods(&cx, 3).await?;
    for (index, pod) in pods.iter().enumerate() {
        node.run(name(pod), index == 1).await?;
    }
    awaited(&cx, &Kind::REPLICA_SET, "a", "one ready pod", |a| a["status"]["readyReplicas"] == 1).await?;
    sets.merge("a", json!({ "spec": { "replicas": 1 } })).await?.is(200)?;
    let left = active_pods(&cx, 1).await?;
    ensure!(name(&left[0]) == name(&pods[1]), "the ready pod must stay");
    Ok(())
}

async fn scaling_down_takes_cheap_pods_first(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    let sets = cx.objects(&Kind::REPLICA_SET);
    sets.create(replica_set("a", 3)).await?.is(201)?;
    let pods = active_pods(&cx, 3).await?;
    for (pod, cost) in [(&pods[0], "7"), (&pods[1], "-7")] {
        let annotations = json!({ "controller.kubernetes.io/pod-deletion-cost": cost });
        let cost = json!({ "metadata": { "annotations": annotations } });
        cx.objects(&Kind::POD).merge(name(pod), cost).await?.is(200)?;
    }
    // Whoever has seen them ready has seen their costs.
    run_all(&cx, &node, 3).await?;
    awaited(&cx, &Kind::REPLICA_SET, "a", "ready pods", |a| a["status"]["readyReplicas"] == 3).await?;
    for left in [2, 1] {
        sets.merge("a", json!({ "spec": { "replicas": left } })).await?.is(200)?;
        let active = active_pods(&cx, left).await?;
        ensure!(active.iter().all(|pod| name(pod) != name(&pods[1])), "the cheapest pod must go first");
        ensure!(active.iter().any(|pod| name(pod) == name(&pods[0])), "the dearest pod must stay");
    }
    Ok(())
}

async fn scaling_in_a_rollout_keeps_the_shares(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    let deployments = cx.objects(&Kind::DEPLOYMENT);
    let mut body = deployment("a", 2);
    body["spec"]["strategy"] = json!({ "rollingUpdate": { "maxSurge": 2, "maxUnavailable": 0 } });
    deployments.create(body).await?.is(201)?;
    run_all(&cx, &node, 2).await?;
    rolled_out(&cx, "a").await?;
    deployments.merge("a", new_template("2")).await?.is(200)?;
    active_pods(&cx, 4).await?;
    deployments.merge("a", json!({ "spec": { "replicas": 4 } })).await?.is(200)?;
    active_pods(&cx, 6).await?;
    for set in list(&cx, &Kind::REPLICA_SET).await? {
        ensure!(set["spec"]["replicas"] == 3, "{set}");
        let annotations = &set["metadata"]["annotations"];
        ensure!(annotations["deployment.kubernetes.io/desired-replicas"] == "4", "{set}");
        ensure!(annotations["deployment.kubernetes.io/max-replicas"] == "6", "{set}");
    }
    Ok(())
}

async fn pods_that_cannot_be_made_are_told(cx: Cx) -> Result<()> {
    let mut body = deployment("a", 1);
    body["spec"]["template"]["spec"]["serviceAccountName"] = "late".into();
    cx.objects(&Kind::DEPLOYMENT).create(body).await?.is(201)?;
    deployment_is(&cx, "the failure", |a| is_condition(a, "ReplicaFailure", "True", "FailedCreate")).await?;
    let account = json!({ "metadata": { "name": "late" } });
    cx.objects(&Kind::SERVICE_ACCOUNT).create(account).await?.is(201)?;
    active_pods(&cx, 1).await?;
    deployment_is(&cx, "the failure to be over", |a| {
        a["status"]["updatedReplicas"] == 1 && !has_condition(a, "ReplicaFailure", "True")
    })
    .await?;
    Ok(())
}

async fn rolling_update_stays_within_its_bounds(cx: Cx) -> Result<()> {
    for (surge, unavailable) in [(1, 0), (0, 1)] {
        let name = format!("surge-{surge}");
        let mut body = deployment(&name, 3);
        body["spec"]["strategy"] =
            json!({ "rollingUpdate": { "maxSurge": surge, "maxUnavailable": unavailable } });
        roll_within_bounds(&cx, body, 3 + surge, 3 - usize::try_from(unavailable)?).await?;
    }
    Ok(())
}

async fn rolling_update_waits_for_new_pods_to_be_ready(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    let deployments = cx.objects(&Kind::DEPLOYMENT);
    let mut body = deployment("a", 2);
    body["spec"]["strategy"] = json!({ "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } });
    deployments.create(body).await?.is(201)?;
    run_all(&cx, &node, 2).await?;
    rolled_out(&cx, "a").await?;
    deployments.merge("a", new_template("2")).await?.is(200)?;
    let stuck = deployment_is(&cx, "the new pod", |a| {
        a["status"]["observedGeneration"] == 2 && a["status"]["updatedReplicas"] == 1
    })
    .await?;
    ensure!(stuck["status"]["replicas"] == 3 && stuck["status"]["readyReplicas"] == 2, "{stuck}");
    ensure!(stuck["status"]["unavailableReplicas"] == 1, "{stuck}");
    ensure!(is_condition(&stuck, "Available", "True", "MinimumReplicasAvailable"), "{stuck}");
    ensure!(active_pods(&cx, 3).await?.iter().filter(|pod| is_ready(pod)).count() == 2);
    Ok(())
}

async fn recreate_ends_old_pods_before_it_makes_new_ones(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    let deployments = cx.objects(&Kind::DEPLOYMENT);
    let mut body = deployment("a", 2);
    body["spec"]["strategy"] = json!({ "type": "Recreate" });
    deployments.create(body).await?.is(201)?;
    run_all(&cx, &node, 2).await?;
    rolled_out(&cx, "a").await?;
    let mut watch = cx.objects(&Kind::POD).watch_from_now().await?;
    deployments.merge("a", new_template("2")).await?.is(200)?;
    let (mut terminating, mut removed) = (Vec::new(), 0);
    while removed < 2 {
        let event = watch.next().await?;
        ensure!(event.kind != "ADDED", "a new pod beside old ones: {}", event.object);
        removed += usize::from(event.kind == "DELETED");
        let ending = !event.object["metadata"]["deletionTimestamp"].is_null();
        if event.kind == "MODIFIED" && ending && !terminating.contains(&event.name().to_owned()) {
            terminating.push(event.name().to_owned());
            // The old pods end one after the other, the second once the first is known to be ending.
            if terminating.len() == 2 {
                node.remove(&terminating[0]).await?;
            }
        }
        if event.kind == "DELETED" && removed == 1 {
            node.remove(terminating.get(1).context("a second pod must be ending")?).await?;
        }
    }
    run_all(&cx, &node, 2).await?;
    rolled_out(&cx, "a").await?;
    Ok(())
}

async fn paused_deployment_does_not_roll(cx: Cx) -> Result<()> {
    let deployments = cx.objects(&Kind::DEPLOYMENT);
    deployments.create(deployment("a", 1)).await?.is(201)?;
    active_pods(&cx, 1).await?;
    deployments.merge("a", json!({ "spec": { "paused": true } })).await?.is(200)?;
    deployment_is(&cx, "the pause", |a| is_condition(a, "Progressing", "Unknown", "DeploymentPaused"))
        .await?;
    let mut change = new_template("2");
    change["spec"]["replicas"] = 2.into();
    deployments.merge("a", change).await?.is(200)?;
    // It still scales.
    let pods = active_pods(&cx, 2).await?;
    deployment_is(&cx, "the change to be seen", |a| a["status"]["observedGeneration"] == 3).await?;
    ensure!(list(&cx, &Kind::REPLICA_SET).await?.len() == 1 && pods.iter().all(|pod| version(pod) == "1"));
    deployments.merge("a", json!({ "spec": { "paused": false } })).await?.is(200)?;
    eventually("the new ReplicaSet", async || {
        Ok((list(&cx, &Kind::REPLICA_SET).await?.len() == 2).then_some(()))
    })
    .await
}

async fn restored_template_reuses_its_replica_set(cx: Cx) -> Result<()> {
    let deployments = cx.objects(&Kind::DEPLOYMENT);
    deployments.create(deployment("a", 1)).await?.is(201)?;
    for (revision, tag) in [("1", "1"), ("2", "2"), ("3", "1")] {
        deployments.merge("a", new_template(tag)).await?.is(200)?;
        deployment_is(&cx, "the next revision", |a| a["metadata"]["annotations"][REVISION] == revision)
            .await?;
    }
    let sets = list(&cx, &Kind::REPLICA_SET).await?;
    let revisions: BTreeMap<_, _> = sets
        .iter()
        .map(|set| (version(&set["spec"]["template"]), set["metadata"]["annotations"][REVISION].clone()))
        .collect();
    ensure!(revisions == BTreeMap::from([("1", "3".into()), ("2", "2".into())]), "{revisions:?}");
    Ok(())
}

async fn old_replica_sets_are_kept_up_to_the_limit(cx: Cx) -> Result<()> {
    let deployments = cx.objects(&Kind::DEPLOYMENT);
    // Without pods every rollout is complete as soon as it is seen.
    let mut body = deployment("a", 0);
    body["spec"]["revisionHistoryLimit"] = 1.into();
    deployments.create(body).await?.is(201)?;
    for revision in ["1", "2", "3", "4"] {
        deployments.merge("a", new_template(revision)).await?.is(200)?;
        deployment_is(&cx, "the next revision", |a| a["metadata"]["annotations"][REVISION] == revision)
            .await?;
    }
    eventually("the oldest ReplicaSets to be removed", async || {
        let sets = list(&cx, &Kind::REPLICA_SET).await?;
        let mut kept: Vec<_> = sets.iter().map(|set| version(&set["spec"]["template"])).collect();
        kept.sort();
        ensure!(kept.contains(&"4") && kept.len() > 1, "{kept:?}");
        Ok((kept == ["3", "4"]).then_some(()))
    })
    .await
}

async fn missed_progress_deadline_is_told(cx: Cx) -> Result<()> {
    let mut body = deployment("a", 1);
    body["spec"]["progressDeadlineSeconds"] = 1.into();
    cx.objects(&Kind::DEPLOYMENT).create(body).await?.is(201)?;
    deployment_is(&cx, "the deadline to pass", |a| {
        is_condition(a, "Progressing", "False", "ProgressDeadlineExceeded")
    })
    .await?;
    // It is a message only: the rollout goes on.
    let node = cx.node().await?;
    run_all(&cx, &node, 1).await?;
    deployment_is(&cx, "the rollout to end", |a| {
        is_condition(a, "Progressing", "True", "NewReplicaSetAvailable")
    })
    .await?;
    Ok(())
}

async fn deleted_pod_is_replaced(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    cx.objects(&Kind::REPLICA_SET).create(replica_set("a", 1)).await?.is(201)?;
    let pods = active_pods(&cx, 1).await?;
    node.run(name(&pods[0]), true).await?;
    cx.objects(&Kind::POD).delete(name(&pods[0])).await?.ok()?;
    // The replacement comes while the old pod is still ending.
    let replacement = active_pods(&cx, 1).await?;
    ensure!(name(&replacement[0]) != name(&pods[0]), "the pod must be another");
    cx.objects(&Kind::POD).get(name(&pods[0])).await?.is(200)?;
    Ok(())
}

async fn deleted_deployment_takes_everything_along(cx: Cx) -> Result<()> {
    cx.objects(&Kind::DEPLOYMENT).create(deployment("a", 2)).await?.is(201)?;
    active_pods(&cx, 2).await?;
    cx.objects(&Kind::DEPLOYMENT).delete("a").await?.is(200)?;
    for kind in [Kind::REPLICA_SET, Kind::POD] {
        eventually(format!("{} to be gone", kind.plural), async || {
            Ok(list(&cx, &kind).await?.is_empty().then_some(()))
        })
        .await?;
    }
    Ok(())
}

async fn orphaned_replica_set_is_adopted_by_a_new_deployment(cx: Cx) -> Result<()> {
    let deployments = cx.objects(&Kind::DEPLOYMENT);
    deployments.create(deployment("a", 1)).await?.is(201)?;
    let pods = active_pods(&cx, 1).await?;
    let set = list(&cx, &Kind::REPLICA_SET).await?.remove(0);
    deployments.delete_with("a", &json!({ "propagationPolicy": "Orphan" })).await?.ok()?;
    gone(&deployments, "a").await?;
    let orphan = cx.objects(&Kind::REPLICA_SET).get(name(&set)).await?.is(200)?;
    ensure!(orphan["metadata"]["ownerReferences"].is_null(), "{orphan}");
    let again = deployments.create(deployment("a", 1)).await?.is(201)?;
    awaited(&cx, &Kind::REPLICA_SET, name(&set), "the adoption", |set| {
        controller(set) == controller_reference(&again)
    })
    .await?;
    deployment_is(&cx, "the status", |a| a["status"]["replicas"] == 1).await?;
    ensure!(list(&cx, &Kind::REPLICA_SET).await?.len() == 1, "the ReplicaSet must be used");
    ensure!(name(&active_pods(&cx, 1).await?[0]) == name(&pods[0]), "the pod must stay");
    Ok(())
}

async fn replica_set_adopts_matching_pods(cx: Cx) -> Result<()> {
    let pods = cx.objects(&Kind::POD);
    pods.create(pod("a")).await?.is(201)?;
    let set = cx.objects(&Kind::REPLICA_SET).create(replica_set("a", 2)).await?.is(201)?;
    let both = active_pods(&cx, 2).await?;
    ensure!(both.iter().any(|pod| name(pod) == "a"), "{both:?}");
    awaited(&cx, &Kind::POD, "a", "the adoption", |a| controller(a) == controller_reference(&set)).await?;
    Ok(())
}

async fn replica_set_releases_relabelled_pods(cx: Cx) -> Result<()> {
    cx.objects(&Kind::REPLICA_SET).create(replica_set("a", 1)).await?.is(201)?;
    let pods = active_pods(&cx, 1).await?;
    let label = json!({ "metadata": { "labels": { "app": "free" } } });
    cx.objects(&Kind::POD).merge(name(&pods[0]), label).await?.is(200)?;
    awaited(&cx, &Kind::POD, name(&pods[0]), "the release", |pod| {
        pod["metadata"]["ownerReferences"].is_null() && pod["metadata"]["deletionTimestamp"].is_null()
    })
    .await?;
    active_pods(&cx, 2).await?;
    Ok(())
}

const REVISION: &str = "deployment.kubernetes.io/revision";

fn template(app: &str) -> Value {
    json!({ "metadata": { "labels": { "app": app } }, "spec": pod_spec() })
}

fn replica_set(name: &str, replicas: u32) -> Value {
    json!({
        "metadata": { "name": name },
        "spec": {
            "replicas": replicas, "selector": { "matchLabels": { "app": name } }, "template": template(name)
        }
    })
}

/// A Deployment of version 1.
fn deployment(name: &str, replicas: u32) -> Value {
    replica_set(name, replicas)
}

/// A patch to another version.
fn new_template(tag: &str) -> Value {
    let mut spec = pod_spec();
    spec["containers"][0]["image"] = format!("registry.invalid/app:{tag}").into();
    json!({ "spec": { "template": { "spec": spec } } })
}

/// The version in a pod or in a pod template.
fn version(pod: &Value) -> &str {
    let image = pod["spec"]["containers"][0]["image"].as_str().unwrap_or_default();
    image.rsplit_once(':').map_or("", |(_, tag)| tag)
}

pub(super) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// Kind, name and uid of the owner that controls an object.
pub(super) fn controller(object: &Value) -> Value {
    let owners = object["metadata"]["ownerReferences"].as_array();
    let owner = owners.into_iter().flatten().find(|owner| owner["controller"] == true);
    owner.map(|o| json!([o["kind"], o["name"], o["uid"], o["blockOwnerDeletion"]])).unwrap_or_default()
}

pub(super) fn controller_reference(owner: &Value) -> Value {
    json!([owner["kind"], owner["metadata"]["name"], owner["metadata"]["uid"], true])
}

fn conditions(object: &Value) -> impl Iterator<Item = &Value> {
    object["status"]["conditions"].as_array().into_iter().flatten()
}

pub(super) fn has_condition(object: &Value, kind: &str, status: &str) -> bool {
    conditions(object).any(|c| c["type"] == kind && c["status"] == status)
}

pub(super) fn is_condition(object: &Value, kind: &str, status: &str, reason: &str) -> bool {
    conditions(object).any(|c| c["type"] == kind && c["status"] == status && c["reason"] == reason)
}

fn is_ready(pod: &Value) -> bool {
    has_condition(pod, "Ready", "True")
}

fn is_active(pod: &Value) -> bool {
    let ended = pod["status"]["phase"] == "Succeeded" || pod["status"]["phase"] == "Failed";
    pod["metadata"]["deletionTimestamp"].is_null() && !ended
}

pub(super) async fn list(cx: &Cx, kind: &Kind) -> Result<Vec<Value>> {
    let mut items = cx.objects(kind).list("").await?.ok()?["items"].as_array().cloned().unwrap_or_default();
    for item in &mut items {
        item["kind"] = kind.kind.into();
    }
    Ok(items)
}

/// The pods that neither end nor have ended, once there are this many.
pub(super) async fn active_pods(cx: &Cx, count: usize) -> Result<Vec<Value>> {
    eventually(format!("{count} pods"), async || {
        let pods: Vec<_> = list(cx, &Kind::POD).await?.into_iter().filter(is_active).collect();
        Ok((pods.len() == count).then_some(pods))
    })
    .await
}

async fn run_all(cx: &Cx, node: &PlayedNode, count: usize) -> Result<()> {
    for pod in active_pods(cx, count).await? {
        node.run(name(&pod), true).await?;
    }
    Ok(())
}

pub(super) async fn awaited(
    cx: &Cx,
    kind: &Kind,
    name: &str,
    what: &str,
    is: impl Fn(&Value) -> bool,
) -> Result<Value> {
    let objects = cx.objects(kind);
    let found = eventually(format!("{what} ({} {name})", kind.kind), async || {
        let live = objects.get(name).await?.is(200)?;
        Ok(is(&live).then_some(live))
    })
    .await;
    match found {
        Err(error) => Err(error.context(objects.get(name).await?.text())),
        found => found,
    }
}

/// Deployment `a`, once it is as it should be.
async fn deployment_is(cx: &Cx, what: &str, is: impl Fn(&Value) -> bool) -> Result<Value> {
    awaited(cx, &Kind::DEPLOYMENT, "a", what, is).await
}

/// A Deployment whose status says that all there is to do has been done.
async fn rolled_out(cx: &Cx, name: &str) -> Result<Value> {
    awaited(cx, &Kind::DEPLOYMENT, name, "the rollout", |a| {
        let count = |field: &str| a["status"][field].as_i64().unwrap_or(0);
        let replicas = a["spec"]["replicas"].as_i64().unwrap_or(0);
        a["status"]["observedGeneration"] == a["metadata"]["generation"]
            && ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"]
                .iter()
                .all(|field| count(field) == replicas)
            && count("unavailableReplicas") == 0
            && is_condition(a, "Progressing", "True", "NewReplicaSetAvailable")
    })
    .await
}

pub(super) async fn gone(objects: &Objects, name: &str) -> Result<()> {
    eventually(format!("{name} to be gone"), async || {
        Ok((objects.get(name).await?.status == 404).then_some(()))
    })
    .await
}

/// Rolls three pods to a new version, and looks at every step on the way.
async fn roll_within_bounds(cx: &Cx, body: Value, most: i64, least_ready: usize) -> Result<()> {
    let node = cx.node().await?;
    let deployment = name(&body).to_owned();
    let (deployments, pods) = (cx.objects(&Kind::DEPLOYMENT), cx.objects(&Kind::POD));
    deployments.create(body).await?.is(201)?;
    run_all(cx, &node, 3).await?;
    rolled_out(cx, &deployment).await?;

    let mut known: BTreeMap<String, Value> =
        list(cx, &Kind::POD).await?.into_iter().map(|pod| (name(&pod).to_owned(), pod)).collect();
    let sets = cx.objects(&Kind::REPLICA_SET).watch_from_now().await?;
    let mut watch = pods.watch_from_now().await?;
    deployments.merge(&deployment, new_template("2")).await?.is(200)?;
    while !(known.len() == 3 && known.values().all(|pod| version(pod) == "2" && is_ready(pod))) {
        let event = watch.next().await?;
        let pod_name = event.name().to_owned();
        match event.kind.as_str() {
            "DELETED" => drop(known.remove(&pod_name)),
            _ => drop(known.insert(pod_name.clone(), event.object.clone())),
        }
        let ready = known.values().filter(|pod| is_active(pod) && is_ready(pod)).count();
        ensure!(ready >= least_ready, "only {ready} ready pods at {} {}", event.kind, event.object);
        if event.kind == "ADDED" {
            node.run(&pod_name, true).await?;
        } else if event.kind == "MODIFIED" && !is_active(&event.object) {
            node.remove(&pod_name).await?;
        }
    }
    rolled_out(cx, &deployment).await?;
    check_replica_sets(sets, most).await?;
    deployments.delete(&deployment).await?.is(200)?;
    eventually("the pods to be deleted", async || {
        for pod in list(cx, &Kind::POD).await?.iter().filter(|pod| !is_active(pod)) {
            node.remove(name(pod)).await?;
        }
        Ok(list(cx, &Kind::POD).await?.is_empty().then_some(()))
    })
    .await
}

/// Follows a rollout in what its ReplicaSets were asked for, until the old one is empty.
async fn check_replica_sets(mut sets: Watch, most: i64) -> Result<()> {
    let mut asked: BTreeMap<String, i64> = BTreeMap::new();
    while !(asked.len() == 2
        && asked.values().any(|count| *count == 0)
        && asked.values().any(|count| *count == 3))
    {
        let event = sets.next().await?;
        asked.insert(event.name().to_owned(), event.object["spec"]["replicas"].as_i64().unwrap_or(0));
        let total: i64 = asked.values().sum();
        ensure!(total <= most, "{total} pods asked for: {asked:?}");
    }
    Ok(())
}
