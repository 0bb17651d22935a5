//! Patching: JSON, merge and strategic merge.

use anneal_harness::{Needs, PatchKind};
use anyhow::{Result, ensure};
use futures::future::try_join_all;
use http::Method;
use serde_json::{Value, json};

use crate::{
    Case, Cx, Kind,
    case::cases,
    fixtures::{config_map, pod, pod_spec},
};

pub(super) fn cases() -> Vec<Case> {
    cases![
        Needs::API => [
            json_patch_adds_replaces_and_removes,
            json_patch_moves_and_copies,
            json_patch_reaches_into_lists_and_escaped_keys,
            failed_test_changes_nothing,
            json_patch_of_a_missing_path_is_invalid,
            exactly_one_of_racing_tests_wins,
            racing_merge_patches_all_succeed,
            merge_patch_removes_nulls_and_replaces_lists,
            stale_version_in_a_patch_is_a_conflict,
            uid_in_a_patch_is_a_precondition,
            patch_that_changes_nothing_writes_nothing,
            missing_object_is_not_found,
            name_and_namespace_cannot_change,
            malformed_patch_is_a_bad_request,
            value_of_the_wrong_type_is_invalid,
            result_is_validated,
            unknown_media_type_is_unsupported,
            strategic_patch_merges_containers_by_name,
            strategic_patch_deletes_a_list_item,
            strategic_patch_replaces_a_list,
            strategic_patch_follows_the_order_it_is_given,
            strategic_patch_merges_and_deletes_finalizers,
            strategic_patch_merges_service_ports_by_port,
            strategic_patch_keeps_only_the_retained_keys,
            strategic_patch_removes_nulls,
            custom_resource_has_no_strategic_patch,
            status_patch_changes_only_status,
            main_patch_leaves_status_alone,
            scale_patch_changes_replicas_and_generation,
        ],
    ]
}

async fn json_patch_adds_replaces_and_removes(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let body = json!({ "metadata": { "name": "a" }, "data": { "x": "1", "y": "1" } });
    let before = maps.create(body).await?.is(201)?;
    let patch = json!([
        { "op": "add", "path": "/metadata/labels", "value": { "l": "1" } },
        { "op": "add", "path": "/data/x", "value": "2" },
        { "op": "add", "path": "/data/z", "value": "3" },
        { "op": "replace", "path": "/data/z", "value": "4" },
        { "op": "remove", "path": "/data/y" }
    ]);
    let map = maps.patch("a", PatchKind::Json, &patch).await?.is(200)?;
    ensure!(map["data"] == json!({ "x": "2", "z": "4" }), "{map}");
    ensure!(map["metadata"]["labels"] == json!({ "l": "1" }), "{map}");
    ensure!(map["metadata"]["uid"] == before["metadata"]["uid"], "{map}");
    ensure!(map["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"], "{map}");
    ensure!(maps.get("a").await?.ok()? == map);
    Ok(())
}

async fn json_patch_moves_and_copies(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create(config_map("a", "1")).await?.is(201)?;
    let patch = json!([
        { "op": "copy", "from": "/data/key", "path": "/data/copied" },
        { "op": "move", "from": "/data/key", "path": "/data/moved" },
        { "op": "test", "path": "/data/copied", "value": "1" }
    ]);
    let map = maps.patch("a", PatchKind::Json, &patch).await?.is(200)?;
    ensure!(map["data"] == json!({ "copied": "1", "moved": "1" }), "{map}");
    Ok(())
}

async fn json_patch_reaches_into_lists_and_escaped_keys(cx: Cx) -> Result<()> {
    let pods = cx.objects(&Kind::POD);
    let mut body = pod("a");
    body["metadata"]["annotations"] = json!({ "example.com/a": "1" });
    body["spec"]["tolerations"] = json!([{ "key": "x", "operator": "Exists" }]);
    pods.create(body).await?.is(201)?;
    let patch = json!([
        { "op": "replace", "path": "/metadata/annotations/example.com~1a", "value": "2" },
        { "op": "replace", "path": "/spec/containers/0/image", "value": "registry.invalid/app:2" },
        { "op": "add", "path": "/spec/tolerations/-", "value": { "key": "y", "operator": "Exists" } }
    ]);
    let object = pods.patch("a", PatchKind::Json, &patch).await?.is(200)?;
    ensure!(object["metadata"]["annotations"] == json!({ "example.com/a": "2" }), "{object}");
    ensure!(object["spec"]["containers"][0]["image"] == "registry.invalid/app:2", "{object}");
    let tolerations = object["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
    ensure!(tolerations.last().is_some_and(|last| last["key"] == "y"), "{object}");
    ensure!(tolerations.iter().any(|toleration| toleration["key"] == "x"), "{object}");
    Ok(())
}

async fn failed_test_changes_nothing(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let before = maps.create(config_map("a", "1")).await?.is(201)?;
    let patch = json!([
        { "op": "add", "path": "/data/early", "value": "1" },
        { "op": "test", "path": "/data/key", "value": "2" },
        { "op": "add", "path": "/data/late", "value": "1" }
    ]);
    maps.patch("a", PatchKind::Json, &patch).await?.refused(422, "Invalid")?;
    ensure!(maps.get("a").await?.ok()? == before);
    Ok(())
}

async fn json_patch_of_a_missing_path_is_invalid(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let before = maps.create(config_map("a", "1")).await?.is(201)?;
    for operation in [
        json!({ "op": "remove", "path": "/data/none" }),
        json!({ "op": "move", "from": "/data/none", "path": "/data/x" }),
        json!({ "op": "test", "path": "/data/none", "value": "1" }),
        // The object has no labels yet, so there is nothing to add one to.
        json!({ "op": "add", "path": "/metadata/labels/x", "value": "1" }),
        json!({ "op": "mangle", "path": "/data/key" }),
    ] {
        maps.patch("a", PatchKind::Json, &json!([operation])).await?.refused(422, "Invalid")?;
    }
    ensure!(maps.get("a").await?.ok()? == before);
    Ok(())
}

async fn exactly_one_of_racing_tests_wins(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create(config_map("a", "free")).await?.is(201)?;
    let take = async |n: u32| {
        let patch = json!([
            { "op": "test", "path": "/data/key", "value": "free" },
            { "op": "replace", "path": "/data/key", "value": format!("taken by {n}") }
        ]);
        maps.patch("a", PatchKind::Json, &patch).await
    };
    let replies = try_join_all((0..8).map(take)).await?;
    let (won, lost): (Vec<_>, Vec<_>) = replies.iter().partition(|reply| reply.status == 200);
    ensure!(won.len() == 1, "{} have won", won.len());
    for reply in lost {
        reply.refused(422, "Invalid")?;
    }
    ensure!(maps.get("a").await?.ok()?["data"] == won[0].json()?["data"]);
    Ok(())
}

async fn racing_merge_patches_all_succeed(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create(config_map("a", "1")).await?.is(201)?;
    // Without a version in the patch the server tries again by itself.
    let add = async |n: u32| {
        maps.merge("a", json!({ "data": { format!("k{n}"): "1" } })).await?.is(200)?;
        anyhow::Ok(())
    };
    try_join_all((0..8).map(add)).await?;
    let map = maps.get("a").await?.ok()?;
    ensure!((0..8).all(|n| map["data"][format!("k{n}")] == "1"), "{map}");
    Ok(())
}

async fn merge_patch_removes_nulls_and_replaces_lists(cx: Cx) -> Result<()> {
    let services = cx.objects(&Kind::SERVICE);
    let body = json!({
        "metadata": { "name": "a", "labels": { "x": "1", "y": "1" } },
        "spec": { "ports": [{ "name": "x", "port": 80 }, { "name": "y", "port": 81 }] }
    });
    services.create(body).await?.is(201)?;
    let patch = json!({
        "metadata": { "labels": { "x": null, "z": "1" } },
        "spec": { "ports": [{ "name": "z", "port": 82 }] }
    });
    let service = services.merge("a", patch).await?.is(200)?;
    ensure!(service["metadata"]["labels"] == json!({ "y": "1", "z": "1" }), "{service}");
    let ports = service["spec"]["ports"].as_array().cloned().unwrap_or_default();
    ensure!(ports.len() == 1 && ports[0]["port"] == 82, "{service}");
    Ok(())
}

async fn stale_version_in_a_patch_is_a_conflict(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let first = maps.create(config_map("a", "1")).await?.is(201)?;
    let second = maps.merge("a", json!({ "data": { "key": "2" } })).await?.is(200)?;
    let at = |map: &Value| {
        let version = &map["metadata"]["resourceVersion"];
        json!({ "metadata": { "resourceVersion": version }, "data": { "key": "3" } })
    };
    for kind in [PatchKind::Merge, PatchKind::Strategic] {
        let status = maps.patch("a", kind, &at(&first)).await?.refused(409, "Conflict")?;
        ensure!(status["details"]["name"] == "a" && status["details"]["kind"] == "configmaps", "{status}");
    }
    ensure!(maps.get("a").await?.ok()?["data"]["key"] == "2");
    let third = maps.merge("a", at(&second)).await?.is(200)?;
    ensure!(third["data"]["key"] == "3", "{third}");
    Ok(())
}

async fn uid_in_a_patch_is_a_precondition(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let map = maps.create(config_map("a", "1")).await?.is(201)?;
    let at = |uid: &Value| json!({ "metadata": { "uid": uid }, "data": { "key": "2" } });
    let other = json!("00000000-0000-0000-0000-000000000000");
    let status = maps.merge("a", at(&other)).await?.refused(422, "Invalid")?;
    ensure!(status["details"]["causes"][0]["field"] == "metadata.uid", "{status}");
    ensure!(maps.get("a").await?.ok()?["data"]["key"] == "1");
    maps.merge("a", at(&map["metadata"]["uid"])).await?.is(200)?;
    Ok(())
}

async fn patch_that_changes_nothing_writes_nothing(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let before = maps.create(config_map("a", "1")).await?.is(201)?;
    let version = before["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    let query = format!("resourceVersion={version}&fieldSelector=metadata.name%3Da");
    let mut watch = maps.watch(&query).await?;
    let same = json!({ "data": { "key": "1" } });
    let replaced = json!([{ "op": "replace", "path": "/data/key", "value": "1" }]);
    for (kind, patch) in [
        (PatchKind::Merge, &same),
        (PatchKind::Strategic, &same),
        (PatchKind::Json, &replaced),
        (PatchKind::Json, &json!([])),
        (PatchKind::Merge, &json!({})),
    ] {
        let map = maps.patch("a?fieldManager=other", kind, patch).await?.is(200)?;
        ensure!(map == before, "{kind:?} made {map}");
    }
    maps.merge("a", json!({ "data": { "key": "marker" } })).await?.is(200)?;
    ensure!(watch.expect("MODIFIED", "a").await?.object["data"]["key"] == "marker");
    Ok(())
}

async fn missing_object_is_not_found(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    for (kind, patch) in [
        (PatchKind::Json, json!([])),
        (PatchKind::Merge, json!({ "data": { "key": "1" } })),
        (PatchKind::Strategic, json!({ "data": { "key": "1" } })),
    ] {
        let status = maps.patch("none", kind, &patch).await?.refused(404, "NotFound")?;
        ensure!(status["details"]["name"] == "none", "{status}");
    }
    maps.get("none").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn name_and_namespace_cannot_change(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create(config_map("a", "1")).await?.is(201)?;
    for field in ["name", "namespace"] {
        maps.merge("a", json!({ "metadata": { field: "b" } })).await?.refused(400, "BadRequest")?;
        let patch = json!([{ "op": "replace", "path": format!("/metadata/{field}"), "value": "b" }]);
        maps.patch("a", PatchKind::Json, &patch).await?.refused(400, "BadRequest")?;
    }
    maps.get("b").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn malformed_patch_is_a_bad_request(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create(config_map("a", "1")).await?.is(201)?;
    for (kind, body) in [
        (PatchKind::Json, r#"[{"op": "remove""#),
        (PatchKind::Json, r#"{"op": "remove", "path": "/data/key"}"#),
        (PatchKind::Merge, r#"{"data": "#),
        (PatchKind::Merge, "[]"),
        (PatchKind::Strategic, r#"{"data": "#),
        (PatchKind::Strategic, "[]"),
    ] {
        let path = format!("{}/a", maps.path());
        let reply = cx.http.send(Method::PATCH, &path, Some(kind.media_type()), body.into()).await?;
        reply.refused(400, "BadRequest")?;
    }
    Ok(())
}

async fn value_of_the_wrong_type_is_invalid(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create(config_map("a", "1")).await?.is(201)?;
    let number = json!({ "data": { "key": 5 } });
    let replaced = json!([{ "op": "replace", "path": "/data/key", "value": 5 }]);
    for (kind, patch) in
        [(PatchKind::Merge, &number), (PatchKind::Strategic, &number), (PatchKind::Json, &replaced)]
    {
        maps.patch("a", kind, patch).await?.refused(422, "Invalid")?;
    }
    ensure!(maps.get("a").await?.ok()?["data"]["key"] == "1");
    Ok(())
}

async fn result_is_validated(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create(config_map("a", "1")).await?.is(201)?;
    let patch = json!({ "data": { "not a key": "1" } });
    let status = maps.merge("a", patch).await?.refused(422, "Invalid")?;
    let cause = &status["details"]["causes"][0];
    ensure!(cause["field"] == "data[not a key]" && cause["reason"] == "FieldValueInvalid", "{status}");
    ensure!(status["details"]["name"] == "a" && status["details"]["kind"] == "ConfigMap", "{status}");
    Ok(())
}

async fn unknown_media_type_is_unsupported(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create(config_map("a", "1")).await?.is(201)?;
    let path = format!("{}/a", maps.path());
    let body = json!({ "data": { "key": "2" } }).to_string();
    for media_type in ["application/json", "application/yaml", "text/plain"] {
        let reply = cx.http.send(Method::PATCH, &path, Some(media_type), body.clone().into()).await?;
        reply.refused(415, "UnsupportedMediaType")?;
    }
    ensure!(maps.get("a").await?.ok()?["data"]["key"] == "1");
    Ok(())
}

async fn strategic_patch_merges_containers_by_name(cx: Cx) -> Result<()> {
    let patch = json!([
        { "name": "main", "image": "registry.invalid/app:2" },
        { "name": "new", "image": "registry.invalid/new:1" }
    ]);
    let containers = patched_containers(&cx, json!({ "containers": patch })).await?;
    ensure!(names(&containers) == ["main", "new", "side"], "{containers}");
    ensure!(containers[0]["image"] == "registry.invalid/app:2", "{containers}");
    // Inside the container the lists are merged too: variables by name, ports by containerPort.
    ensure!(containers[0]["env"] == json!([{ "name": "X", "value": "1" }]), "{containers}");
    let env = json!([{ "name": "Y", "value": "2" }]);
    let ports = json!([{ "containerPort": 80, "name": "web" }, { "containerPort": 81 }]);
    let patch = json!([{ "name": "main", "env": env, "ports": ports }]);
    let containers = patched_containers(&cx, json!({ "containers": patch })).await?;
    let main = &containers[0];
    ensure!(names(&main["env"]) == ["Y", "X"], "{main}");
    let mut ports = main["ports"].as_array().cloned().unwrap_or_default();
    ports.sort_by_key(|port| port["containerPort"].as_u64());
    ensure!(ports.len() == 2 && ports[0]["name"] == "web" && ports[1]["containerPort"] == 81, "{main}");
    Ok(())
}

async fn strategic_patch_deletes_a_list_item(cx: Cx) -> Result<()> {
    let patch = json!([{ "name": "side", "$patch": "delete" }]);
    let containers = patched_containers(&cx, json!({ "containers": patch })).await?;
    ensure!(names(&containers) == ["main"], "{containers}");
    Ok(())
}

async fn strategic_patch_replaces_a_list(cx: Cx) -> Result<()> {
    let patch = json!([{ "name": "new", "image": "registry.invalid/new:1" }, { "$patch": "replace" }]);
    let containers = patched_containers(&cx, json!({ "containers": patch })).await?;
    ensure!(names(&containers) == ["new"], "{containers}");
    Ok(())
}

async fn strategic_patch_follows_the_order_it_is_given(cx: Cx) -> Result<()> {
    let patch = json!({
        "$setElementOrder/containers": [{ "name": "side" }, { "name": "new" }, { "name": "main" }],
        "containers": [{ "name": "new", "image": "registry.invalid/new:1" }]
    });
    let containers = patched_containers(&cx, patch).await?;
    ensure!(names(&containers) == ["side", "new", "main"], "{containers}");
    Ok(())
}

async fn strategic_patch_merges_and_deletes_finalizers(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let mut body = config_map("a", "1");
    body["metadata"]["finalizers"] = json!(["anneal.dev/x", "anneal.dev/y"]);
    maps.create(body).await?.is(201)?;
    let patch = json!({ "metadata": { "finalizers": ["anneal.dev/z", "anneal.dev/x"] } });
    let map = maps.patch("a", PatchKind::Strategic, &patch).await?.is(200)?;
    let mut finalizers = map["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    finalizers.sort_by_key(Value::to_string);
    ensure!(finalizers == ["anneal.dev/x", "anneal.dev/y", "anneal.dev/z"], "{map}");
    let all = json!(["anneal.dev/x", "anneal.dev/y", "anneal.dev/z"]);
    let patch = json!({ "metadata": { "$deleteFromPrimitiveList/finalizers": all } });
    let map = maps.patch("a", PatchKind::Strategic, &patch).await?.is(200)?;
    ensure!(map["metadata"].get("finalizers").is_none(), "{map}");
    Ok(())
}

async fn strategic_patch_merges_service_ports_by_port(cx: Cx) -> Result<()> {
    let services = cx.objects(&Kind::SERVICE);
    let ports = json!([{ "name": "x", "port": 80 }, { "name": "y", "port": 81 }]);
    services.create(json!({ "metadata": { "name": "a" }, "spec": { "ports": ports } })).await?.is(201)?;
    let patch = json!({ "spec": { "ports": [{ "port": 81, "targetPort": 8081 }] } });
    let service = services.patch("a", PatchKind::Strategic, &patch).await?.is(200)?;
    let ports = json!([
        { "name": "x", "port": 80, "protocol": "TCP", "targetPort": 80 },
        { "name": "y", "port": 81, "protocol": "TCP", "targetPort": 8081 }
    ]);
    ensure!(service["spec"]["ports"] == ports, "{service}");
    Ok(())
}

async fn strategic_patch_keeps_only_the_retained_keys(cx: Cx) -> Result<()> {
    let deployments = cx.objects(&Kind::DEPLOYMENT);
    deployments.create(deployment("a")).await?.is(201)?;
    // What `kubectl apply` sends to leave the rolling update's numbers behind.
    let strategy = json!({ "$retainKeys": ["type"], "type": "Recreate" });
    let patch = json!({ "spec": { "strategy": strategy } });
    let object = deployments.patch("a", PatchKind::Strategic, &patch).await?.is(200)?;
    ensure!(object["spec"]["strategy"] == json!({ "type": "Recreate" }), "{object}");
    Ok(())
}

async fn strategic_patch_removes_nulls(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let mut body = config_map("a", "1");
    body["metadata"]["labels"] = json!({ "x": "1", "y": "1" });
    maps.create(body).await?.is(201)?;
    let patch = json!({ "metadata": { "labels": { "x": null } }, "data": { "$patch": "replace", "z": "1" } });
    let map = maps.patch("a", PatchKind::Strategic, &patch).await?.is(200)?;
    ensure!(map["metadata"]["labels"] == json!({ "y": "1" }), "{map}");
    ensure!(map["data"] == json!({ "z": "1" }), "{map}");
    Ok(())
}

async fn custom_resource_has_no_strategic_patch(cx: Cx) -> Result<()> {
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let kind = cx.install_crd("Plain", schema, json!({})).await?;
    let plains = cx.objects(&kind);
    plains.create(json!({ "metadata": { "name": "a" }, "spec": { "x": 1 } })).await?.is(201)?;
    let patch = json!({ "spec": { "x": 2 } });
    plains.patch("a", PatchKind::Strategic, &patch).await?.refused(415, "UnsupportedMediaType")?;
    let plain = plains.merge("a", patch).await?.is(200)?;
    ensure!(plain["spec"]["x"] == 2, "{plain}");
    let patch = json!([{ "op": "replace", "path": "/spec/x", "value": 3 }]);
    let plain = plains.patch("a", PatchKind::Json, &patch).await?.is(200)?;
    ensure!(plain["spec"]["x"] == 3, "{plain}");
    Ok(())
}

async fn status_patch_changes_only_status(cx: Cx) -> Result<()> {
    let pods = cx.objects(&Kind::POD);
    let before = pods.create(pod("a")).await?.is(201)?;
    let condition = |kind: &str| json!({ "type": kind, "status": "True" });
    let patch = json!({
        "metadata": { "annotations": { "kept": "yes" } },
        "spec": { "activeDeadlineSeconds": 9 },
        "status": { "phase": "Running", "conditions": [condition("Ready")] }
    });
    pods.patch("a/status", PatchKind::Strategic, &patch).await?.is(200)?;
    // Conditions are merged by type, so that several writers can report into one list.
    let patch = json!({ "status": { "conditions": [condition("anneal.dev/other")] } });
    pods.patch("a/status", PatchKind::Strategic, &patch).await?.is(200)?;
    let after = pods.get("a").await?.ok()?;
    ensure!(after["spec"] == before["spec"] && after["status"]["phase"] == "Running", "{after}");
    let conditions = after["status"]["conditions"].as_array().cloned().unwrap_or_default();
    for kind in ["Ready", "anneal.dev/other"] {
        ensure!(conditions.iter().any(|condition| condition["type"] == kind), "{after}");
    }
    Ok(())
}

async fn main_patch_leaves_status_alone(cx: Cx) -> Result<()> {
    let pods = cx.objects(&Kind::POD);
    pods.create(pod("a")).await?.is(201)?;
    let patch = json!({ "metadata": { "labels": { "x": "1" } }, "status": { "phase": "Running" } });
    let after = pods.merge("a", patch).await?.is(200)?;
    ensure!(after["metadata"]["labels"]["x"] == "1" && after["status"]["phase"] == "Pending", "{after}");
    Ok(())
}

async fn scale_patch_changes_replicas_and_generation(cx: Cx) -> Result<()> {
    let deployments = cx.objects(&Kind::DEPLOYMENT);
    let before = deployments.create(deployment("a")).await?.is(201)?;
    ensure!(before["metadata"]["generation"] == 1, "{before}");
    let scale = deployments.merge("a/scale", json!({ "spec": { "replicas": 2 } })).await?.is(200)?;
    ensure!(scale["kind"] == "Scale" && scale["apiVersion"] == "autoscaling/v1", "{scale}");
    ensure!(scale["spec"]["replicas"] == 2 && scale["status"]["selector"] == "app=a", "{scale}");
    let after = deployments.get("a").await?.ok()?;
    ensure!(after["spec"]["replicas"] == 2 && after["metadata"]["generation"] == 2, "{after}");
    ensure!(after["spec"]["template"] == before["spec"]["template"], "{after}");
    let wrong = json!({ "spec": { "replicas": -1 } });
    deployments.merge("a/scale", wrong).await?.refused(422, "Invalid")?;
    Ok(())
}

/// A Deployment that makes no pods of its own accord: it is the API that is looked at.
fn deployment(name: &str) -> Value {
    let mut spec = pod_spec();
    spec["containers"] = json!([
        {
            "name": "main", "image": "registry.invalid/app:1", "env": [{ "name": "X", "value": "1" }],
            "ports": [{ "containerPort": 80 }]
        },
        { "name": "side", "image": "registry.invalid/side:1" }
    ]);
    json!({ "metadata": { "name": name }, "spec": {
        "paused": true,
        "selector": { "matchLabels": { "app": name } },
        "template": { "metadata": { "labels": { "app": name } }, "spec": spec }
    } })
}

/// The containers `main` and `side` after a strategic patch of their pod template.
async fn patched_containers(cx: &Cx, spec: Value) -> Result<Value> {
    let deployments = cx.objects(&Kind::DEPLOYMENT);
    let mut body = deployment("a");
    body["metadata"] = json!({ "generateName": "a-" });
    let object = deployments.create(body).await?.is(201)?;
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let patch = json!({ "spec": { "template": { "spec": spec } } });
    let object = deployments.patch(name, PatchKind::Strategic, &patch).await?.is(200)?;
    Ok(object["spec"]["template"]["spec"]["containers"].clone())
}

fn names(list: &Value) -> Vec<&str> {
    let items = list.as_array().into_iter().flatten();
    items.map(|item| item["name"].as_str().unwrap_or_default()).collect()
}
