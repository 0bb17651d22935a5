//! How clients find out what is served: discovery, version, OpenAPI.

use anneal_harness::{Needs, eventually};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::{Case, Cx, Kind, case::cases, definitions};

pub(super) fn cases() -> Vec<Case> {
    cases![
        Needs::API => [
            version_is_told,
            healthy_server_says_ok,
            core_versions_and_groups_are_listed,
            resources_of_a_version_are_listed,
            aggregated_discovery_lists_everything_at_once,
            aggregated_discovery_is_not_sent_twice,
            unknown_group_or_version_is_not_found,
            definition_shows_up_in_discovery_and_leaves_it,
            definition_shows_up_in_aggregated_discovery,
            versions_of_a_definition_are_listed_the_best_first,
            open_api_index_points_at_documents_by_hash,
            open_api_describes_config_maps,
            open_api_tells_how_lists_merge,
            open_api_describes_custom_resources,
        ],
    ]
}

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const ALL_VERBS: [&str; 8] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

async fn version_is_told(cx: Cx) -> Result<()> {
    let version = cx.http.get("/version").await?.is(200)?;
    let text = |field: &str| version[field].as_str().unwrap_or_default().to_owned();
    ensure!(text("major") == "1", "{version}");
    ensure!(text("minor").trim_end_matches('+').parse::<u32>().is_ok(), "{version}");
    let prefix = format!("v1.{}.", text("minor").trim_end_matches('+'));
    ensure!(text("gitVersion").starts_with(&prefix), "{version}");
    for field in ["gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform"] {
        ensure!(version[field].is_string(), "{field}: {version}");
    }
    Ok(())
}

async fn healthy_server_says_ok(cx: Cx) -> Result<()> {
    for path in ["/healthz", "/livez", "/readyz"] {
        let reply = cx.http.get(path).await?;
        ensure!(reply.status == 200 && reply.text() == "ok", "{reply}");
        let verbose = cx.http.get(&format!("{path}?verbose")).await?;
        ensure!(verbose.status == 200 && verbose.text().contains("[+]ping ok"), "{verbose}");
    }
    Ok(())
}

async fn core_versions_and_groups_are_listed(cx: Cx) -> Result<()> {
    let core = cx.http.get("/api").await?.is(200)?;
    ensure!(core["kind"] == "APIVersions" && core["versions"] == json!(["v1"]), "{core}");
    let list = cx.http.get("/apis").await?.is(200)?;
    ensure!(list["kind"] == "APIGroupList" && list["apiVersion"] == "v1", "{list}");
    for name in ["apps", "batch", "coordination.k8s.io", "apiextensions.k8s.io", "rbac.authorization.k8s.io"]
    {
        let group = find(&list["groups"], "name", name).with_context(|| format!("{name} is not listed"))?;
        let version = json!({ "groupVersion": format!("{name}/v1"), "version": "v1" });
        ensure!(group["preferredVersion"] == version, "{group}");
        ensure!(group["versions"].as_array().is_some_and(|all| all.contains(&version)), "{group}");
        let alone = cx.http.get(&format!("/apis/{name}")).await?.is(200)?;
        ensure!(alone["kind"] == "APIGroup" && alone["name"] == name, "{alone}");
        ensure!(alone["preferredVersion"] == version && alone["versions"] == group["versions"], "{alone}");
    }
    Ok(())
}

async fn resources_of_a_version_are_listed(cx: Cx) -> Result<()> {
    let list = cx.http.get("/api/v1").await?.is(200)?;
    ensure!(list["kind"] == "APIResourceList" && list["groupVersion"] == "v1", "{list}");
    let resource =
        |list: &Value, name: &str| find(&list["resources"], "name", name).with_context(|| name.to_owned());
    let maps = resource(&list, "configmaps")?;
    ensure!(maps["kind"] == "ConfigMap" && maps["singularName"] == "configmap", "{maps}");
    ensure!(maps["namespaced"] == true && maps["shortNames"] == json!(["cm"]), "{maps}");
    ensure!(verbs(&maps) == ALL_VERBS, "{maps}");
    let pods = resource(&list, "pods")?;
    ensure!(pods["shortNames"] == json!(["po"]) && pods["categories"] == json!(["all"]), "{pods}");
    ensure!(resource(&list, "namespaces")?["namespaced"] == false);
    ensure!(verbs(&resource(&list, "pods/log")?) == ["get"]);
    ensure!(verbs(&resource(&list, "pods/status")?) == ["get", "patch", "update"]);
    let eviction = resource(&list, "pods/eviction")?;
    ensure!(eviction["kind"] == "Eviction" && eviction["group"] == "policy", "{eviction}");
    ensure!(eviction["version"] == "v1" && verbs(&eviction) == ["create"], "{eviction}");
    let list = cx.http.get("/apis/apps/v1").await?.is(200)?;
    ensure!(list["groupVersion"] == "apps/v1", "{list}");
    let scale = resource(&list, "deployments/scale")?;
    ensure!(scale["kind"] == "Scale" && scale["group"] == "autoscaling", "{scale}");
    ensure!(resource(&list, "deployments")?["shortNames"] == json!(["deploy"]));
    Ok(())
}

async fn aggregated_discovery_lists_everything_at_once(cx: Cx) -> Result<()> {
    let http = cx.http.with_header("accept", &format!("{AGGREGATED},application/json"));
    for (path, group, name, kind, short_name) in
        [("/api", "", "pods", "Pod", "po"), ("/apis", "apps", "deployments", "Deployment", "deploy")]
    {
        let reply = http.get(path).await?;
        ensure!(reply.header("content-type") == AGGREGATED, "{:?}", reply.headers);
        let list = reply.is(200)?;
        ensure!(list["kind"] == "APIGroupDiscoveryList", "{list}");
        ensure!(list["apiVersion"] == "apidiscovery.k8s.io/v2", "{list}");
        let found = discovered(&list, group, name)?;
        ensure!(found["responseKind"]["kind"] == kind && found["scope"] == "Namespaced", "{found}");
        ensure!(found["shortNames"] == json!([short_name]) && verbs(&found) == ALL_VERBS, "{found}");
        ensure!(found["singularResource"] == kind.to_lowercase(), "{found}");
        let status = find(&found["subresources"], "subresource", "status").context("no status")?;
        ensure!(verbs(&status) == ["get", "patch", "update"], "{status}");
    }
    let groups = http.get("/apis").await?.is(200)?;
    let definitions = discovered(&groups, "apiextensions.k8s.io", "customresourcedefinitions")?;
    ensure!(definitions["scope"] == "Cluster", "{definitions}");
    let deployments = discovered(&groups, "apps", "deployments")?;
    let scale = find(&deployments["subresources"], "subresource", "scale").context("no scale")?;
    let kind = json!({ "group": "autoscaling", "version": "v1", "kind": "Scale" });
    ensure!(scale["responseKind"] == kind, "{scale}");
    Ok(())
}

async fn aggregated_discovery_is_not_sent_twice(cx: Cx) -> Result<()> {
    // The core group never changes, so that no other case can come between.
    let http = cx.http.with_header("accept", AGGREGATED);
    let first = http.get("/api").await?;
    let tag = first.header("etag");
    ensure!(first.status == 200 && !tag.is_empty(), "{:?}", first.headers);
    let second = http.with_header("if-none-match", tag).get("/api").await?;
    ensure!(second.status == 304 && second.bytes.is_empty(), "{second}");
    Ok(())
}

async fn unknown_group_or_version_is_not_found(cx: Cx) -> Result<()> {
    for path in ["/apis/nothing.example.com", "/apis/nothing.example.com/v1", "/apis/apps/v99", "/api/v99"] {
        let reply = cx.http.get(path).await?;
        ensure!(reply.status == 404, "{reply}");
    }
    Ok(())
}

async fn definition_shows_up_in_discovery_and_leaves_it(cx: Cx) -> Result<()> {
    let kind = install(&cx).await?;
    let path = format!("/apis/{}", kind.api_version);
    let group = group_of(&kind);
    let list = eventually("the resources to be listed", async || {
        let reply = cx.http.get(&path).await?;
        let list = if reply.status == 200 { reply.json()? } else { Value::Null };
        let has = |name: &str| find(&list["resources"], "name", name).is_some();
        Ok((has("gears") && has("gears/status") && has("gears/scale")).then_some(list))
    })
    .await?;
    let gears = find(&list["resources"], "name", "gears").context("no gears")?;
    ensure!(gears["kind"] == "Gear" && gears["singularName"] == "gear", "{gears}");
    ensure!(gears["namespaced"] == true && verbs(&gears) == ALL_VERBS, "{gears}");
    let status = find(&list["resources"], "name", "gears/status").context("no status")?;
    ensure!(status["kind"] == "Gear" && verbs(&status) == ["get", "patch", "update"], "{status}");
    let scale = find(&list["resources"], "name", "gears/scale").context("no scale")?;
    ensure!(scale["kind"] == "Scale" && scale["group"] == "autoscaling", "{scale}");
    let listed = async || {
        let groups = cx.http.get("/apis").await?.ok()?;
        anyhow::Ok(find(&groups["groups"], "name", group))
    };
    eventually("the group to be listed", async || Ok(listed().await?.map(|_| ()))).await?;
    // A definition may gain short names while it is in use.
    let definitions = cx.objects(&Kind::CRD);
    let name = format!("{}.{group}", kind.plural);
    definitions.merge(&name, json!({ "spec": { "names": { "shortNames": ["gr"] } } })).await?.is(200)?;
    eventually("the short name to be listed", async || {
        let list = cx.http.get(&path).await?.ok()?;
        let gears = find(&list["resources"], "name", "gears").unwrap_or_default();
        Ok((gears["shortNames"] == json!(["gr"])).then_some(()))
    })
    .await?;
    definitions.delete(&name).await?.is(200)?;
    eventually("the group to be gone", async || {
        let gone = cx.http.get(&path).await?.status == 404 && listed().await?.is_none();
        Ok(gone.then_some(()))
    })
    .await
}

async fn definition_shows_up_in_aggregated_discovery(cx: Cx) -> Result<()> {
    let kind = install(&cx).await?;
    let http = cx.http.with_header("accept", AGGREGATED);
    let gears = eventually("the resource to be discovered", async || {
        let list = http.get("/apis").await?.ok()?;
        Ok(discovered(&list, group_of(&kind), "gears").ok())
    })
    .await?;
    let response = json!({ "group": group_of(&kind), "version": "v1", "kind": "Gear" });
    ensure!(gears["responseKind"] == response && gears["scope"] == "Namespaced", "{gears}");
    ensure!(verbs(&gears) == ALL_VERBS, "{gears}");
    for name in ["status", "scale"] {
        ensure!(find(&gears["subresources"], "subresource", name).is_some(), "{gears}");
    }
    Ok(())
}

async fn versions_of_a_definition_are_listed_the_best_first(cx: Cx) -> Result<()> {
    let free = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let mut body = definitions::definition(&cx, "Gear", free.clone());
    body["spec"]["versions"] = ["v1beta1", "v1", "v2"]
        .map(|name| {
            let schema = json!({ "openAPIV3Schema": free });
            json!({ "name": name, "served": true, "storage": name == "v1", "schema": schema })
        })
        .into();
    let kind = definitions::install(&cx, body, "v1").await?;
    let group = eventually("all versions to be listed", async || {
        let groups = cx.http.get("/apis").await?.ok()?;
        let group = find(&groups["groups"], "name", group_of(&kind)).unwrap_or_default();
        Ok((group["versions"].as_array().map_or(0, Vec::len) == 3).then_some(group))
    })
    .await?;
    let listed = group["versions"].as_array().into_iter().flatten().map(|version| &version["version"]);
    ensure!(listed.eq(["v2", "v1", "v1beta1"]), "{group}");
    ensure!(group["preferredVersion"]["version"] == "v2", "{group}");
    Ok(())
}

async fn open_api_index_points_at_documents_by_hash(cx: Cx) -> Result<()> {
    let index = cx.http.get("/openapi/v3").await?.is(200)?;
    for path in ["api/v1", "apis/apps/v1", "apis/apiextensions.k8s.io/v1"] {
        let url = index["paths"][path]["serverRelativeURL"].as_str().unwrap_or_default();
        ensure!(url.starts_with(&format!("/openapi/v3/{path}?hash=")), "{path}: {url}");
    }
    // Clients keep what they get by its hash for good.
    let url = index["paths"]["apis/apps/v1"]["serverRelativeURL"].as_str().unwrap_or_default();
    let reply = cx.http.get(url).await?;
    ensure!(reply.is(200)?["openapi"].as_str().is_some_and(|version| version.starts_with("3.")));
    ensure!(reply.header("cache-control").contains("immutable"), "{:?}", reply.headers);
    let reply = cx.http.get("/openapi/v3/apis/apps/v1").await?;
    ensure!(reply.status == 200 && !reply.header("cache-control").contains("immutable"));
    Ok(())
}

async fn open_api_describes_config_maps(cx: Cx) -> Result<()> {
    let document = cx.http.get("/openapi/v3/api/v1").await?.is(200)?;
    let schema = &document["components"]["schemas"]["io.k8s.api.core.v1.ConfigMap"];
    let kind = json!({ "group": "", "kind": "ConfigMap", "version": "v1" });
    ensure!(schema["x-kubernetes-group-version-kind"] == json!([kind]), "{schema}");
    ensure!(schema["properties"]["data"]["additionalProperties"]["type"] == "string", "{schema}");
    let collection = &document["paths"]["/api/v1/namespaces/{namespace}/configmaps"];
    let object = &document["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"];
    // kubectl looks here before it dares to ask for a dry run or for strict fields.
    for operation in [&collection["post"], &object["put"], &object["patch"]] {
        ensure!(operation["x-kubernetes-group-version-kind"] == kind, "{operation}");
        for parameter in ["dryRun", "fieldManager", "fieldValidation"] {
            ensure!(find(&operation["parameters"], "name", parameter).is_some(), "{operation}");
        }
    }
    ensure!(collection["get"]["x-kubernetes-action"] == "list", "{collection}");
    let media_types = object["patch"]["requestBody"]["content"].as_object().cloned().unwrap_or_default();
    ensure!(media_types.contains_key("application/apply-patch+yaml"), "{media_types:?}");
    Ok(())
}

async fn open_api_tells_how_lists_merge(cx: Cx) -> Result<()> {
    let document = cx.http.get("/openapi/v3/api/v1").await?.is(200)?;
    let schemas = &document["components"]["schemas"];
    let ports = &schemas["io.k8s.api.core.v1.ServiceSpec"]["properties"]["ports"];
    ensure!(ports["x-kubernetes-list-type"] == "map", "{ports}");
    ensure!(ports["x-kubernetes-list-map-keys"] == json!(["port", "protocol"]), "{ports}");
    // Strategic patches merge by another key than apply does.
    ensure!(ports["x-kubernetes-patch-merge-key"] == "port", "{ports}");
    ensure!(ports["x-kubernetes-patch-strategy"] == "merge", "{ports}");
    let selector = &schemas["io.k8s.api.core.v1.ServiceSpec"]["properties"]["selector"];
    ensure!(selector["x-kubernetes-map-type"] == "atomic", "{selector}");
    let meta = &schemas["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]["properties"];
    ensure!(meta["finalizers"]["x-kubernetes-list-type"] == "set", "{meta}");
    Ok(())
}

async fn open_api_describes_custom_resources(cx: Cx) -> Result<()> {
    let kind = install(&cx).await?;
    let path = format!("apis/{}", kind.api_version);
    let document = eventually("the document of the custom resource", async || {
        let index = cx.http.get("/openapi/v3").await?.ok()?;
        match index["paths"][&path]["serverRelativeURL"].as_str() {
            // The index may be ahead of the document, or its hash already behind.
            Some(url) => Ok(cx.http.get(url).await?.ok().ok()),
            None => Ok(None),
        }
    })
    .await?;
    let schemas = document["components"]["schemas"].as_object().cloned().unwrap_or_default();
    let gvk = json!([{ "group": group_of(&kind), "kind": "Gear", "version": "v1" }]);
    let schema = schemas.values().find(|schema| schema["x-kubernetes-group-version-kind"] == gvk);
    let schema = schema.context("no schema of the kind")?;
    let teeth = &schema["properties"]["spec"]["properties"]["teeth"];
    ensure!(teeth["type"] == "integer" && teeth["description"] == "how many", "{schema}");
    ensure!(schema["description"] == "a gear", "{schema}");
    for field in ["apiVersion", "kind", "metadata"] {
        ensure!(schema["properties"].get(field).is_some(), "{field}: {schema}");
    }
    let collection = format!("/{path}/namespaces/{{namespace}}/gears");
    let post = &document["paths"][&collection]["post"];
    ensure!(find(&post["parameters"], "name", "fieldValidation").is_some(), "{post}");
    Ok(())
}

/// A custom resource with a schema and subresources.
async fn install(cx: &Cx) -> Result<Kind> {
    let counts = json!({ "type": "object", "properties": { "replicas": { "type": "integer" } } });
    let mut spec = counts.clone();
    spec["properties"]["teeth"] = json!({ "type": "integer", "description": "how many" });
    let schema = json!({
        "type": "object", "description": "a gear", "properties": { "spec": spec, "status": counts }
    });
    let scale = json!({ "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" });
    cx.install_crd("Gear", schema, json!({ "subresources": { "status": {}, "scale": scale } })).await
}

fn group_of(kind: &Kind) -> &'static str {
    kind.api_version.split('/').next().unwrap_or_default()
}

fn find(list: &Value, field: &str, value: &str) -> Option<Value> {
    list.as_array().into_iter().flatten().find(|item| item[field] == value).cloned()
}

/// A resource in version 1 of a group in an aggregated list; the core group has no name.
fn discovered(list: &Value, group: &str, resource: &str) -> Result<Value> {
    let groups = list["items"].as_array().into_iter().flatten();
    let mut groups = groups.filter(|item| item["metadata"]["name"].as_str().unwrap_or_default() == group);
    let group = groups.next().with_context(|| format!("group {group:?} is not listed"))?;
    let version = find(&group["versions"], "version", "v1").context("no v1")?;
    find(&version["resources"], "resource", resource).with_context(|| format!("{resource} is not listed"))
}

fn verbs(resource: &Value) -> Vec<String> {
    let verbs = resource["verbs"].as_array().into_iter().flatten();
    let mut verbs: Vec<String> = verbs.filter_map(Value::as_str).map(str::to_owned).collect();
    verbs.sort();
    verbs
}
