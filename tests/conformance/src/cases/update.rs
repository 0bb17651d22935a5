//! Replacing objects: versions, generations and what may not change.

use anneal_harness::{Needs, Reply};
use anyhow::{Result, ensure};
use bytes::Bytes;
use futures::future::try_join_all;
use http::Method;
use serde_json::json;

use crate::{
    Case, Cx, Kind,
    case::cases,
    fixtures::{config_map, free_form, has_cause, no_pods, pod, version},
};

pub(super) fn cases() -> Vec<Case> {
    cases![
        Needs::API => [
            stale_version_is_a_conflict_and_changes_nothing,
            one_of_many_writers_with_the_same_version_wins,
            without_a_version_replaces_whatever_is_there,
            custom_resource_must_bring_its_version,
            replaces_the_whole_object,
            no_change_keeps_the_version_and_emits_no_event,
            versions_grow_across_kinds,
            generation_counts_changes_of_the_spec_only,
            generation_of_a_deployment_counts_annotations_too,
            generation_and_creation_time_in_the_body_are_ignored,
            status_update_changes_nothing_but_the_status,
            spec_update_leaves_the_status,
            another_uid_is_a_conflict,
            refuses_another_name_or_namespace,
            missing_object_is_not_found_and_not_made,
            refuses_another_kind_or_api_version,
            refuses_malformed_json,
            refuses_an_unknown_media_type,
            refuses_a_body_over_the_limit,
            refuses_data_over_a_mebibyte,
            refuses_invalid_labels_and_annotations,
            immutable_config_map_takes_only_metadata,
            secret_type_is_immutable,
            deployment_selector_is_immutable,
            refuses_to_set_the_deletion_time,
        ],
    ]
}

async fn stale_version_is_a_conflict_and_changes_nothing(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let mut first = maps.create(config_map("a", "1")).await?.is(201)?;
    let second = maps.merge("a", json!({ "data": { "key": "2" } })).await?.ok()?;
    first["data"]["key"] = "3".into();
    let status = maps.update("a", &first).await?.refused(409, "Conflict")?;
    ensure!(status["details"]["name"] == "a" && status["details"]["kind"] == "configmaps", "{status}");
    ensure!(maps.get("a").await?.ok()? == second);
    Ok(())
}

async fn one_of_many_writers_with_the_same_version_wins(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let first = maps.create(config_map("a", "1")).await?.is(201)?;
    let writers = (0..8).map(|writer| {
        let (maps, mut mine) = (maps.clone(), first.clone());
        mine["data"]["key"] = format!("writer {writer}").into();
        async move { maps.update("a", &mine).await }
    });
    let mut won = Vec::new();
    for reply in try_join_all(writers).await? {
        if reply.status == 200 {
            won.push(reply.json()?);
        } else {
            reply.refused(409, "Conflict")?;
        }
    }
    ensure!(won.len() == 1, "{} writers won", won.len());
    ensure!(maps.get("a").await?.ok()? == won[0]);
    Ok(())
}

async fn without_a_version_replaces_whatever_is_there(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let first = maps.create(config_map("a", "1")).await?.is(201)?;
    let second = maps.update("a", &config_map("a", "2")).await?.is(200)?;
    ensure!(second["data"]["key"] == "2" && version(&second)? > version(&first)?, "{second}");
    ensure!(second["metadata"]["uid"] == first["metadata"]["uid"], "{second}");
    ensure!(second["metadata"]["creationTimestamp"] == first["metadata"]["creationTimestamp"], "{second}");
    Ok(())
}

async fn custom_resource_must_bring_its_version(cx: Cx) -> Result<()> {
    let objects = cx.objects(&cx.install_crd("Plain", free_form(), json!({})).await?);
    let body = json!({ "metadata": { "name": "a" }, "spec": { "size": 1 } });
    let made = objects.create(body.clone()).await?.is(201)?;
    let status = objects.update("a", &body).await?.refused(422, "Invalid")?;
    has_cause(&status, "metadata.resourceVersion", "FieldValueInvalid")?;
    ensure!(objects.get("a").await?.ok()? == made);
    Ok(())
}

async fn replaces_the_whole_object(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let body = json!({
        "metadata": { "name": "a", "labels": { "a": "1", "b": "1" }, "annotations": { "a": "1" } },
        "data": { "a": "1", "b": "1" }
    });
    maps.create(body).await?.is(201)?;
    let body = json!({ "metadata": { "name": "a", "labels": { "b": "2" } }, "data": { "b": "2" } });
    maps.update("a", &body).await?.is(200)?;
    let map = maps.get("a").await?.ok()?;
    ensure!(map["metadata"]["labels"] == json!({ "b": "2" }), "{map}");
    ensure!(map["metadata"]["annotations"].is_null() && map["data"] == json!({ "b": "2" }), "{map}");
    Ok(())
}

async fn no_change_keeps_the_version_and_emits_no_event(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let made = maps.create(config_map("a", "1")).await?.is(201)?;
    let query = format!("fieldSelector=metadata.name=a&resourceVersion={}", version(&made)?);
    let mut watch = maps.watch(&query).await?;
    let again = maps.update("a", &made).await?.is(200)?;
    ensure!(again == made, "{again}");
    let without_version = maps.update("a", &config_map("a", "1")).await?.is(200)?;
    ensure!(version(&without_version)? == version(&made)?, "{without_version}");
    let changed = maps.update("a", &config_map("a", "2")).await?.is(200)?;
    ensure!(watch.expect("MODIFIED", "a").await?.object == changed);
    Ok(())
}

async fn versions_grow_across_kinds(cx: Cx) -> Result<()> {
    let (maps, secrets, pods) =
        (cx.objects(&Kind::CONFIG_MAP), cx.objects(&Kind::SECRET), cx.objects(&Kind::POD));
    let change = json!({ "metadata": { "labels": { "changed": "true" } } });
    let list = maps.list("").await?.ok()?;
    let mut versions = vec![version(&list)?];
    for objects in [&maps, &secrets, &pods] {
        let body =
            if objects.path() == pods.path() { pod("a") } else { json!({ "metadata": { "name": "a" } }) };
        versions.push(version(&objects.create(body).await?.is(201)?)?);
    }
    for objects in [&pods, &maps, &secrets] {
        versions.push(version(&objects.merge("a", change.clone()).await?.is(200)?)?);
    }
    ensure!(versions.is_sorted_by(|a, b| a < b), "{versions:?}");
    Ok(())
}

async fn generation_counts_changes_of_the_spec_only(cx: Cx) -> Result<()> {
    let sets = cx.objects(&Kind::REPLICA_SET);
    let mut body = no_pods("a");
    let made = sets.create(body.clone()).await?.is(201)?;
    ensure!(made["metadata"]["generation"] == 1, "{made}");
    body["metadata"]["labels"] = json!({ "changed": "true" });
    body["metadata"]["annotations"] = json!({ "changed": "true" });
    let labelled = sets.update("a", &body).await?.is(200)?;
    ensure!(labelled["metadata"]["generation"] == 1, "{labelled}");
    let condition = json!({ "type": "Played", "status": "True" });
    let reported =
        sets.merge("a/status", json!({ "status": { "conditions": [condition] } })).await?.is(200)?;
    ensure!(reported["metadata"]["generation"] == 1, "{reported}");
    body["spec"]["minReadySeconds"] = 7.into();
    for _ in 0..2 {
        let changed_once = sets.update("a", &body).await?.is(200)?;
        ensure!(changed_once["metadata"]["generation"] == 2, "{changed_once}");
    }
    Ok(())
}

async fn generation_of_a_deployment_counts_annotations_too(cx: Cx) -> Result<()> {
    let deployments = cx.objects(&Kind::DEPLOYMENT);
    ensure!(deployments.create(no_pods("a")).await?.is(201)?["metadata"]["generation"] == 1);
    for (change, generation) in [
        (json!({ "metadata": { "labels": { "changed": "true" } } }), 1),
        (json!({ "metadata": { "annotations": { "changed": "true" } } }), 2),
        (json!({ "spec": { "minReadySeconds": 7 } }), 3),
    ] {
        let changed = deployments.merge("a", change).await?.is(200)?;
        ensure!(changed["metadata"]["generation"] == generation, "{changed}");
    }
    Ok(())
}

async fn generation_and_creation_time_in_the_body_are_ignored(cx: Cx) -> Result<()> {
    let sets = cx.objects(&Kind::REPLICA_SET);
    let mut body = no_pods("a");
    body["metadata"]["generation"] = 7.into();
    body["metadata"]["creationTimestamp"] = "2001-01-01T00:00:00Z".into();
    let made = sets.create(body.clone()).await?.is(201)?;
    let metadata = &made["metadata"];
    ensure!(metadata["generation"] == 1, "{metadata}");
    ensure!(metadata["creationTimestamp"] != "2001-01-01T00:00:00Z", "{metadata}");
    let updated = sets.update("a", &body).await?.is(200)?;
    ensure!(updated["metadata"]["generation"] == 1, "{updated}");
    ensure!(updated["metadata"]["creationTimestamp"] == metadata["creationTimestamp"], "{updated}");
    Ok(())
}

async fn status_update_changes_nothing_but_the_status(cx: Cx) -> Result<()> {
    let subresource = json!({ "subresources": { "status": {} } });
    let objects = cx.objects(&cx.install_crd("Reported", free_form(), subresource).await?);
    let body = json!({ "metadata": { "name": "a" }, "spec": { "size": 1 }, "status": { "size": 9 } });
    let mut object = objects.create(body).await?.is(201)?;
    ensure!(object["status"].is_null(), "created with a status: {object}");
    object["spec"]["size"] = 2.into();
    object["status"] = json!({ "size": 1 });
    object["metadata"]["labels"] = json!({ "changed": "true" });
    let reported = objects.update("a/status", &object).await?.is(200)?;
    ensure!(
        reported["status"] == json!({ "size": 1 }) && reported["spec"] == json!({ "size": 1 }),
        "{reported}"
    );
    let metadata = &reported["metadata"];
    ensure!(metadata["labels"].is_null() && metadata["generation"] == 1, "{metadata}");
    ensure!(version(&reported)? > version(&object)?, "{metadata}");

    object = reported.clone();
    object["spec"]["size"] = 3.into();
    object["status"]["size"] = 3.into();
    let changed = objects.update("a", &object).await?.is(200)?;
    ensure!(
        changed["spec"] == json!({ "size": 3 }) && changed["status"] == json!({ "size": 1 }),
        "{changed}"
    );
    ensure!(changed["metadata"]["generation"] == 2, "{changed}");
    Ok(())
}

async fn spec_update_leaves_the_status(cx: Cx) -> Result<()> {
    let pods = cx.objects(&Kind::POD);
    let mut body = pods.create(pod("a")).await?.is(201)?;
    ensure!(body["status"]["phase"] == "Pending", "{body}");
    body["spec"]["containers"][0]["image"] = "registry.invalid/app:2".into();
    body["status"] = json!({ "phase": "Running", "message": "not from here" });
    let updated = pods.update("a", &body).await?.is(200)?;
    ensure!(updated["spec"]["containers"][0]["image"] == "registry.invalid/app:2", "{updated}");
    ensure!(updated["status"]["phase"] == "Pending" && updated["status"]["message"].is_null(), "{updated}");
    Ok(())
}

async fn another_uid_is_a_conflict(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let made = maps.create(config_map("a", "1")).await?.is(201)?;
    for with_version in [true, false] {
        let mut body = config_map("a", "2");
        body["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000".into();
        if with_version {
            body["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"].clone();
        }
        maps.update("a", &body).await?.refused(409, "Conflict")?;
    }
    ensure!(maps.get("a").await?.ok()? == made);
    Ok(())
}

async fn refuses_another_name_or_namespace(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let made = maps.create(config_map("a", "1")).await?.is(201)?;
    let mut elsewhere = config_map("a", "2");
    elsewhere["metadata"]["namespace"] = "elsewhere".into();
    for body in [config_map("b", "2"), elsewhere, json!({ "metadata": {}, "data": { "key": "2" } })] {
        maps.update("a", &body).await?.refused(400, "BadRequest")?;
    }
    ensure!(maps.get("a").await?.ok()? == made);
    maps.get("b").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn missing_object_is_not_found_and_not_made(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let mut body = config_map("a", "1");
    let status = maps.update("a", &body).await?.refused(404, "NotFound")?;
    ensure!(status["details"]["name"] == "a" && status["details"]["kind"] == "configmaps", "{status}");
    body["metadata"]["resourceVersion"] = "5".into();
    maps.update("a", &body).await?.refused(404, "NotFound")?;
    maps.get("a").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn refuses_another_kind_or_api_version(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let made = maps.create(config_map("a", "1")).await?.is(201)?;
    for (api_version, kind) in [("v1", "Secret"), ("v2", "ConfigMap"), ("apps/v1", "Deployment")] {
        let mut body = config_map("a", "2");
        body["apiVersion"] = api_version.into();
        body["kind"] = kind.into();
        maps.update("a", &body).await?.refused(400, "BadRequest")?;
    }
    ensure!(maps.get("a").await?.ok()? == made);
    Ok(())
}

async fn refuses_malformed_json(cx: Cx) -> Result<()> {
    put(&cx, "application/json", r#"{"metadata":{"name":"a"},"data":{"key":"#)
        .await?
        .refused(400, "BadRequest")?;
    put(&cx, "application/json", "").await?.refused(400, "BadRequest")?;
    let wrong_type = r#"{"metadata":{"name":"a"},"data":{"key":5}}"#;
    put(&cx, "application/json", wrong_type).await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn refuses_an_unknown_media_type(cx: Cx) -> Result<()> {
    let body = r#"{"metadata":{"name":"a"}}"#;
    for media_type in ["text/plain", "application/merge-patch+json"] {
        put(&cx, media_type, body).await?.refused(415, "UnsupportedMediaType")?;
    }
    Ok(())
}

async fn refuses_a_body_over_the_limit(cx: Cx) -> Result<()> {
    let body = config_map("a", &"x".repeat(3 * 1024 * 1024)).to_string();
    put(&cx, "application/json", body).await?.refused(413, "RequestEntityTooLarge")?;
    Ok(())
}

async fn refuses_data_over_a_mebibyte(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create(config_map("a", "1")).await?.is(201)?;
    let fits = "x".repeat(1024 * 1024);
    let status = maps.update("a", &config_map("a", &format!("{fits}x"))).await?.refused(422, "Invalid")?;
    ensure!(status["details"]["causes"][0]["reason"] == "FieldValueTooLong", "{status}");
    maps.update("a", &config_map("a", &fits)).await?.is(200)?;
    Ok(())
}

async fn refuses_invalid_labels_and_annotations(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let made = maps.create(config_map("a", "1")).await?.is(201)?;
    let long = "x".repeat(64);
    for (field, key, value) in [
        ("labels", "a", "two words"),
        ("labels", "a", &long),
        ("labels", "/a", "1"),
        ("labels", "", "1"),
        ("annotations", "two words", "1"),
    ] {
        let mut body = config_map("a", "1");
        body["metadata"][field] = json!({ key: value });
        let status = maps.update("a", &body).await?.refused(422, "Invalid")?;
        has_cause(&status, &format!("metadata.{field}"), "FieldValueInvalid")?;
    }
    ensure!(maps.get("a").await?.ok()? == made);
    Ok(())
}

async fn immutable_config_map_takes_only_metadata(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let mut sealed = config_map("a", "1");
    sealed["immutable"] = true.into();
    maps.create(sealed.clone()).await?.is(201)?;
    let mut other_data = sealed.clone();
    other_data["data"]["key"] = "2".into();
    let mut more_data = sealed.clone();
    more_data["binaryData"] = json!({ "more": "AAAA" });
    for (body, field) in
        [(other_data, "data"), (more_data, "binaryData"), (config_map("a", "1"), "immutable")]
    {
        let status = maps.update("a", &body).await?.refused(422, "Invalid")?;
        has_cause(&status, field, "FieldValueForbidden")?;
    }
    sealed["metadata"]["labels"] = json!({ "changed": "true" });
    ensure!(maps.update("a", &sealed).await?.is(200)?["metadata"]["labels"]["changed"] == "true");
    Ok(())
}

async fn secret_type_is_immutable(cx: Cx) -> Result<()> {
    let secrets = cx.objects(&Kind::SECRET);
    let mut body = json!({ "metadata": { "name": "a" } });
    ensure!(secrets.create(body.clone()).await?.is(201)?["type"] == "Opaque");
    body["type"] = "example.com/other".into();
    let status = secrets.update("a", &body).await?.refused(422, "Invalid")?;
    has_cause(&status, "type", "FieldValueInvalid")
}

async fn deployment_selector_is_immutable(cx: Cx) -> Result<()> {
    let deployments = cx.objects(&Kind::DEPLOYMENT);
    let mut body = no_pods("a");
    deployments.create(body.clone()).await?.is(201)?;
    body["spec"]["selector"]["matchLabels"]["app"] = "b".into();
    body["spec"]["template"]["metadata"]["labels"]["app"] = "b".into();
    let status = deployments.update("a", &body).await?.refused(422, "Invalid")?;
    ensure!(status["details"]["group"] == "apps" && status["details"]["kind"] == "Deployment", "{status}");
    has_cause(&status, "spec.selector", "FieldValueInvalid")
}

async fn refuses_to_set_the_deletion_time(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let made = maps.create(config_map("a", "1")).await?.is(201)?;
    let mut body = config_map("a", "1");
    body["metadata"]["deletionTimestamp"] = "2001-01-01T00:00:00Z".into();
    let status = maps.update("a", &body).await?.refused(422, "Invalid")?;
    has_cause(&status, "metadata.deletionTimestamp", "FieldValueInvalid")?;
    ensure!(maps.get("a").await?.ok()? == made);
    Ok(())
}

/// Makes a ConfigMap `a`, puts raw bytes in its place, and makes sure that they changed nothing.
async fn put(cx: &Cx, media_type: &str, body: impl Into<Bytes>) -> Result<Reply> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let made = maps.create(config_map("a", "1")).await?;
    ensure!(matches!(made.status, 201 | 409), "{made}");
    let path = format!("{}/a", maps.path());
    let reply = cx.http.send(Method::PUT, &path, Some(media_type), body.into()).await?;
    ensure!(maps.get("a").await?.ok()?["data"]["key"] == "1", "changed by {reply}");
    Ok(reply)
}
