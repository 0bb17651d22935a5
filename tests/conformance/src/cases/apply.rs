//! Server-side apply: who owns what.

use anneal_harness::{Needs, PatchKind, eventually};
use anyhow::{Result, ensure};
use futures::future::try_join_all;
use http::Method;
use serde_json::{Value, json};

use crate::{
    Case, Cx, Kind, Objects,
    case::cases,
    fixtures::{config_map, pod_spec},
};

pub(super) fn cases() -> Vec<Case> {
    cases![
        Needs::API => [
            creates_a_missing_object_and_records_its_manager,
            takes_yaml,
            needs_a_field_manager,
            needs_the_type_and_name_of_the_path,
            unknown_field_is_refused,
            managed_fields_in_the_body_are_refused,
            managers_own_different_entries_of_a_map,
            conflict_names_the_field_and_its_owner,
            conflicts_with_what_an_update_wrote,
            omitting_what_an_update_wrote_keeps_it,
            same_manager_conflicts_with_its_own_update,
            force_takes_the_field_from_its_owner,
            equal_values_are_shared_without_a_conflict,
            omitted_field_disappears,
            omitted_field_stays_while_another_manager_owns_it,
            manager_that_applies_nothing_loses_its_entry,
            update_takes_the_fields_it_changes,
            removal_by_update_ends_ownership,
            emptied_managed_fields_are_reset_and_absent_ones_are_kept,
            repeated_apply_changes_nothing,
            version_in_the_body_is_a_precondition,
            uid_of_another_object_is_a_conflict,
            concurrent_managers_all_succeed,
            containers_merge_by_name,
            service_ports_merge_by_port_and_protocol,
            left_out_protocol_is_the_default_one,
            finalizers_are_a_set,
            selector_of_a_service_is_owned_as_a_whole,
            defaults_belong_to_nobody,
            scaling_takes_the_replicas,
            terminating_object_can_still_be_applied,
            custom_set_holds_each_managers_values,
            custom_atomic_list_is_owned_as_a_whole,
            custom_atomic_map_is_owned_as_a_whole,
            custom_list_map_merges_by_its_keys,
            repeated_keys_of_a_list_map_are_refused,
            status_is_applied_apart,
        ],
    ]
}

async fn creates_a_missing_object_and_records_its_manager(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let map = maps.apply("a", "one", data("key", "1")).await?.is(201)?;
    let entries = map["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    ensure!(entries.len() == 1, "{map}");
    let entry = &entries[0];
    ensure!(entry["manager"] == "one" && entry["operation"] == "Apply", "{entry}");
    ensure!(entry["apiVersion"] == "v1" && entry["fieldsType"] == "FieldsV1", "{entry}");
    ensure!(entry["time"].is_string() && entry.get("subresource").is_none(), "{entry}");
    ensure!(entry["fieldsV1"] == json!({ "f:data": { "f:key": {} } }), "{entry}");
    maps.apply("a", "one", data("key", "2")).await?.is(200)?;
    ensure!(maps.get("a").await?.ok()?["data"] == json!({ "key": "2" }));
    Ok(())
}

async fn takes_yaml(cx: Cx) -> Result<()> {
    let path = format!("{}/a?fieldManager=one", cx.objects(&Kind::CONFIG_MAP).path());
    let body = "# a comment\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  key: |\n    two\n    lines\n";
    let media_type = Some(PatchKind::Apply.media_type());
    let map = cx.http.send(Method::PATCH, &path, media_type, body.into()).await?.is(201)?;
    ensure!(map["data"]["key"] == "two\nlines\n", "{map}");
    cx.http
        .send(Method::PATCH, &path, media_type, "{apiVersion: v1".into())
        .await?
        .refused(400, "BadRequest")?;
    Ok(())
}

async fn needs_a_field_manager(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let status = maps.apply_with("a", "", data("key", "1")).await?.refused(422, "Invalid")?;
    let cause = &status["details"]["causes"][0];
    ensure!(cause["field"] == "fieldManager" && cause["reason"] == "FieldValueRequired", "{status}");
    maps.get("a").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn needs_the_type_and_name_of_the_path(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    for body in [
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "b" } }),
        json!({ "apiVersion": "v1", "kind": "ConfigMap" }),
        json!({ "apiVersion": "v1", "metadata": { "name": "a" } }),
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" } }),
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "elsewhere" } }),
    ] {
        maps.patch("a?fieldManager=one", PatchKind::Apply, &body).await?.refused(400, "BadRequest")?;
    }
    maps.get("a").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn unknown_field_is_refused(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    // Upstream answers 500 here, which nobody should copy: what counts is that nothing is written.
    let reply = maps.apply("a", "one", json!({ "nope": 1 })).await?;
    ensure!(reply.status >= 400 && reply.json()?["message"].to_string().contains("nope"), "{reply}");
    maps.get("a").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn managed_fields_in_the_body_are_refused(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let map = maps.apply("a", "one", data("key", "1")).await?.is(201)?;
    for entries in [json!([]), map["metadata"]["managedFields"].clone()] {
        let body = json!({ "metadata": { "managedFields": entries }, "data": { "key": "1" } });
        maps.apply("a", "one", body).await?.refused(400, "BadRequest")?;
    }
    Ok(())
}

async fn managers_own_different_entries_of_a_map(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let body = |key: &str| json!({ "metadata": { "labels": { key: "1" } }, "data": { key: "1" } });
    maps.apply("a", "one", body("x")).await?.is(201)?;
    maps.apply("a", "two", body("y")).await?.is(200)?;
    let map = maps.apply("a", "one", body("x")).await?.is(200)?;
    let both = json!({ "x": "1", "y": "1" });
    ensure!(map["data"] == both && map["metadata"]["labels"] == both, "{map}");
    for (manager, field) in [("one", "f:x"), ("two", "f:y")] {
        let fields = json!({ "f:metadata": { "f:labels": { field: {} } }, "f:data": { field: {} } });
        ensure!(applied(&map, manager) == fields, "{map}");
    }
    Ok(())
}

async fn conflict_names_the_field_and_its_owner(cx: Cx) -> Result<()> {
    let deployments = cx.objects(&Kind::DEPLOYMENT);
    let body = |image: &str, paused: bool| {
        let mut body = deployment(json!({ "name": "main", "image": image }));
        body["spec"]["paused"] = paused.into();
        body
    };
    let before = deployments.apply("a", "one", body("registry.invalid/app:1", true)).await?.is(201)?;
    let reply = deployments.apply("a", "two", body("registry.invalid/app:2", false)).await?;
    let image = ".spec.template.spec.containers[name=\"main\"].image";
    ensure!(conflicts(&reply.refused(409, "Conflict")?, "one") == [".spec.paused", image], "{reply}");
    let after = deployments.get("a").await?.ok()?;
    ensure!(after["spec"] == before["spec"] && applied(&after, "two").is_null(), "{after}");
    Ok(())
}

async fn conflicts_with_what_an_update_wrote(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create_with("?fieldManager=writer", config_map("a", "1")).await?.is(201)?;
    let reply = maps.apply("a", "one", data("key", "2")).await?;
    ensure!(conflicts(&reply.refused(409, "Conflict")?, "writer") == [".data.key"], "{reply}");
    ensure!(maps.get("a").await?.ok()?["data"]["key"] == "1");
    Ok(())
}

async fn omitting_what_an_update_wrote_keeps_it(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let body = json!({ "metadata": { "name": "a" }, "data": { "x": "1", "y": "1" } });
    maps.create_with("?fieldManager=writer", body).await?.is(201)?;
    maps.apply("a", "one", data("x", "1")).await?.is(200)?;
    let map = maps.apply("a", "one", json!({})).await?.is(200)?;
    ensure!(map["data"] == json!({ "x": "1", "y": "1" }), "{map}");
    Ok(())
}

async fn same_manager_conflicts_with_its_own_update(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create_with("?fieldManager=one", config_map("a", "1")).await?.is(201)?;
    let reply = maps.apply("a", "one", data("key", "2")).await?;
    ensure!(conflicts(&reply.refused(409, "Conflict")?, "one") == [".data.key"], "{reply}");
    // Both of its entries stay, told apart by the operation.
    let map = maps.apply("a", "one", data("key", "1")).await?.is(200)?;
    ensure!(applied(&map, "one") == json!({ "f:data": { "f:key": {} } }), "{map}");
    ensure!(updated(&map, "one") == json!({ "f:data": { ".": {}, "f:key": {} } }), "{map}");
    Ok(())
}

async fn force_takes_the_field_from_its_owner(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.apply("a", "one", json!({ "data": { "x": "1", "y": "1" } })).await?.is(201)?;
    let map = maps.apply_by_force("a", "two", data("x", "2")).await?.is(200)?;
    ensure!(map["data"] == json!({ "x": "2", "y": "1" }), "{map}");
    ensure!(applied(&map, "one") == json!({ "f:data": { "f:y": {} } }), "{map}");
    ensure!(applied(&map, "two") == json!({ "f:data": { "f:x": {} } }), "{map}");
    // What it lost it no longer takes along.
    let map = maps.apply("a", "one", data("y", "1")).await?.is(200)?;
    ensure!(map["data"] == json!({ "x": "2", "y": "1" }), "{map}");
    Ok(())
}

async fn equal_values_are_shared_without_a_conflict(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.apply("a", "one", data("key", "1")).await?.is(201)?;
    let map = maps.apply("a", "two", data("key", "1")).await?.is(200)?;
    for manager in ["one", "two"] {
        ensure!(applied(&map, manager) == json!({ "f:data": { "f:key": {} } }), "{map}");
    }
    let reply = maps.apply("a", "one", data("key", "2")).await?;
    ensure!(conflicts(&reply.refused(409, "Conflict")?, "two") == [".data.key"], "{reply}");
    Ok(())
}

async fn omitted_field_disappears(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.apply("a", "one", json!({ "data": { "x": "1", "y": "1" } })).await?.is(201)?;
    let map = maps.apply("a", "one", data("x", "1")).await?.is(200)?;
    ensure!(map["data"] == json!({ "x": "1" }), "{map}");
    ensure!(applied(&map, "one") == json!({ "f:data": { "f:x": {} } }), "{map}");
    let map = maps.apply("a", "one", json!({})).await?.is(200)?;
    ensure!(map.get("data").is_none() && applied(&map, "one").is_null(), "{map}");
    Ok(())
}

async fn omitted_field_stays_while_another_manager_owns_it(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.apply("a", "one", json!({ "data": { "x": "1", "y": "1" } })).await?.is(201)?;
    maps.apply("a", "two", data("y", "1")).await?.is(200)?;
    let map = maps.apply("a", "one", data("x", "1")).await?.is(200)?;
    ensure!(map["data"] == json!({ "x": "1", "y": "1" }), "{map}");
    ensure!(applied(&map, "one") == json!({ "f:data": { "f:x": {} } }), "{map}");
    let map = maps.apply("a", "two", data("z", "1")).await?.is(200)?;
    ensure!(map["data"] == json!({ "x": "1", "z": "1" }), "{map}");
    Ok(())
}

async fn manager_that_applies_nothing_loses_its_entry(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.apply("a", "one", data("x", "1")).await?.is(201)?;
    maps.apply("a", "two", data("y", "1")).await?.is(200)?;
    let map = maps.apply("a", "two", json!({})).await?.is(200)?;
    ensure!(map["data"] == json!({ "x": "1" }), "{map}");
    ensure!(map["metadata"]["managedFields"].as_array().is_some_and(|entries| entries.len() == 1), "{map}");
    ensure!(applied(&map, "one") == json!({ "f:data": { "f:x": {} } }), "{map}");
    Ok(())
}

async fn update_takes_the_fields_it_changes(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let mut map = maps.apply("a", "one", json!({ "data": { "x": "1", "y": "1" } })).await?.is(201)?;
    map["data"]["x"] = "2".into();
    let map = maps.update("a?fieldManager=writer", &map).await?.is(200)?;
    ensure!(applied(&map, "one") == json!({ "f:data": { "f:y": {} } }), "{map}");
    ensure!(updated(&map, "writer") == json!({ "f:data": { "f:x": {} } }), "{map}");
    let reply = maps.apply("a", "one", json!({ "data": { "x": "1", "y": "1" } })).await?;
    ensure!(conflicts(&reply.refused(409, "Conflict")?, "writer") == [".data.x"], "{reply}");
    Ok(())
}

async fn removal_by_update_ends_ownership(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let body = json!({ "data": { "x": "1", "y": "1" } });
    maps.apply("a", "one", body.clone()).await?.is(201)?;
    let map = maps.merge("a?fieldManager=writer", json!({ "data": { "x": null } })).await?.is(200)?;
    ensure!(applied(&map, "one") == json!({ "f:data": { "f:y": {} } }), "{map}");
    ensure!(updated(&map, "writer").is_null(), "{map}");
    let map = maps.apply("a", "one", body.clone()).await?.is(200)?;
    ensure!(map["data"] == body["data"], "{map}");
    Ok(())
}

async fn emptied_managed_fields_are_reset_and_absent_ones_are_kept(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let before = maps.apply("a", "one", data("key", "1")).await?.is(201)?;
    // Writers that know nothing of ownership leave it alone.
    let map = maps.update("a", &config_map("a", "1")).await?.is(200)?;
    ensure!(map["metadata"] == before["metadata"], "{map}");
    for entries in [json!([]), json!([{}])] {
        maps.apply_by_force("a", "one", data("key", "1")).await?.is(200)?;
        let map = maps.merge("a", json!({ "metadata": { "managedFields": entries } })).await?.is(200)?;
        ensure!(map["metadata"].get("managedFields").is_none() && map["data"]["key"] == "1", "{map}");
    }
    // From now on nothing is recorded until somebody applies.
    let map = maps.merge("a?fieldManager=writer", data("other", "1")).await?.is(200)?;
    ensure!(map["metadata"].get("managedFields").is_none(), "{map}");
    let reply = maps.apply("a", "one", data("key", "2")).await?;
    ensure!(conflicts(&reply.refused(409, "Conflict")?, "before-first-apply") == [".data.key"], "{reply}");
    Ok(())
}

async fn repeated_apply_changes_nothing(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let first = maps.apply("a", "one", data("key", "1")).await?.is(201)?;
    let mut watch = watch_from(&maps, &first).await?;
    // Times have no fractions: within the same second a new one would look like the old one.
    eventually("the server's clock to move on", async || {
        let probe = maps.create_with("?dryRun=All", config_map("probe", "1")).await?.is(201)?;
        let moved = probe["metadata"]["creationTimestamp"] != first["metadata"]["creationTimestamp"];
        Ok(moved.then_some(()))
    })
    .await?;
    let second = maps.apply("a", "one", data("key", "1")).await?.is(200)?;
    ensure!(first["metadata"] == second["metadata"], "{first} became {second}");
    maps.apply("a", "one", data("key", "marker")).await?.is(200)?;
    ensure!(watch.expect("MODIFIED", "a").await?.object["data"]["key"] == "marker");
    Ok(())
}

async fn version_in_the_body_is_a_precondition(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let at = |version: &Value| json!({ "metadata": { "resourceVersion": version }, "data": { "key": "3" } });
    let first = maps.apply("a", "one", data("key", "1")).await?.is(201)?;
    let second = maps.apply("a", "one", data("key", "2")).await?.is(200)?;
    let stale = at(&first["metadata"]["resourceVersion"]);
    let status = maps.apply_by_force("a", "one", stale).await?.refused(409, "Conflict")?;
    // Not to be taken for a conflict of managers, which force would settle.
    ensure!(status["details"]["name"] == "a" && status["details"].get("causes").is_none(), "{status}");
    let fresh = at(&second["metadata"]["resourceVersion"]);
    let map = maps.apply("a", "one", fresh).await?.is(200)?;
    ensure!(applied(&map, "one") == json!({ "f:data": { "f:key": {} } }), "{map}");
    Ok(())
}

async fn uid_of_another_object_is_a_conflict(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let gone = maps.create(config_map("gone", "1")).await?.is(201)?;
    maps.delete("gone").await?.is(200)?;
    let body = json!({ "metadata": { "uid": gone["metadata"]["uid"] }, "data": { "key": "2" } });
    // Otherwise a late writer would bring back what somebody has deleted.
    maps.apply("gone", "one", body).await?.refused(409, "Conflict")?;
    maps.get("gone").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn concurrent_managers_all_succeed(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.apply("a", "zero", data("zero", "1")).await?.is(201)?;
    let managers: Vec<String> = (0..8).map(|n| format!("m{n}")).collect();
    let apply = async |manager: &String| {
        maps.apply("a", manager, data(manager, "1")).await?.is(200)?;
        anyhow::Ok(())
    };
    try_join_all(managers.iter().map(apply)).await?;
    let map = maps.get("a").await?.ok()?;
    for manager in &managers {
        ensure!(map["data"][manager] == "1", "{map}");
        ensure!(applied(&map, manager) == json!({ "f:data": { format!("f:{manager}"): {} } }), "{map}");
    }
    Ok(())
}

async fn containers_merge_by_name(cx: Cx) -> Result<()> {
    let deployments = cx.objects(&Kind::DEPLOYMENT);
    let containers = |object: &Value| object["spec"]["template"]["spec"]["containers"].clone();
    let names = |object: &Value| -> Vec<String> {
        let names = containers(object).as_array().cloned().unwrap_or_default();
        names.iter().map(|container| container["name"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let side = |extra: Value| json!({ "spec": { "template": { "spec": { "containers": extra } } } });
    deployments
        .apply("a", "one", deployment(json!({ "name": "main", "image": "registry.invalid/app:1" })))
        .await?
        .is(201)?;
    let body = side(json!([
        { "name": "side", "image": "registry.invalid/side:1" },
        { "name": "main", "workingDir": "/tmp" }
    ]));
    let object = deployments.apply("a", "two", body).await?.is(200)?;
    let mut sorted = names(&object);
    sorted.sort();
    ensure!(sorted == ["main", "side"], "{object}");
    let fields = json!({ "f:spec": { "f:template": { "f:spec": { "f:containers": {
        "k:{\"name\":\"main\"}": { ".": {}, "f:name": {}, "f:workingDir": {} },
        "k:{\"name\":\"side\"}": { ".": {}, "f:name": {}, "f:image": {} }
    } } } } });
    ensure!(applied(&object, "two") == fields, "{object}");
    let object = deployments.apply("a", "two", side(json!([]))).await?.is(200)?;
    ensure!(names(&object) == ["main"], "{object}");
    ensure!(containers(&object)[0]["image"] == "registry.invalid/app:1", "{object}");
    ensure!(containers(&object)[0].get("workingDir").is_none(), "{object}");
    Ok(())
}

async fn service_ports_merge_by_port_and_protocol(cx: Cx) -> Result<()> {
    let services = cx.objects(&Kind::SERVICE);
    let tcp = json!({ "name": "dns-tcp", "port": 53, "protocol": "TCP" });
    let udp = json!({ "name": "dns", "port": 53, "protocol": "UDP" });
    services.apply("a", "one", json!({ "spec": { "ports": [tcp] } })).await?.is(201)?;
    let service = services.apply("a", "two", json!({ "spec": { "ports": [udp] } })).await?.is(200)?;
    ensure!(service["spec"]["ports"].as_array().is_some_and(|ports| ports.len() == 2), "{service}");
    let item = json!({ ".": {}, "f:name": {}, "f:port": {}, "f:protocol": {} });
    let fields = json!({ "f:spec": { "f:ports": { "k:{\"port\":53,\"protocol\":\"UDP\"}": item } } });
    ensure!(applied(&service, "two") == fields, "{service}");
    let service = services.apply("a", "two", json!({})).await?.is(200)?;
    ensure!(service["spec"]["ports"].as_array().is_some_and(|ports| ports.len() == 1), "{service}");
    ensure!(service["spec"]["ports"][0]["protocol"] == "TCP", "{service}");
    Ok(())
}

async fn left_out_protocol_is_the_default_one(cx: Cx) -> Result<()> {
    let services = cx.objects(&Kind::SERVICE);
    let ports = |target: u32| json!({ "spec": { "ports": [{ "port": 80, "targetPort": target }] } });
    let service = services.apply("a", "one", ports(8080)).await?.is(201)?;
    let item = json!({ ".": {}, "f:port": {}, "f:targetPort": {} });
    let fields = json!({ "f:spec": { "f:ports": { "k:{\"port\":80,\"protocol\":\"TCP\"}": item } } });
    ensure!(applied(&service, "one") == fields, "{service}");
    let service = services.apply("a", "one", ports(9090)).await?.is(200)?;
    let port = json!([{ "port": 80, "targetPort": 9090, "protocol": "TCP" }]);
    ensure!(service["spec"]["ports"] == port, "{service}");
    Ok(())
}

async fn finalizers_are_a_set(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let finalizers = |names: Value| json!({ "metadata": { "finalizers": names } });
    maps.apply("a", "one", finalizers(json!(["anneal.dev/x", "anneal.dev/z"]))).await?.is(201)?;
    let map = maps.apply("a", "two", finalizers(json!(["anneal.dev/y", "anneal.dev/z"]))).await?.is(200)?;
    ensure!(map["metadata"]["finalizers"].as_array().is_some_and(|all| all.len() == 3), "{map}");
    let fields = json!({ "v:\"anneal.dev/y\"": {}, "v:\"anneal.dev/z\"": {} });
    ensure!(applied(&map, "two") == json!({ "f:metadata": { "f:finalizers": fields } }), "{map}");
    let map = maps.apply("a", "two", json!({})).await?.is(200)?;
    ensure!(map["metadata"]["finalizers"] == json!(["anneal.dev/x", "anneal.dev/z"]), "{map}");
    let map = maps.apply("a", "one", json!({})).await?.is(200)?;
    ensure!(map["metadata"].get("finalizers").is_none(), "{map}");
    Ok(())
}

async fn selector_of_a_service_is_owned_as_a_whole(cx: Cx) -> Result<()> {
    let services = cx.objects(&Kind::SERVICE);
    let body = |selector: Value| json!({ "spec": { "ports": [{ "port": 80 }], "selector": selector } });
    let service = services.apply("a", "one", body(json!({ "x": "1" }))).await?.is(201)?;
    ensure!(applied(&service, "one")["f:spec"]["f:selector"] == json!({}), "{service}");
    let reply = services.apply("a", "two", body(json!({ "y": "1" }))).await?;
    ensure!(conflicts(&reply.refused(409, "Conflict")?, "one") == [".spec.selector"], "{reply}");
    let service = services.apply_by_force("a", "two", body(json!({ "y": "1" }))).await?.is(200)?;
    ensure!(service["spec"]["selector"] == json!({ "y": "1" }), "{service}");
    Ok(())
}

async fn defaults_belong_to_nobody(cx: Cx) -> Result<()> {
    let deployments = cx.objects(&Kind::DEPLOYMENT);
    let body = deployment(json!({ "name": "main", "image": "registry.invalid/app:1" }));
    let object = deployments.apply("a", "one", body).await?.is(201)?;
    ensure!(object["spec"]["strategy"]["type"] == "RollingUpdate", "{object}");
    ensure!(applied(&object, "one")["f:spec"].get("f:strategy").is_none(), "{object}");
    let strategy = json!({ "spec": { "strategy": { "$retainKeys": ["type"], "type": "Recreate" } } });
    deployments.patch("a?fieldManager=two", PatchKind::Strategic, &strategy).await?.is(200)?;
    let body = deployment(json!({ "name": "main", "image": "registry.invalid/app:2" }));
    let object = deployments.apply("a", "one", body).await?.is(200)?;
    ensure!(object["spec"]["strategy"] == json!({ "type": "Recreate" }), "{object}");
    Ok(())
}

async fn scaling_takes_the_replicas(cx: Cx) -> Result<()> {
    let deployments = cx.objects(&Kind::DEPLOYMENT);
    let without = deployment(json!({ "name": "main", "image": "registry.invalid/app:1" }));
    let mut with = without.clone();
    with["spec"]["replicas"] = 1.into();
    deployments.apply("a", "one", with.clone()).await?.is(201)?;
    let scale = json!({ "spec": { "replicas": 3 } });
    deployments.merge("a/scale?fieldManager=scaler", scale).await?.is(200)?;
    let reply = deployments.apply("a", "one", with).await?;
    ensure!(conflicts(&reply.refused(409, "Conflict")?, "scaler") == [".spec.replicas"], "{reply}");
    let object = deployments.apply("a", "one", without).await?.is(200)?;
    ensure!(object["spec"]["replicas"] == 3, "{object}");
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let entry = entries.iter().find(|entry| entry["manager"] == "scaler").cloned().unwrap_or_default();
    ensure!(entry["subresource"] == "scale" && entry["apiVersion"] == "apps/v1", "{object}");
    ensure!(entry["fieldsV1"] == json!({ "f:spec": { "f:replicas": {} } }), "{object}");
    Ok(())
}

async fn terminating_object_can_still_be_applied(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let body =
        |finalizers: Value| json!({ "metadata": { "finalizers": finalizers }, "data": { "key": "1" } });
    maps.apply("a", "one", body(json!(["anneal.dev/x"]))).await?.is(201)?;
    maps.delete("a").await?.is(200)?;
    let map = maps.apply("a", "two", data("other", "1")).await?.is(200)?;
    ensure!(map["metadata"]["deletionTimestamp"].is_string() && map["data"]["other"] == "1", "{map}");
    maps.apply("a", "one", body(json!(["anneal.dev/x", "anneal.dev/y"]))).await?.refused(422, "Invalid")?;
    maps.apply("a", "one", body(json!([]))).await?.is(200)?;
    maps.get("a").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn custom_set_holds_each_managers_values(cx: Cx) -> Result<()> {
    let shapes = shapes(&cx).await?;
    let tags = |tags: Value| json!({ "spec": { "tags": tags } });
    shapes.apply("a", "one", tags(json!(["x", "z"]))).await?.is(201)?;
    let shape = shapes.apply("a", "two", tags(json!(["y", "z"]))).await?.is(200)?;
    ensure!(shape["spec"]["tags"].as_array().is_some_and(|tags| tags.len() == 3), "{shape}");
    let fields = json!({ "f:spec": { "f:tags": { "v:\"y\"": {}, "v:\"z\"": {} } } });
    ensure!(applied(&shape, "two") == fields, "{shape}");
    let shape = shapes.apply("a", "one", tags(json!(["x"]))).await?.is(200)?;
    ensure!(shape["spec"]["tags"].as_array().is_some_and(|tags| tags.len() == 3), "{shape}");
    let shape = shapes.apply("a", "two", tags(json!(["y"]))).await?.is(200)?;
    ensure!(shape["spec"]["tags"] == json!(["x", "y"]), "{shape}");
    Ok(())
}

async fn custom_atomic_list_is_owned_as_a_whole(cx: Cx) -> Result<()> {
    let shapes = shapes(&cx).await?;
    let steps = |steps: Value| json!({ "spec": { "steps": steps } });
    let shape = shapes.apply("a", "one", steps(json!(["x"]))).await?.is(201)?;
    ensure!(applied(&shape, "one") == json!({ "f:spec": { "f:steps": {} } }), "{shape}");
    let reply = shapes.apply("a", "two", steps(json!(["y"]))).await?;
    ensure!(conflicts(&reply.refused(409, "Conflict")?, "one") == [".spec.steps"], "{reply}");
    let shape = shapes.apply_by_force("a", "two", steps(json!(["y"]))).await?.is(200)?;
    ensure!(shape["spec"]["steps"] == json!(["y"]) && applied(&shape, "one").is_null(), "{shape}");
    Ok(())
}

async fn custom_atomic_map_is_owned_as_a_whole(cx: Cx) -> Result<()> {
    let shapes = shapes(&cx).await?;
    let limits = |limits: Value| json!({ "spec": { "limits": limits } });
    shapes.apply("a", "one", limits(json!({ "x": "1" }))).await?.is(201)?;
    let reply = shapes.apply("a", "two", limits(json!({ "y": "1" }))).await?;
    ensure!(conflicts(&reply.refused(409, "Conflict")?, "one") == [".spec.limits"], "{reply}");
    let shape = shapes.apply_by_force("a", "two", limits(json!({ "y": "1" }))).await?.is(200)?;
    ensure!(shape["spec"]["limits"] == json!({ "y": "1" }), "{shape}");
    ensure!(applied(&shape, "two") == json!({ "f:spec": { "f:limits": {} } }), "{shape}");
    Ok(())
}

async fn custom_list_map_merges_by_its_keys(cx: Cx) -> Result<()> {
    let shapes = shapes(&cx).await?;
    let ports = |ports: Value| json!({ "spec": { "ports": ports } });
    let shape = shapes.apply("a", "one", ports(json!([{ "name": "web", "number": 80 }]))).await?.is(201)?;
    let key = "k:{\"name\":\"web\",\"protocol\":\"TCP\"}";
    let fields = json!({ "f:spec": { "f:ports": { key: { ".": {}, "f:name": {}, "f:number": {} } } } });
    ensure!(applied(&shape, "one") == fields, "{shape}");
    let udp = json!([{ "name": "web", "protocol": "UDP", "number": 81 }]);
    let shape = shapes.apply("a", "two", ports(udp)).await?.is(200)?;
    let both = json!([
        { "name": "web", "protocol": "TCP", "number": 80 },
        { "name": "web", "protocol": "UDP", "number": 81 }
    ]);
    ensure!(shape["spec"]["ports"] == both, "{shape}");
    let tcp = json!([{ "name": "web", "protocol": "TCP", "number": 90 }]);
    let reply = shapes.apply("a", "two", ports(tcp)).await?;
    let field = ".spec.ports[name=\"web\",protocol=\"TCP\"].number";
    ensure!(conflicts(&reply.refused(409, "Conflict")?, "one") == [field], "{reply}");
    let shape = shapes.apply("a", "two", json!({})).await?.is(200)?;
    ensure!(shape["spec"]["ports"] == json!([both[0]]), "{shape}");
    Ok(())
}

async fn repeated_keys_of_a_list_map_are_refused(cx: Cx) -> Result<()> {
    let shapes = shapes(&cx).await?;
    let ports = json!([{ "name": "web", "number": 80 }, { "name": "web", "protocol": "TCP", "number": 81 }]);
    for body in [json!({ "ports": ports }), json!({ "tags": ["x", "x"] })] {
        // As with unknown fields, upstream's 500 is not the point.
        let reply = shapes.apply("a", "one", json!({ "spec": body })).await?;
        ensure!(reply.status >= 400, "{reply}");
        let object = json!({ "metadata": { "name": "a" }, "spec": body });
        shapes.create(object).await?.refused(422, "Invalid")?;
    }
    shapes.get("a").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn status_is_applied_apart(cx: Cx) -> Result<()> {
    let shapes = shapes(&cx).await?;
    let body = |tag: &str, phase: &str| json!({ "spec": { "tags": [tag] }, "status": { "phase": phase } });
    let shape = shapes.apply("a", "one", body("x", "Ignored")).await?.is(201)?;
    ensure!(shape.get("status").is_none(), "{shape}");
    ensure!(applied(&shape, "one") == json!({ "f:spec": { "f:tags": { "v:\"x\"": {} } } }), "{shape}");
    shapes.apply("a/status", "one", body("ignored", "Ready")).await?.is(200)?;
    // The same manager, yet its spec and its status are two entries: neither removes the other.
    let shape = shapes.apply("a", "one", json!({ "spec": { "tags": ["y"] } })).await?.is(200)?;
    ensure!(shape["spec"]["tags"] == json!(["y"]) && shape["status"]["phase"] == "Ready", "{shape}");
    let entries = shape["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let of_status =
        entries.iter().find(|entry| entry["subresource"] == "status").cloned().unwrap_or_default();
    ensure!(entries.len() == 2 && of_status["manager"] == "one", "{shape}");
    ensure!(of_status["fieldsV1"] == json!({ "f:status": { "f:phase": {} } }), "{shape}");
    shapes.apply("none/status", "one", body("x", "Ready")).await?.refused(404, "NotFound")?;
    Ok(())
}

fn data(key: &str, value: &str) -> Value {
    json!({ "data": { key: value } })
}

/// A Deployment that makes no pods of its own accord: it is the API that is looked at.
fn deployment(container: Value) -> Value {
    let mut spec = pod_spec();
    spec["containers"] = json!([container]);
    json!({ "spec": {
        "paused": true,
        "selector": { "matchLabels": { "app": "a" } },
        "template": { "metadata": { "labels": { "app": "a" } }, "spec": spec }
    } })
}

/// What a manager owns by apply, null if nothing.
fn applied(object: &Value, manager: &str) -> Value {
    owned(object, manager, "Apply")
}

/// What a manager owns by other writes, null if nothing.
fn updated(object: &Value, manager: &str) -> Value {
    owned(object, manager, "Update")
}

fn owned(object: &Value, manager: &str, operation: &str) -> Value {
    let entries = object["metadata"]["managedFields"].as_array();
    let mut entries = entries.into_iter().flatten();
    let entry = entries.find(|entry| entry["manager"] == manager && entry["operation"] == operation);
    entry.map_or(Value::Null, |entry| entry["fieldsV1"].clone())
}

/// The fields a conflict names, sorted; a cause that is not about this manager shows up whole.
fn conflicts(status: &Value, manager: &str) -> Vec<String> {
    let causes = status["details"]["causes"].as_array().cloned().unwrap_or_default();
    let named = format!("\"{manager}\"");
    let field = |cause: &Value| {
        let names = cause["message"].as_str().is_some_and(|message| message.contains(&named));
        match cause["field"].as_str() {
            Some(field) if names && cause["reason"] == "FieldManagerConflict" => field.to_owned(),
            _ => cause.to_string(),
        }
    };
    let mut fields: Vec<String> = causes.iter().map(field).collect();
    fields.sort();
    fields
}

/// Watches one object alone: others may appear beside it.
async fn watch_from(objects: &Objects, object: &Value) -> Result<anneal_harness::Watch> {
    let metadata = &object["metadata"];
    let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
    let (name, version) = (text("name"), text("resourceVersion"));
    objects.watch(&format!("resourceVersion={version}&fieldSelector=metadata.name%3D{name}")).await
}

/// A custom resource with lists and maps of every type.
async fn shapes(cx: &Cx) -> Result<Objects> {
    let schema = json!({ "type": "object", "properties": {
        "spec": { "type": "object", "properties": {
            "tags": { "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set" },
            "steps": { "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "atomic" },
            "limits": {
                "type": "object", "additionalProperties": { "type": "string" },
                "x-kubernetes-map-type": "atomic"
            },
            "ports": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name", "protocol"],
                "items": { "type": "object", "required": ["name"], "properties": {
                    "name": { "type": "string" },
                    "protocol": { "type": "string", "default": "TCP" },
                    "number": { "type": "integer" }
                } }
            }
        } },
        "status": { "type": "object", "properties": { "phase": { "type": "string" } } }
    } });
    Ok(cx.objects(&cx.install_crd("Shape", schema, json!({ "subresources": { "status": {} } })).await?))
}
