//! Creating objects, and what the server puts into them.

use anneal_harness::Needs;
use anyhow::{Result, ensure};
use serde_json::json;

use crate::{
    Case, Cx, Kind,
    case::cases,
    fixtures::{config_map, pod},
};

pub(super) fn cases() -> Vec<Case> {
    cases![
        Needs::API => [
            fills_in_uid_version_and_time,
            second_create_already_exists,
            generate_name_makes_distinct_names,
            refuses_a_name_that_is_not_a_dns_name,
            refuses_a_body_of_another_namespace,
            refuses_a_resource_version_in_the_body,
            missing_namespace_is_not_found,
            names_all_faults_at_once,
            plain_text_of_a_secret_becomes_data,
        ],
    ]
}

async fn fills_in_uid_version_and_time(cx: Cx) -> Result<()> {
    let map = cx.objects(&Kind::CONFIG_MAP).create(config_map("a", "1")).await?.is(201)?;
    let metadata = &map["metadata"];
    ensure!(metadata["namespace"] == cx.namespace, "{metadata}");
    ensure!(metadata["uid"].as_str().is_some_and(|uid| uid.len() == 36), "{metadata}");
    ensure!(metadata["resourceVersion"].as_str().is_some_and(|v| !v.is_empty() && v != "0"), "{metadata}");
    let time = metadata["creationTimestamp"].as_str().unwrap_or_default();
    ensure!(time.len() == "2026-01-01T00:00:00Z".len() && time.ends_with('Z'), "{metadata}");
    Ok(())
}

async fn second_create_already_exists(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create(config_map("a", "1")).await?.is(201)?;
    let status = maps.create(config_map("a", "2")).await?.refused(409, "AlreadyExists")?;
    ensure!(status["details"]["name"] == "a" && status["details"]["kind"] == "configmaps", "{status}");
    ensure!(maps.get("a").await?.ok()?["data"]["key"] == "1");
    Ok(())
}

async fn generate_name_makes_distinct_names(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let body = json!({ "metadata": { "generateName": "a-" } });
    let mut names = Vec::new();
    for _ in 0..3 {
        let map = maps.create(body.clone()).await?.is(201)?;
        ensure!(map["metadata"]["generateName"] == "a-");
        names.push(map["metadata"]["name"].as_str().unwrap_or_default().to_owned());
    }
    names.sort();
    names.dedup();
    ensure!(
        names.len() == 3 && names.iter().all(|name| name.starts_with("a-") && name.len() == 7),
        "{names:?}"
    );
    Ok(())
}

async fn refuses_a_name_that_is_not_a_dns_name(cx: Cx) -> Result<()> {
    let status =
        cx.objects(&Kind::CONFIG_MAP).create(config_map("Not_A_Name", "1")).await?.refused(422, "Invalid")?;
    let cause = &status["details"]["causes"][0];
    ensure!(cause["field"] == "metadata.name" && cause["reason"] == "FieldValueInvalid", "{status}");
    Ok(())
}

async fn refuses_a_body_of_another_namespace(cx: Cx) -> Result<()> {
    let body = json!({ "metadata": { "name": "a", "namespace": "elsewhere" } });
    cx.objects(&Kind::CONFIG_MAP).create(body).await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn refuses_a_resource_version_in_the_body(cx: Cx) -> Result<()> {
    let body = json!({ "metadata": { "name": "a", "resourceVersion": "5" } });
    let reply = cx.objects(&Kind::CONFIG_MAP).create(body).await?;
    ensure!(!(200..300).contains(&reply.status), "{reply}");
    cx.objects(&Kind::CONFIG_MAP).get("a").await?.refused(404, "NotFound")?;
    let unknown = json!({ "metadata": { "name": "a", "resourceVersion": "0" } });
    let made = cx.objects(&Kind::CONFIG_MAP).create(unknown).await?.is(201)?;
    ensure!(made["metadata"]["resourceVersion"] != "0", "{made}");
    Ok(())
}

async fn missing_namespace_is_not_found(cx: Cx) -> Result<()> {
    let path = Kind::CONFIG_MAP.path("no-such-namespace");
    let body = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
    let status = cx.http.post(&path, &body).await?.refused(404, "NotFound")?;
    ensure!(
        status["details"]["kind"] == "namespaces" && status["details"]["name"] == "no-such-namespace",
        "{status}"
    );
    Ok(())
}

async fn names_all_faults_at_once(cx: Cx) -> Result<()> {
    let mut body = pod("a");
    body["spec"]["restartPolicy"] = "Sometimes".into();
    body["spec"]["containers"][0]["imagePullPolicy"] = "Perhaps".into();
    let status = cx.objects(&Kind::POD).create(body).await?.refused(422, "Invalid")?;
    let causes = status["details"]["causes"].as_array().cloned().unwrap_or_default();
    for field in ["spec.restartPolicy", "spec.containers[0].imagePullPolicy"] {
        let found = causes.iter().any(|c| c["field"] == field && c["reason"] == "FieldValueNotSupported");
        ensure!(found, "no cause for {field}: {status}");
    }
    Ok(())
}

async fn plain_text_of_a_secret_becomes_data(cx: Cx) -> Result<()> {
    let body = json!({
        "metadata": { "name": "a" }, "data": { "x": "b2xk", "y": "b2xk" }, "stringData": { "x": "new" }
    });
    let secret = cx.objects(&Kind::SECRET).create(body).await?.is(201)?;
    ensure!(secret["data"] == json!({ "x": "bmV3", "y": "b2xk" }), "{secret}");
    ensure!(secret.get("stringData").is_none(), "{secret}");
    Ok(())
}
