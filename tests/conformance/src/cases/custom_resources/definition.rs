//! Definitions: what they must be, what they bring, and how they end.

use anneal_harness::{Reply, eventually};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{object, of_spec};
use crate::{
    Cx, Kind,
    definitions::{definition, in_version, install, is, name_of},
    fixtures::has_cause,
};

pub(super) async fn a_definition_is_accepted_then_established(cx: Cx) -> Result<()> {
    let kind = install(&cx, definition(&cx, "Thing", of_spec(json!({}))), "v1").await?;
    let made = cx.objects(&Kind::CRD).get(&name_of(&kind)).await?.ok()?;
    ensure!(is(&made, "NamesAccepted", "True") && is(&made, "Established", "True"), "{made}");
    ensure!(made["status"]["storedVersions"] == json!(["v1"]), "{made}");
    let names = json!({ "kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing" });
    ensure!(made["status"]["acceptedNames"] == names && made["spec"]["names"] == names, "{made}");
    ensure!(made["spec"]["conversion"] == json!({ "strategy": "None" }), "{made}");
    ensure!(made["metadata"]["finalizers"].is_null(), "held before it is deleted: {made}");
    Ok(())
}

pub(super) async fn wrong_definitions_are_refused(cx: Cx) -> Result<()> {
    let definitions = cx.objects(&Kind::CRD);
    let refused = async |body: Value, reason: &str, field: &str| {
        let status = definitions.create(body).await?.refused(422, "Invalid")?;
        let causes = status["details"]["causes"].as_array();
        let found = causes.into_iter().flatten().any(|cause| {
            cause["reason"] == reason && cause["field"].as_str().is_some_and(|at| at.ends_with(field))
        });
        ensure!(found, "no cause {reason} for {field}: {status}");
        anyhow::Ok(())
    };
    // A schema must be structural: each value has a type, in one place.
    let schemas = [
        (json!({}), "FieldValueRequired", "openAPIV3Schema.type"),
        (of_spec(json!({ "a": {} })), "FieldValueRequired", "properties[a].type"),
        (of_spec(json!({ "a": { "type": "array" } })), "FieldValueRequired", "properties[a].items"),
        (
            of_spec(json!({
                "a": { "type": "object", "anyOf": [{ "properties": { "b": { "type": "string" } } }] }
            })),
            "FieldValueForbidden",
            "properties[a].anyOf[0].properties[b].type",
        ),
        (
            of_spec(json!({ "a": {
                "type": "object", "properties": { "b": { "type": "string" } },
                "additionalProperties": { "type": "string" }
            } })),
            "FieldValueForbidden",
            "properties[a].additionalProperties",
        ),
        (
            of_spec(json!({ "a": { "type": "string", "default": 1 } })),
            "FieldValueTypeInvalid",
            "properties[a].default",
        ),
        (
            of_spec(json!({ "a": { "type": "string", "pattern": "(" } })),
            "FieldValueInvalid",
            "properties[a].pattern",
        ),
        (
            of_spec(json!({ "a": {
                "type": "array", "x-kubernetes-list-type": "map",
                "items": { "type": "object", "properties": { "b": { "type": "string" } } }
            } })),
            "FieldValueRequired",
            "properties[a].x-kubernetes-list-map-keys",
        ),
    ];
    for (schema, reason, field) in schemas {
        refused(definition(&cx, "Thing", schema), reason, field).await?;
    }
    let good = definition(&cx, "Thing", of_spec(json!({})));
    let changes = [
        ("/metadata/name", json!("wrong.anneal.dev"), "FieldValueInvalid", "metadata.name"),
        ("/spec/scope", json!("Sideways"), "FieldValueNotSupported", "spec.scope"),
        ("/spec/versions/0/name", json!("V_1"), "FieldValueInvalid", "spec.versions[0].name"),
        ("/spec/versions/0/storage", json!(false), "FieldValueInvalid", "spec.versions"),
        ("/spec/versions/0/schema", Value::Null, "FieldValueRequired", "schema.openAPIV3Schema"),
        ("/spec/names/kind", json!(""), "FieldValueRequired", "spec.names.kind"),
    ];
    for (pointer, value, reason, field) in changes {
        let mut wrong = good.clone();
        *wrong.pointer_mut(pointer).context("a change must find its place")? = value;
        refused(wrong, reason, field).await?;
    }
    let mut twice = good.clone();
    let version = &good["spec"]["versions"][0];
    twice["spec"]["versions"] = json!([version, version]);
    refused(twice, "FieldValueInvalid", "spec.versions").await?;
    definitions.create_with("?dryRun=All", good).await?.is(201)?;
    Ok(())
}

pub(super) async fn a_second_definition_does_not_get_taken_names(cx: Cx) -> Result<()> {
    let first = install(&cx, definition(&cx, "Thing", of_spec(json!({}))), "v1").await?;
    let mut second = definition(&cx, "Other", of_spec(json!({})));
    second["spec"]["names"]["kind"] = "Thing".into();
    let name = second["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let definitions = cx.objects(&Kind::CRD);
    cx.delete_later(format!("{}/{name}", definitions.path()));
    definitions.create(second).await?.is(201)?;
    eventually("the second definition to be turned down", async || {
        let second = definitions.get(&name).await?.ok()?;
        Ok((is(&second, "NamesAccepted", "False") && is(&second, "Established", "False")).then_some(()))
    })
    .await?;
    let others = Kind { plural: "others", ..first };
    ensure_unknown(&cx.objects(&others).list("").await?)?;
    cx.objects(&first).create(object("a", json!({}))).await?.is(201)?;
    // The names are free once the first has gone.
    definitions.delete(&name_of(&first)).await?.ok()?;
    eventually("the second definition to be served", async || {
        Ok((cx.objects(&others).list("").await?.status == 200).then_some(()))
    })
    .await
}

pub(super) async fn group_and_scope_of_a_definition_never_change(cx: Cx) -> Result<()> {
    let kind = install(&cx, definition(&cx, "Thing", of_spec(json!({}))), "v1").await?;
    let (definitions, name) = (cx.objects(&Kind::CRD), name_of(&kind));
    for (field, value) in [("scope", "Cluster"), ("group", "other.anneal.dev")] {
        let status = definitions.merge(&name, json!({ "spec": { field: value } })).await?;
        let status = status.refused(422, "Invalid")?;
        has_cause(&status, &format!("spec.{field}"), "FieldValueInvalid")?;
    }
    Ok(())
}

pub(super) async fn discovery_tells_short_names_categories_and_scale(cx: Cx) -> Result<()> {
    let mut body = definition(&cx, "Thing", of_spec(json!({ "replicas": { "type": "integer" } })));
    body["spec"]["names"]["shortNames"] = json!(["th", "tg"]);
    body["spec"]["names"]["categories"] = json!(["all"]);
    body["spec"]["versions"][0]["subresources"] = json!({
        "status": {},
        "scale": { "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" }
    });
    let kind = install(&cx, body, "v1").await?;
    let path = format!("/apis/{}", kind.api_version);
    let resources = eventually("the kind in discovery", async || {
        let list = cx.http.get(&path).await?;
        Ok(if list.status == 200 { list.json()?["resources"].as_array().cloned() } else { None })
    })
    .await?;
    let find = |name: &str| resources.iter().find(|resource| resource["name"] == name).cloned();
    let things = find("things").context("no things")?;
    ensure!(things["kind"] == "Thing" && things["singularName"] == "thing", "{things}");
    ensure!(things["namespaced"] == true && things["shortNames"] == json!(["th", "tg"]), "{things}");
    ensure!(things["categories"] == json!(["all"]), "{things}");
    let mut verbs: Vec<_> =
        things["verbs"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    verbs.sort_unstable();
    ensure!(
        verbs == ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        "{things}"
    );
    let status = find("things/status").context("no status")?;
    ensure!(status["kind"] == "Thing", "{status}");
    let scale = find("things/scale").context("no scale")?;
    ensure!(
        scale["kind"] == "Scale" && scale["group"] == "autoscaling" && scale["version"] == "v1",
        "{scale}"
    );
    Ok(())
}

pub(super) async fn two_versions_show_one_object(cx: Cx) -> Result<()> {
    let old = install(&cx, in_two_versions(&cx), "v1").await?;
    let new = in_version(&old, "v2");
    let (old, new) = (cx.objects(&old), cx.objects(&new));
    let made = old.create(object("a", json!({ "size": 1, "old": "x", "new": "y" }))).await?.is(201)?;
    // Each version prunes by its own schema, on the way in and on the way out.
    ensure!(made["spec"] == json!({ "size": 1, "old": "x" }), "{made}");
    let seen = new.get("a").await?.ok()?;
    ensure!(seen["apiVersion"].as_str().is_some_and(|version| version.ends_with("/v2")), "{seen}");
    ensure!(
        seen["metadata"]["uid"] == made["metadata"]["uid"] && seen["spec"] == json!({ "size": 1 }),
        "{seen}"
    );
    new.create(object("a", json!({}))).await?.refused(409, "AlreadyExists")?;

    let mut watch = new.watch_from_now().await?;
    old.merge("a", json!({ "spec": { "size": 2 } })).await?.ok()?;
    let event = watch.expect("MODIFIED", "a").await?;
    ensure!(event.object["apiVersion"] == seen["apiVersion"], "{}", event.object);
    ensure!(event.object["spec"]["size"] == 2, "{}", event.object);
    let list = old.list("").await?.ok()?;
    ensure!(list["items"].as_array().is_some_and(|items| items.len() == 1), "{list}");
    ensure!(list["items"][0]["apiVersion"] == made["apiVersion"], "{list}");
    new.delete("a").await?.ok()?;
    old.get("a").await?.refused(404, "NotFound")?;
    Ok(())
}

pub(super) async fn a_version_that_is_not_served_is_not_found(cx: Cx) -> Result<()> {
    let mut body = in_two_versions(&cx);
    body["spec"]["versions"][0]["served"] = false.into();
    let new = install(&cx, body, "v2").await?;
    let old = cx.objects(&in_version(&new, "v1"));
    ensure_unknown(&old.list("").await?)?;
    ensure_unknown(&old.create(object("a", json!({}))).await?)?;
    // It may be the one that is stored all the same.
    let made = cx.objects(&new).create(object("a", json!({ "size": 1 }))).await?.is(201)?;
    ensure!(made["apiVersion"] == new.api_version, "{made}");
    Ok(())
}

pub(super) async fn stored_versions_grow_and_guard_what_is_stored(cx: Cx) -> Result<()> {
    let kind = install(&cx, in_two_versions(&cx), "v1").await?;
    let (definitions, name) = (cx.objects(&Kind::CRD), name_of(&kind));
    let mut versions = definitions.get(&name).await?.ok()?["spec"]["versions"].clone();
    versions[0]["storage"] = false.into();
    versions[1]["storage"] = true.into();
    let made = definitions.merge(&name, json!({ "spec": { "versions": versions } })).await?.ok()?;
    ensure!(made["status"]["storedVersions"] == json!(["v1", "v2"]), "{made}");
    // v1 may still be in the store: the definition must keep it until someone says otherwise.
    let without = json!({ "spec": { "versions": [versions[1]] } });
    let status = definitions.merge(&name, without.clone()).await?.refused(422, "Invalid")?;
    has_cause(&status, "status.storedVersions[0]", "FieldValueInvalid")?;
    let stored = json!({ "status": { "storedVersions": ["v2"] } });
    definitions.merge(&format!("{name}/status"), stored).await?.ok()?;
    let made = definitions.merge(&name, without).await?.ok()?;
    ensure!(made["status"]["storedVersions"] == json!(["v2"]), "{made}");
    eventually("v1 to be gone", async || Ok((cx.objects(&kind).list("").await?.status == 404).then_some(())))
        .await
}

pub(super) async fn a_deprecated_version_warns(cx: Cx) -> Result<()> {
    let mut body = in_two_versions(&cx);
    body["spec"]["versions"][0]["deprecated"] = true.into();
    body["spec"]["versions"][0]["deprecationWarning"] = "use v2".into();
    let old = install(&cx, body, "v1").await?;
    let reply = cx.objects(&old).create(object("a", json!({}))).await?;
    ensure!(reply.status == 201 && reply.header("warning") == "299 - \"use v2\"", "{:?}", reply.headers);
    ensure!(cx.objects(&old).get("a").await?.header("warning") == "299 - \"use v2\"");
    ensure!(cx.objects(&in_version(&old, "v2")).get("a").await?.header("warning").is_empty());
    Ok(())
}

pub(super) async fn objects_without_namespace_live_in_the_cluster(cx: Cx) -> Result<()> {
    let mut body = definition(&cx, "Thing", of_spec(json!({})));
    body["spec"]["scope"] = "Cluster".into();
    let kind = install(&cx, body, "v1").await?;
    let things = cx.objects(&kind);
    let made = things.create(object("a", json!({}))).await?.is(201)?;
    ensure!(made["metadata"]["namespace"].is_null(), "{made}");
    let inside = Kind { namespaced: true, ..kind };
    ensure_unknown(&cx.objects(&inside).get("a").await?)?;
    ensure_unknown(&cx.objects(&inside).create(object("b", json!({}))).await?)?;
    Ok(())
}

pub(super) async fn selectable_fields_select(cx: Cx) -> Result<()> {
    let schema = of_spec(json!({ "color": { "type": "string" }, "size": { "type": "integer" } }));
    let mut body = definition(&cx, "Thing", schema);
    body["spec"]["versions"][0]["selectableFields"] = json!([{ "jsonPath": ".spec.color" }]);
    let things = cx.objects(&install(&cx, body, "v1").await?);
    for (name, color) in [("a", "red"), ("b", "blue"), ("c", "red")] {
        things.create(object(name, json!({ "color": color, "size": 1 }))).await?.is(201)?;
    }
    things.create(object("d", json!({}))).await?.is(201)?;
    ensure!(things.names("?fieldSelector=spec.color%3Dred").await? == ["a", "c"]);
    ensure!(things.names("?fieldSelector=spec.color!%3Dred").await? == ["b", "d"]);
    ensure!(things.names("?fieldSelector=spec.color%3Dred,metadata.name%3Dc").await? == ["c"]);
    things.list("?fieldSelector=spec.size%3D1").await?.refused(400, "BadRequest")?;
    // A watch sees an object come and go as it begins and ceases to match.
    let mut watch = things.watch("fieldSelector=spec.color%3Dblue").await?;
    watch.expect("ADDED", "b").await?;
    things.merge("a", json!({ "spec": { "color": "blue" } })).await?.ok()?;
    watch.expect("ADDED", "a").await?;
    things.merge("a", json!({ "spec": { "color": "red" } })).await?.ok()?;
    watch.expect("DELETED", "a").await?;
    Ok(())
}

pub(super) async fn printer_columns_show_by_type_and_priority(cx: Cx) -> Result<()> {
    let schema = of_spec(json!({
        "size": { "type": "integer" },
        "conditions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": { "type": { "type": "string" }, "status": { "type": "string" } }
            }
        }
    }));
    let columns = json!([
        { "name": "Size", "type": "integer", "jsonPath": ".spec.size" },
        { "name": "Ready", "type": "string", "jsonPath": ".spec.conditions[?(@.type==\"Ready\")].status" },
        { "name": "Wide", "type": "string", "jsonPath": ".spec.size", "priority": 1, "description": "More." },
        { "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" }
    ]);
    let kind = cx.install_crd("Thing", schema, json!({ "additionalPrinterColumns": columns })).await?;
    let conditions = json!([{ "type": "Other", "status": "No" }, { "type": "Ready", "status": "True" }]);
    cx.objects(&kind).create(object("a", json!({ "size": 3, "conditions": conditions }))).await?.is(201)?;
    cx.objects(&kind).create(object("b", json!({}))).await?.is(201)?;
    let as_table = cx.http.with_header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    let table = cx.objects_as(&as_table, &kind).list("").await?.ok()?;
    ensure!(table["kind"] == "Table", "{table}");
    let heads: Vec<_> = table["columnDefinitions"].as_array().into_iter().flatten().collect();
    let shown: Vec<_> =
        heads.iter().map(|c| (c["name"].as_str(), c["type"].as_str(), c["priority"].as_i64())).collect();
    let head = |name, kind, priority| (Some(name), Some(kind), Some(priority));
    ensure!(
        shown
            == [
                head("Name", "string", 0),
                head("Size", "integer", 0),
                head("Ready", "string", 0),
                head("Wide", "string", 1),
                head("Age", "date", 0)
            ],
        "{table}"
    );
    let cells = &table["rows"][0]["cells"];
    ensure!(cells[0] == "a" && cells[1] == 3 && cells[2] == "True" && cells[3] == "3", "{cells}");
    // What is not there leaves its cell empty.
    let cells = &table["rows"][1]["cells"];
    ensure!(cells[0] == "b" && cells[1].is_null() && cells[4].is_string(), "{cells}");
    Ok(())
}

pub(super) async fn deleting_a_definition_deletes_its_objects(cx: Cx) -> Result<()> {
    let body = definition(&cx, "Thing", of_spec(json!({})));
    let kind = install(&cx, body.clone(), "v1").await?;
    let (definitions, things) = (cx.objects(&Kind::CRD), cx.objects(&kind));
    let old = things.create(object("a", json!({}))).await?.is(201)?;
    definitions.delete(&name_of(&kind)).await?.ok()?;
    eventually("the definition to be gone", async || {
        Ok((definitions.get(&name_of(&kind)).await?.status == 404).then_some(()))
    })
    .await?;
    eventually("the resource to be gone", async || Ok((things.list("").await?.status == 404).then_some(())))
        .await?;
    ensure_unknown(&things.get("a").await?)?;
    // The same definition starts empty.
    install(&cx, body, "v1").await?;
    ensure!(things.names("").await?.is_empty());
    let new = things.create(object("a", json!({}))).await?.is(201)?;
    ensure!(new["metadata"]["uid"] != old["metadata"]["uid"], "{new}");
    Ok(())
}

pub(super) async fn a_finalizer_holds_up_the_definitions_end(cx: Cx) -> Result<()> {
    let kind = install(&cx, definition(&cx, "Thing", of_spec(json!({}))), "v1").await?;
    let (definitions, things) = (cx.objects(&Kind::CRD), cx.objects(&kind));
    let mut held = object("held", json!({}));
    held["metadata"]["finalizers"] = json!(["anneal.dev/held"]);
    things.create(held).await?.is(201)?;
    things.create(object("free", json!({}))).await?.is(201)?;
    definitions.delete(&name_of(&kind)).await?.ok()?;
    eventually("all objects to be deleted but the held one", async || {
        let definition = definitions.get(&name_of(&kind)).await?.ok()?;
        ensure!(definition["metadata"]["deletionTimestamp"].is_string(), "{definition}");
        let held = things.get("held").await?.ok()?;
        let going =
            held["metadata"]["deletionTimestamp"].is_string() && is(&definition, "Terminating", "True");
        Ok((going && things.get("free").await?.status == 404).then_some(()))
    })
    .await?;
    things.create(object("late", json!({}))).await?.refused(403, "Forbidden")?;
    things.merge("held", json!({ "metadata": { "finalizers": null } })).await?.ok()?;
    eventually("the definition to be gone", async || {
        Ok((definitions.get(&name_of(&kind)).await?.status == 404).then_some(()))
    })
    .await
}

/// There is no such resource; upstream says so without a Status.
fn ensure_unknown(reply: &Reply) -> Result<()> {
    ensure!(reply.status == 404, "{reply}");
    Ok(())
}

fn in_two_versions(cx: &Cx) -> Value {
    let (size, text) = (json!({ "type": "integer" }), json!({ "type": "string" }));
    let mut body = definition(cx, "Thing", of_spec(json!({ "size": size, "old": text })));
    let mut second = body["spec"]["versions"][0].clone();
    second["name"] = "v2".into();
    second["storage"] = false.into();
    second["schema"]["openAPIV3Schema"] = of_spec(json!({ "size": size, "new": text }));
    body["spec"]["versions"] = json!([body["spec"]["versions"][0], second]);
    body
}
