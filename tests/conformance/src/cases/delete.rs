//! Deleting: finalizers, preconditions, grace and collections.

use anneal_harness::{Needs, PlayedNode};
use anyhow::{Result, ensure};
use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use crate::{
    Case, Cx, Kind, Objects,
    case::cases,
    fixtures::{config_map, has_cause, no_pods, pod, version},
};

pub(super) fn cases() -> Vec<Case> {
    cases![
        Needs::API => [
            answers_with_a_status_that_names_the_object,
            missing_object_is_not_found,
            name_is_free_again_at_once,
            wrong_uid_is_a_conflict_and_the_object_stays,
            wrong_version_is_a_conflict_and_the_object_stays,
            right_preconditions_delete,
            finalizer_keeps_the_object_terminating,
            second_delete_of_a_terminating_object_changes_nothing,
            deletion_counts_as_a_generation,
            last_finalizer_takes_the_object_with_it,
            no_new_finalizer_while_terminating,
            terminating_object_cannot_be_revived,
            terminating_object_may_still_change,
            name_of_a_terminating_object_is_taken,
            deleted_event_comes_only_at_the_real_end,
            collection_takes_only_what_matches,
            collection_leaves_finalizers_their_time,
            empty_collection_is_deleted_too,
            dry_run_leaves_the_object,
            unbound_pod_goes_at_once,
            bound_pod_gets_its_grace,
            grace_may_be_shortened_but_not_lengthened,
            grace_may_be_longer_than_the_pods_own,
            zero_grace_removes_a_bound_pod_at_once,
            ended_pod_goes_at_once,
            zero_grace_does_not_override_finalizers,
            negative_grace_is_one_second,
            grace_means_nothing_to_other_kinds,
            options_are_validated,
            malformed_options_are_refused,
            background_adds_no_finalizer,
            orphan_and_foreground_add_their_finalizer,
            later_policy_replaces_the_earlier_finalizer,
        ],
    ]
}

async fn answers_with_a_status_that_names_the_object(cx: Cx) -> Result<()> {
    let deployments = cx.objects(&Kind::DEPLOYMENT);
    let made = deployments.create(no_pods("a")).await?.is(201)?;
    let status = deployments.delete("a").await?.is(200)?;
    ensure!(status["kind"] == "Status" && status["apiVersion"] == "v1", "{status}");
    ensure!(status["status"] == "Success", "{status}");
    let details = json!({
        "name": "a", "group": "apps", "kind": "deployments", "uid": made["metadata"]["uid"]
    });
    ensure!(status["details"] == details, "{status}");
    deployments.get("a").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn missing_object_is_not_found(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    for reply in [
        maps.delete("a").await?,
        maps.delete_with("a", &json!({ "preconditions": { "uid": "any" } })).await?,
        maps.delete("a?dryRun=All").await?,
    ] {
        let status = reply.refused(404, "NotFound")?;
        ensure!(status["details"]["name"] == "a" && status["details"]["kind"] == "configmaps", "{status}");
    }
    Ok(())
}

async fn name_is_free_again_at_once(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let first = maps.create(config_map("a", "1")).await?.is(201)?;
    maps.delete("a").await?.is(200)?;
    let second = maps.create(config_map("a", "2")).await?.is(201)?;
    ensure!(first["metadata"]["uid"] != second["metadata"]["uid"], "{second}");
    ensure!(version(&second)? > version(&first)?, "{second}");
    Ok(())
}

async fn wrong_uid_is_a_conflict_and_the_object_stays(cx: Cx) -> Result<()> {
    let options = json!({ "preconditions": { "uid": "00000000-0000-0000-0000-000000000000" } });
    conflicts(&cx, |_| options).await
}

async fn wrong_version_is_a_conflict_and_the_object_stays(cx: Cx) -> Result<()> {
    // Even with the right uid: both must hold.
    let uid = |map: &Value| map["metadata"]["uid"].clone();
    conflicts(&cx, |map| json!({ "preconditions": { "uid": uid(map), "resourceVersion": "1" } })).await
}

async fn right_preconditions_delete(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let made = maps.create(config_map("a", "1")).await?.is(201)?;
    let preconditions = json!({
        "uid": made["metadata"]["uid"], "resourceVersion": made["metadata"]["resourceVersion"]
    });
    maps.delete_with("a", &json!({ "preconditions": preconditions })).await?.is(200)?;
    maps.get("a").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn finalizer_keeps_the_object_terminating(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let made = maps.create(kept("a")).await?.is(201)?;
    let deleted = maps.delete("a").await?.is(200)?;
    ensure!(deleted["kind"] == "ConfigMap" && deleted["data"] == made["data"], "{deleted}");
    let metadata = &deleted["metadata"];
    ensure!(metadata["deletionTimestamp"].as_str().is_some_and(|time| time.ends_with('Z')), "{metadata}");
    ensure!(metadata["deletionGracePeriodSeconds"] == 0, "{metadata}");
    ensure!(metadata["finalizers"] == json!([KEEP]), "{metadata}");
    ensure!(version(&deleted)? > version(&made)?, "{metadata}");
    ensure!(maps.get("a").await?.is(200)? == deleted);
    ensure!(maps.names("?fieldSelector=metadata.name%3Da").await? == ["a"]);
    release(&maps, "a").await
}

async fn second_delete_of_a_terminating_object_changes_nothing(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create(kept("a")).await?.is(201)?;
    let first = maps.delete("a").await?.is(200)?;
    let second = maps.delete("a").await?.is(200)?;
    ensure!(first == second, "first {first}, then {second}");
    release(&maps, "a").await
}

async fn deletion_counts_as_a_generation(cx: Cx) -> Result<()> {
    let sets = cx.objects(&Kind::REPLICA_SET);
    let mut body = no_pods("a");
    body["metadata"]["finalizers"] = json!([KEEP]);
    ensure!(sets.create(body).await?.is(201)?["metadata"]["generation"] == 1);
    for _ in 0..2 {
        let deleted = sets.delete_with("a", &json!({ "propagationPolicy": "Background" })).await?.is(200)?;
        ensure!(deleted["metadata"]["generation"] == 2, "{deleted}");
    }
    release(&sets, "a").await
}

async fn last_finalizer_takes_the_object_with_it(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let mut body = kept("a");
    body["metadata"]["finalizers"] = json!([KEEP, "example.com/keep-too"]);
    maps.create(body).await?.is(201)?;
    let mut map = maps.delete("a").await?.is(200)?;
    map["metadata"]["finalizers"] = json!(["example.com/keep-too"]);
    map = maps.update("a", &map).await?.is(200)?;
    ensure!(maps.get("a").await?.is(200)? == map);
    map["metadata"]["finalizers"] = json!([]);
    let last = maps.update("a", &map).await?.is(200)?;
    ensure!(last["kind"] == "ConfigMap" && last["metadata"]["finalizers"].is_null(), "{last}");
    maps.get("a").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn no_new_finalizer_while_terminating(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create(kept("a")).await?.is(201)?;
    let terminating = maps.delete("a").await?.is(200)?;
    for finalizers in [json!([KEEP, "example.com/new"]), json!(["example.com/new"])] {
        let status = maps
            .merge("a", json!({ "metadata": { "finalizers": finalizers } }))
            .await?
            .refused(422, "Invalid")?;
        has_cause(&status, "metadata.finalizers", "FieldValueForbidden")?;
    }
    ensure!(maps.get("a").await?.is(200)? == terminating);
    release(&maps, "a").await
}

async fn terminating_object_cannot_be_revived(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create(kept("a")).await?.is(201)?;
    let terminating = maps.delete("a").await?.is(200)?;
    // Without its time or with another, it keeps the one it has; another grace is refused.
    ensure!(maps.update("a", &kept("a")).await?.is(200)? == terminating);
    for time in [Value::Null, "2100-01-01T00:00:00Z".into()] {
        let map = maps.merge("a", json!({ "metadata": { "deletionTimestamp": time } })).await?.is(200)?;
        let kept = &map["metadata"]["deletionTimestamp"];
        ensure!(*kept == terminating["metadata"]["deletionTimestamp"], "{map}");
    }
    let longer = json!({ "metadata": { "deletionGracePeriodSeconds": 30 } });
    let status = maps.merge("a", longer).await?.refused(422, "Invalid")?;
    has_cause(&status, "metadata.deletionGracePeriodSeconds", "FieldValueInvalid")?;
    release(&maps, "a").await
}

async fn terminating_object_may_still_change(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create(kept("a")).await?.is(201)?;
    let terminating = maps.delete("a").await?.is(200)?;
    let changed = maps.merge("a", json!({ "data": { "key": "late" } })).await?.is(200)?;
    ensure!(changed["data"]["key"] == "late" && version(&changed)? > version(&terminating)?, "{changed}");
    let time = &changed["metadata"]["deletionTimestamp"];
    ensure!(*time == terminating["metadata"]["deletionTimestamp"], "{changed}");
    release(&maps, "a").await
}

async fn name_of_a_terminating_object_is_taken(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create(kept("a")).await?.is(201)?;
    maps.delete("a").await?.is(200)?;
    maps.create(config_map("a", "2")).await?.refused(409, "AlreadyExists")?;
    release(&maps, "a").await?;
    maps.create(config_map("a", "2")).await?.is(201)?;
    Ok(())
}

async fn deleted_event_comes_only_at_the_real_end(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let made = version(&maps.create(kept("a")).await?.is(201)?)?;
    let mut watch = maps.watch(&format!("fieldSelector=metadata.name%3Da&resourceVersion={made}")).await?;
    let terminating = maps.delete("a").await?.is(200)?;
    ensure!(watch.expect("MODIFIED", "a").await?.object == terminating);
    maps.delete("a").await?.is(200)?;
    maps.merge("a", json!({ "data": { "key": "late" } })).await?.is(200)?;
    ensure!(watch.expect("MODIFIED", "a").await?.object["data"]["key"] == "late");
    release(&maps, "a").await?;
    let gone = watch.expect("DELETED", "a").await?.object;
    ensure!(gone["data"]["key"] == "late" && version(&gone)? > version(&terminating)?, "{gone}");
    ensure!(!gone["metadata"]["deletionTimestamp"].is_null(), "{gone}");
    Ok(())
}

async fn collection_takes_only_what_matches(cx: Cx) -> Result<()> {
    let secrets = cx.objects(&Kind::SECRET);
    for (name, colour) in [("a", "red"), ("b", "blue"), ("c", "red"), ("d", "blue"), ("e", "blue")] {
        let labels = json!({ "colour": colour });
        secrets.create(json!({ "metadata": { "name": name, "labels": labels } })).await?.is(201)?;
    }
    secrets.delete_all("?labelSelector=colour%3Dred").await?.is(200)?;
    ensure!(secrets.names("").await? == ["b", "d", "e"]);
    secrets.delete_all("?fieldSelector=metadata.name%3Dd").await?.is(200)?;
    ensure!(secrets.names("").await? == ["b", "e"]);
    secrets.delete_all("?labelSelector=two%20words").await?.refused(400, "BadRequest")?;
    secrets.delete_all("?dryRun=All").await?.is(200)?;
    ensure!(secrets.names("").await? == ["b", "e"]);
    secrets.delete_all("").await?.is(200)?;
    ensure!(secrets.names("").await?.is_empty());
    Ok(())
}

async fn collection_leaves_finalizers_their_time(cx: Cx) -> Result<()> {
    let secrets = cx.objects(&Kind::SECRET);
    secrets.create(json!({ "metadata": { "name": "a", "finalizers": [KEEP] } })).await?.is(201)?;
    secrets.create(json!({ "metadata": { "name": "b" } })).await?.is(201)?;
    let list = secrets.delete_all("").await?.is(200)?;
    ensure!(list["kind"] == "SecretList", "{list}");
    ensure!(secrets.names("").await? == ["a"]);
    let left = secrets.get("a").await?.ok()?;
    ensure!(!left["metadata"]["deletionTimestamp"].is_null(), "{left}");
    release(&secrets, "a").await
}

async fn empty_collection_is_deleted_too(cx: Cx) -> Result<()> {
    let list = cx.objects(&Kind::SECRET).delete_all("").await?.is(200)?;
    ensure!(list["kind"] == "SecretList" && list["items"] == json!([]), "{list}");
    Ok(())
}

async fn dry_run_leaves_the_object(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    for body in [config_map("a", "1"), kept("b")] {
        let made = maps.create(body).await?.is(201)?;
        let name = made["metadata"]["name"].as_str().unwrap_or_default();
        maps.delete_with(name, &json!({ "dryRun": ["All"] })).await?.is(200)?;
        maps.delete(&format!("{name}?dryRun=All")).await?.is(200)?;
        ensure!(maps.get(name).await?.is(200)? == made);
    }
    maps.delete("b").await?.is(200)?;
    release(&maps, "b").await
}

async fn unbound_pod_goes_at_once(cx: Cx) -> Result<()> {
    let pods = cx.objects(&Kind::POD);
    let made = pods.create(pod("a")).await?.is(201)?;
    let deleted = pods.delete("a").await?.is(200)?;
    // Unlike most kinds, pods answer with themselves.
    ensure!(deleted["kind"] == "Pod" && deleted["metadata"]["uid"] == made["metadata"]["uid"], "{deleted}");
    pods.get("a").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn bound_pod_gets_its_grace(cx: Cx) -> Result<()> {
    let (pods, node) = bound_pod(&cx).await?;
    let deleted = pods.delete("a").await?.is(200)?;
    ensure!(deleted["metadata"]["deletionGracePeriodSeconds"] == 5, "{deleted}");
    let created = deleted["metadata"]["creationTimestamp"].as_str().unwrap_or_default();
    let time = deleted["metadata"]["deletionTimestamp"].as_str().unwrap_or_default();
    // Both in UTC and in the same form, so their order is that of their text.
    ensure!(time > created, "created at {created}, to be deleted at {time}");
    ensure!(pods.get("a").await?.is(200)? == deleted);
    ensure!(pods.delete("a").await?.is(200)? == deleted);
    node.remove("a").await?;
    pods.get("a").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn grace_may_be_shortened_but_not_lengthened(cx: Cx) -> Result<()> {
    let (pods, _) = bound_pod(&cx).await?;
    // Long enough not to run out meanwhile: a grace that has passed cannot be shortened.
    let first = pods.delete("a?gracePeriodSeconds=900").await?.is(200)?;
    let shorter = pods.delete("a?gracePeriodSeconds=600").await?.is(200)?;
    ensure!(shorter["metadata"]["deletionGracePeriodSeconds"] == 600, "{shorter}");
    ensure!(version(&shorter)? > version(&first)?, "{shorter}");
    let time = |pod: &Value| pod["metadata"]["deletionTimestamp"].as_str().unwrap_or_default().to_owned();
    ensure!(time(&shorter) < time(&first), "{shorter}");
    for query in ["a?gracePeriodSeconds=600", "a?gracePeriodSeconds=1200", "a"] {
        let again = pods.delete(query).await?.is(200)?;
        ensure!(again == shorter, "{query}: {again}");
    }
    Ok(())
}

async fn grace_may_be_longer_than_the_pods_own(cx: Cx) -> Result<()> {
    let (pods, _) = bound_pod(&cx).await?;
    let deleted = pods.delete_with("a", &json!({ "gracePeriodSeconds": 600 })).await?.is(200)?;
    ensure!(deleted["metadata"]["deletionGracePeriodSeconds"] == 600, "{deleted}");
    let created = deleted["metadata"]["creationTimestamp"].as_str().unwrap_or_default();
    let time = deleted["metadata"]["deletionTimestamp"].as_str().unwrap_or_default();
    ensure!(time > created, "created at {created}, to be deleted at {time}");
    Ok(())
}

async fn zero_grace_removes_a_bound_pod_at_once(cx: Cx) -> Result<()> {
    let (pods, _) = bound_pod(&cx).await?;
    let mut watch = pods.watch_from_now().await?;
    pods.delete("a?gracePeriodSeconds=0").await?.is(200)?;
    pods.get("a").await?.refused(404, "NotFound")?;
    let mut event = watch.next().await?;
    while event.kind == "MODIFIED" {
        event = watch.next().await?;
    }
    ensure!(event.kind == "DELETED" && event.name() == "a", "{event:?}");
    Ok(())
}

async fn ended_pod_goes_at_once(cx: Cx) -> Result<()> {
    let (pods, node) = bound_pod(&cx).await?;
    node.end("a", 0).await?;
    pods.delete("a").await?.is(200)?;
    pods.get("a").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn zero_grace_does_not_override_finalizers(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create(kept("a")).await?.is(201)?;
    maps.delete("a?gracePeriodSeconds=0").await?.is(200)?;
    maps.get("a").await?.is(200)?;
    release(&maps, "a").await
}

async fn negative_grace_is_one_second(cx: Cx) -> Result<()> {
    let (pods, _) = bound_pod(&cx).await?;
    let deleted = pods.delete_with("a", &json!({ "gracePeriodSeconds": -5 })).await?.is(200)?;
    ensure!(deleted["metadata"]["deletionGracePeriodSeconds"] == 1, "{deleted}");
    pods.get("a").await?.is(200)?;
    Ok(())
}

async fn grace_means_nothing_to_other_kinds(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create(config_map("a", "1")).await?.is(201)?;
    maps.delete("a?gracePeriodSeconds=60").await?.is(200)?;
    maps.get("a").await?.refused(404, "NotFound")?;
    maps.create(kept("b")).await?.is(201)?;
    let kept = maps.delete("b?gracePeriodSeconds=60").await?.is(200)?;
    ensure!(kept["metadata"]["deletionGracePeriodSeconds"] == 0, "{kept}");
    release(&maps, "b").await
}

async fn options_are_validated(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let made = maps.create(config_map("a", "1")).await?.is(201)?;
    for (options, field, reason) in [
        (json!({ "propagationPolicy": "Sideways" }), "propagationPolicy", "FieldValueNotSupported"),
        (
            json!({ "propagationPolicy": "Orphan", "orphanDependents": true }),
            "propagationPolicy",
            "FieldValueInvalid",
        ),
        (json!({ "dryRun": ["Some"] }), "dryRun", "FieldValueNotSupported"),
    ] {
        let status = maps.delete_with("a", &options).await?.refused(422, "Invalid")?;
        has_cause(&status, field, reason)?;
    }
    maps.delete("a?propagationPolicy=Sideways").await?.refused(422, "Invalid")?;
    ensure!(maps.get("a").await?.is(200)? == made);
    Ok(())
}

async fn malformed_options_are_refused(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let made = maps.create(config_map("a", "1")).await?.is(201)?;
    let path = format!("{}/a", maps.path());
    let cut_off = Bytes::from_static(b"{\"gracePeriodSeconds\":");
    cx.http
        .send(Method::DELETE, &path, Some("application/json"), cut_off)
        .await?
        .refused(400, "BadRequest")?;
    maps.delete_with("a", &json!({ "apiVersion": "v1", "kind": "Pod" })).await?.refused(400, "BadRequest")?;
    maps.delete("a?gracePeriodSeconds=abc").await?.refused(400, "BadRequest")?;
    ensure!(maps.get("a").await?.is(200)? == made);
    Ok(())
}

async fn background_adds_no_finalizer(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    for (name, options, code) in [
        ("a", json!({ "propagationPolicy": "Background" }), 200),
        // The old spelling alone is told that the work is not done yet.
        ("b", json!({ "orphanDependents": false }), 202),
        ("c", json!({}), 200),
    ] {
        maps.create(kept(name)).await?.is(201)?;
        let deleted = maps.delete_with(name, &options).await?.is(code)?;
        ensure!(deleted["metadata"]["finalizers"] == json!([KEEP]), "{options}: {deleted}");
        release(&maps, name).await?;
    }
    Ok(())
}

// The garbage collector soon takes these finalizers off again: only answers and events are sure to
// show them.
async fn orphan_and_foreground_add_their_finalizer(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    for (name, options, finalizer) in [
        ("a", json!({ "propagationPolicy": "Orphan" }), "orphan"),
        ("b", json!({ "orphanDependents": true }), "orphan"),
        ("c", json!({ "propagationPolicy": "Foreground" }), "foregroundDeletion"),
    ] {
        let made = version(&maps.create(kept(name)).await?.is(201)?)?;
        let query = format!("fieldSelector=metadata.name%3D{name}&resourceVersion={made}");
        let mut watch = maps.watch(&query).await?;
        let deleted = maps.delete_with(name, &options).await?.is(200)?;
        ensure!(deleted["metadata"]["finalizers"] == json!([KEEP, finalizer]), "{options}: {deleted}");
        ensure!(!deleted["metadata"]["deletionTimestamp"].is_null(), "{deleted}");
        ensure!(watch.expect("MODIFIED", name).await?.object == deleted);
        release(&maps, name).await?;
    }
    Ok(())
}

async fn later_policy_replaces_the_earlier_finalizer(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create(kept("a")).await?.is(201)?;
    let first = maps.delete_with("a", &json!({ "propagationPolicy": "Background" })).await?.is(200)?;
    let second = maps.delete_with("a", &json!({ "propagationPolicy": "Foreground" })).await?.is(200)?;
    ensure!(second["metadata"]["finalizers"] == json!([KEEP, "foregroundDeletion"]), "{second}");
    ensure!(second["metadata"]["deletionTimestamp"] == first["metadata"]["deletionTimestamp"], "{second}");
    let third = maps.delete_with("a", &json!({ "propagationPolicy": "Background" })).await?.is(200)?;
    ensure!(third["metadata"]["finalizers"] == json!([KEEP]), "{third}");
    release(&maps, "a").await
}

const KEEP: &str = "example.com/keep";

/// A ConfigMap that stays until somebody releases it.
fn kept(name: &str) -> Value {
    let mut map = config_map(name, "1");
    map["metadata"]["finalizers"] = json!([KEEP]);
    map
}

/// Takes all finalizers off an object that is being deleted.
async fn release(objects: &Objects, name: &str) -> Result<()> {
    objects.merge(name, json!({ "metadata": { "finalizers": null } })).await?.is(200)?;
    objects.get(name).await?.refused(404, "NotFound")?;
    Ok(())
}

/// Deletes a ConfigMap under a condition that does not hold.
async fn conflicts(cx: &Cx, options: impl FnOnce(&Value) -> Value) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let made = maps.create(config_map("a", "1")).await?.is(201)?;
    let status = maps.delete_with("a", &options(&made)).await?.refused(409, "Conflict")?;
    ensure!(status["details"]["name"] == "a", "{status}");
    ensure!(maps.get("a").await?.is(200)? == made);
    Ok(())
}

/// A pod `a` with five seconds of grace, on a node.
async fn bound_pod(cx: &Cx) -> Result<(Objects, PlayedNode)> {
    let (pods, node) = (cx.objects(&Kind::POD), cx.node().await?);
    pods.create(pod("a")).await?.is(201)?;
    node.bind("a").await?;
    Ok((pods, node))
}
