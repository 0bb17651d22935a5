//! Options any write takes: dryRun, fieldValidation and fieldManager.

use anneal_harness::{Needs, PatchKind, Reply};
use anyhow::{Result, ensure};
use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use crate::{
    Case, Cx, Kind, Objects,
    case::cases,
    fixtures::{config_map, pod},
};

pub(super) fn cases() -> Vec<Case> {
    cases![
        Needs::API => [
            dry_create_shows_the_object_and_keeps_nothing,
            dry_create_still_finds_faults,
            dry_update_and_patch_keep_nothing,
            dry_apply_keeps_nothing,
            dry_delete_keeps_the_object,
            dry_delete_of_a_collection_keeps_it,
            dry_run_of_anything_but_all_is_invalid,
            force_is_only_for_apply,
            strict_create_refuses_unknown_and_duplicate_fields,
            strict_patch_refuses_unknown_fields,
            strict_apply_refuses_duplicate_fields,
            unknown_fields_are_warned_about_and_dropped_by_default,
            ignored_fields_are_dropped_in_silence,
            unknown_field_validation_is_invalid,
            custom_resource_is_validated_the_same_way,
            manager_of_an_update_comes_from_the_user_agent,
            manager_of_a_patch_comes_from_its_parameter,
            field_manager_must_be_short_and_printable,
        ],
    ]
}

async fn dry_create_shows_the_object_and_keeps_nothing(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let mut watch = watch_one(&maps, "a").await?;
    let map = maps.create_with("?dryRun=All", config_map("a", "dry")).await?.is(201)?;
    ensure!(map["data"]["key"] == "dry" && map["metadata"]["uid"].is_string(), "{map}");
    ensure!(map["metadata"].get("resourceVersion").is_none(), "{map}");
    maps.get("a").await?.refused(404, "NotFound")?;
    let body = json!({ "metadata": { "generateName": "g-" } });
    let map = maps.create_with("?dryRun=All", body).await?.is(201)?;
    let name = map["metadata"]["name"].as_str().unwrap_or_default();
    ensure!(name.starts_with("g-") && name.len() == 7, "{map}");
    maps.get(name).await?.refused(404, "NotFound")?;
    // Defaults are shown too: that is what the question is asked for.
    let object = cx.objects(&Kind::POD).create_with("?dryRun=All", pod("a")).await?.is(201)?;
    ensure!(object["spec"]["restartPolicy"] == "Always", "{object}");
    maps.create(config_map("a", "marker")).await?.is(201)?;
    ensure!(watch.expect("ADDED", "a").await?.object["data"]["key"] == "marker");
    Ok(())
}

async fn dry_create_still_finds_faults(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create(config_map("a", "1")).await?.is(201)?;
    maps.create_with("?dryRun=All", config_map("a", "2")).await?.refused(409, "AlreadyExists")?;
    maps.create_with("?dryRun=All", config_map("Not_A_Name", "1")).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn dry_update_and_patch_keep_nothing(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let before = maps.create(config_map("a", "1")).await?.is(201)?;
    let mut watch = watch_one(&maps, "a").await?;
    let map = maps.update("a?dryRun=All", &config_map("a", "2")).await?.is(200)?;
    ensure!(map["data"]["key"] == "2", "{map}");
    let patch = json!({ "data": { "key": "3" } });
    let replace = json!([{ "op": "replace", "path": "/data/key", "value": "3" }]);
    for (kind, patch) in
        [(PatchKind::Merge, &patch), (PatchKind::Strategic, &patch), (PatchKind::Json, &replace)]
    {
        let map = maps.patch("a?dryRun=All", kind, patch).await?.is(200)?;
        ensure!(map["data"]["key"] == "3", "{map}");
        ensure!(map["metadata"]["uid"] == before["metadata"]["uid"], "{map}");
    }
    ensure!(maps.get("a").await?.ok()? == before);
    maps.merge("a", json!({ "data": { "key": "marker" } })).await?.is(200)?;
    ensure!(watch.expect("MODIFIED", "a").await?.object["data"]["key"] == "marker");
    Ok(())
}

async fn dry_apply_keeps_nothing(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let dry = "fieldManager=one&dryRun=All";
    let map = maps.apply_with("a", dry, json!({ "data": { "key": "1" } })).await?.is(201)?;
    ensure!(map["data"]["key"] == "1", "{map}");
    maps.get("a").await?.refused(404, "NotFound")?;
    let before = maps.apply("a", "one", json!({ "data": { "key": "1" } })).await?.is(201)?;
    let map = maps.apply_with("a", dry, json!({ "data": { "other": "2" } })).await?.is(200)?;
    ensure!(map["data"] == json!({ "other": "2" }), "{map}");
    ensure!(manager(&map, "one")["fieldsV1"] == json!({ "f:data": { "f:other": {} } }), "{map}");
    ensure!(maps.get("a").await?.ok()? == before);
    maps.apply_with("a", "fieldManager=two&dryRun=All", json!({ "data": { "key": "2" } }))
        .await?
        .refused(409, "Conflict")?;
    Ok(())
}

async fn dry_delete_keeps_the_object(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let before = maps.create(config_map("a", "1")).await?.is(201)?;
    let mut watch = watch_one(&maps, "a").await?;
    for (name, options) in [("a?dryRun=All", Value::Null), ("a", json!({ "dryRun": ["All"] }))] {
        let status = maps.delete_with(name, &options).await?.is(200)?;
        ensure!(status["kind"] == "Status" && status["status"] == "Success", "{status}");
    }
    ensure!(maps.get("a").await?.ok()? == before);
    maps.merge("a", json!({ "data": { "key": "marker" } })).await?.is(200)?;
    watch.expect("MODIFIED", "a").await?;
    maps.delete("none?dryRun=All").await?.refused(404, "NotFound")?;
    // A pod that would have time to end is not told to.
    let pods = cx.objects(&Kind::POD);
    let before = pods.create(pod("a")).await?.is(201)?;
    pods.delete("a?dryRun=All").await?.is(200)?;
    let after = pods.get("a").await?.ok()?;
    ensure!(after["metadata"]["uid"] == before["metadata"]["uid"], "{after}");
    ensure!(after["metadata"].get("deletionTimestamp").is_none(), "{after}");
    Ok(())
}

async fn dry_delete_of_a_collection_keeps_it(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    for name in ["a", "b"] {
        let mut body = config_map(name, "1");
        body["metadata"]["labels"] = json!({ "mine": "yes" });
        maps.create(body).await?.is(201)?;
    }
    maps.delete_all("?labelSelector=mine%3Dyes&dryRun=All").await?.is(200)?;
    ensure!(maps.names("?labelSelector=mine%3Dyes").await? == ["a", "b"]);
    Ok(())
}

async fn dry_run_of_anything_but_all_is_invalid(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let before = maps.create(config_map("a", "1")).await?.is(201)?;
    for reply in [
        maps.create_with("?dryRun=Some", config_map("b", "1")).await?,
        maps.update("a?dryRun=Some", &config_map("a", "2")).await?,
        maps.merge("a?dryRun=Some", json!({ "data": { "key": "2" } })).await?,
        maps.delete("a?dryRun=Some").await?,
    ] {
        let status = reply.refused(422, "Invalid")?;
        let cause = &status["details"]["causes"][0];
        ensure!(cause["field"] == "dryRun" && cause["reason"] == "FieldValueNotSupported", "{status}");
    }
    ensure!(maps.get("a").await?.ok()? == before);
    maps.get("b").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn force_is_only_for_apply(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create(config_map("a", "1")).await?.is(201)?;
    let status =
        maps.merge("a?force=true", json!({ "data": { "key": "2" } })).await?.refused(422, "Invalid")?;
    let cause = &status["details"]["causes"][0];
    ensure!(cause["field"] == "force" && cause["reason"] == "FieldValueForbidden", "{status}");
    Ok(())
}

async fn strict_create_refuses_unknown_and_duplicate_fields(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    for body in [FAULTY_JSON, FAULTY_YAML] {
        let media_type = if body == FAULTY_JSON { "application/json" } else { "application/yaml" };
        let path = format!("{}?fieldValidation=Strict", maps.path());
        let reply = cx.http.send(Method::POST, &path, Some(media_type), Bytes::from(body)).await?;
        let status = reply.refused(400, "BadRequest")?;
        // Which fields, and all of them: kubectl shows this to the one who mistyped.
        names_all(&status, &["metadata.mistyped", "unknown"])?;
        if body == FAULTY_JSON {
            names_all(&status, &["data.twice"])?;
        }
    }
    maps.get("a").await?.refused(404, "NotFound")?;
    let map = maps.create(config_map("a", "1")).await?.is(201)?;
    let mut faulty = map.clone();
    faulty["metadata"]["mistyped"] = 1.into();
    let status = maps.update("a?fieldValidation=Strict", &faulty).await?.refused(400, "BadRequest")?;
    names_all(&status, &["metadata.mistyped"])?;
    ensure!(maps.get("a").await?.ok()? == map);
    Ok(())
}

async fn strict_patch_refuses_unknown_fields(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let before = maps.create(config_map("a", "1")).await?.is(201)?;
    let faulty = json!({ "metadata": { "mistyped": "1" }, "data": { "key": "2" } });
    let add = json!([{ "op": "add", "path": "/metadata/mistyped", "value": "1" }]);
    for (kind, patch) in
        [(PatchKind::Merge, &faulty), (PatchKind::Strategic, &faulty), (PatchKind::Json, &add)]
    {
        let status = maps.patch("a?fieldValidation=Strict", kind, patch).await?.refused(422, "Invalid")?;
        names_all(&status, &["metadata.mistyped"])?;
        ensure!(maps.get("a").await?.ok()? == before);
        let reply = maps.patch("a?dryRun=All", kind, patch).await?;
        ensure!(reply.ok()?["metadata"].get("mistyped").is_none(), "{reply}");
        warns_of(&reply, &["metadata.mistyped"])?;
    }
    Ok(())
}

async fn strict_apply_refuses_duplicate_fields(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let body = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"1","k":"2"}}"#;
    let apply = async |query: &str| {
        let path = format!("{}/a?fieldManager=one{query}", maps.path());
        cx.http.send(Method::PATCH, &path, Some(PatchKind::Apply.media_type()), body.into()).await
    };
    apply("&fieldValidation=Strict").await?.refused(400, "BadRequest")?;
    maps.get("a").await?.refused(404, "NotFound")?;
    let reply = apply("").await?;
    ensure!(reply.is(201)?["data"]["k"] == "2", "{reply}");
    warns_of(&reply, &["\\\"k\\\""])?;
    Ok(())
}

async fn unknown_fields_are_warned_about_and_dropped_by_default(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    for query in ["", "?fieldValidation=", "?fieldValidation=Warn"] {
        let path = format!("{}{query}", maps.path());
        let reply = cx.http.send(Method::POST, &path, Some("application/json"), FAULTY_JSON.into()).await?;
        let map = reply.is(201)?;
        ensure!(map["metadata"].get("mistyped").is_none() && map.get("unknown").is_none(), "{map}");
        ensure!(map["data"]["twice"] == "2", "{map}");
        warns_of(&reply, &["metadata.mistyped", "unknown", "data.twice"])?;
        maps.delete("a").await?.is(200)?;
    }
    let reply = maps.create(config_map("a", "1")).await?;
    ensure!(warnings(&reply).is_empty(), "{:?}", warnings(&reply));
    Ok(())
}

async fn ignored_fields_are_dropped_in_silence(cx: Cx) -> Result<()> {
    let path = format!("{}?fieldValidation=Ignore", cx.objects(&Kind::CONFIG_MAP).path());
    let reply = cx.http.send(Method::POST, &path, Some("application/json"), FAULTY_JSON.into()).await?;
    let map = reply.is(201)?;
    ensure!(map["metadata"].get("mistyped").is_none() && map.get("unknown").is_none(), "{map}");
    ensure!(warnings(&reply).is_empty(), "{:?}", warnings(&reply));
    Ok(())
}

async fn unknown_field_validation_is_invalid(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    for value in ["Sometimes", "strict"] {
        let reply = maps.create_with(&format!("?fieldValidation={value}"), config_map("a", "1")).await?;
        let status = reply.refused(422, "Invalid")?;
        let cause = &status["details"]["causes"][0];
        ensure!(
            cause["field"] == "fieldValidation" && cause["reason"] == "FieldValueNotSupported",
            "{status}"
        );
    }
    maps.get("a").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn custom_resource_is_validated_the_same_way(cx: Cx) -> Result<()> {
    let schema = json!({ "type": "object", "properties": {
        "spec": { "type": "object", "properties": {
            "known": { "type": "integer" },
            "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true }
        } }
    } });
    let plains = cx.objects(&cx.install_crd("Plain", schema, json!({})).await?);
    let spec = json!({ "known": 1, "mistyped": 2, "free": { "any": 3 } });
    let body = json!({ "metadata": { "name": "a" }, "spec": spec });
    let reply = plains.create_with("?fieldValidation=Strict", body.clone()).await?;
    let status = reply.refused(400, "BadRequest")?;
    names_all(&status, &["spec.mistyped"])?;
    ensure!(!status["message"].to_string().contains("spec.free"), "{status}");
    let reply = plains.create(body).await?;
    ensure!(reply.is(201)?["spec"] == json!({ "known": 1, "free": { "any": 3 } }), "{reply}");
    warns_of(&reply, &["spec.mistyped"])?;
    let patch = json!({ "spec": { "mistyped": 2 } });
    let reply = plains.merge("a?fieldValidation=Strict", patch.clone()).await?;
    names_all(&reply.refused(422, "Invalid")?, &["spec.mistyped"])?;
    let reply = plains.merge("a", patch).await?;
    ensure!(reply.ok()?["spec"].get("mistyped").is_none(), "{reply}");
    warns_of(&reply, &["spec.mistyped"])?;
    Ok(())
}

async fn manager_of_an_update_comes_from_the_user_agent(cx: Cx) -> Result<()> {
    let http = cx.http.with_header("user-agent", "tool/1.2 (linux/amd64) other/3");
    let map = cx.objects_as(&http, &Kind::CONFIG_MAP).create(config_map("a", "1")).await?.is(201)?;
    ensure!(manager(&map, "tool")["fieldsV1"] == json!({ "f:data": { ".": {}, "f:key": {} } }), "{map}");
    Ok(())
}

async fn manager_of_a_patch_comes_from_its_parameter(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create_with("?fieldManager=zero", config_map("a", "1")).await?.is(201)?;
    maps.patch("a?fieldManager=one", PatchKind::Merge, &json!({ "data": { "x": "1" } })).await?.is(200)?;
    maps.patch("a?fieldManager=two", PatchKind::Strategic, &json!({ "data": { "y": "1" } }))
        .await?
        .is(200)?;
    let add = json!([{ "op": "add", "path": "/data/z", "value": "1" }]);
    let map = maps.patch("a?fieldManager=three", PatchKind::Json, &add).await?.is(200)?;
    for (name, field) in [("one", "f:x"), ("two", "f:y"), ("three", "f:z")] {
        ensure!(manager(&map, name)["fieldsV1"] == json!({ "f:data": { field: {} } }), "{map}");
        ensure!(manager(&map, name)["operation"] == "Update", "{map}");
    }
    Ok(())
}

async fn field_manager_must_be_short_and_printable(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    for name in ["m".repeat(129), "a%07b".to_owned()] {
        let reply = maps.create_with(&format!("?fieldManager={name}"), config_map("a", "1")).await?;
        let status = reply.refused(422, "Invalid")?;
        ensure!(status["details"]["causes"][0]["field"] == "fieldManager", "{status}");
    }
    let longest = "m".repeat(128);
    maps.create_with(&format!("?fieldManager={longest}"), config_map("a", "1")).await?.is(201)?;
    Ok(())
}

const FAULTY_JSON: &str = r#"{
    "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "mistyped": 1 },
    "unknown": true, "data": { "twice": "1", "twice": "2" }
}"#;

const FAULTY_YAML: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  mistyped: 1\nunknown: true\n";

fn names_all(status: &Value, fields: &[&str]) -> Result<()> {
    let message = status["message"].as_str().unwrap_or_default();
    for field in fields {
        ensure!(message.contains(&format!("\"{field}\"")), "{field} is not named: {status}");
    }
    Ok(())
}

fn warnings(reply: &Reply) -> Vec<String> {
    let values = reply.headers.get_all("warning").iter();
    values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
}

/// Whether there is a warning for each of these and none besides.
fn warns_of(reply: &Reply, fields: &[&str]) -> Result<()> {
    let warnings = warnings(reply);
    ensure!(warnings.len() == fields.len(), "{warnings:?}");
    for field in fields {
        let found = warnings.iter().any(|text| text.starts_with("299 - \"") && text.contains(field));
        ensure!(found, "no warning of {field}: {warnings:?}");
    }
    Ok(())
}

fn manager(object: &Value, name: &str) -> Value {
    let entries = object["metadata"]["managedFields"].as_array();
    entries.into_iter().flatten().find(|entry| entry["manager"] == name).cloned().unwrap_or_default()
}

/// Watches one object alone: others may appear beside it.
async fn watch_one(objects: &Objects, name: &str) -> Result<anneal_harness::Watch> {
    let list = objects.list("").await?.ok()?;
    let version = list["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    objects.watch(&format!("resourceVersion={version}&fieldSelector=metadata.name%3D{name}")).await
}
