//! Events in both their groups.

use anneal_harness::Needs;
use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::{Case, Cx, Kind, case::cases, fixtures::has_cause};

pub(super) fn cases() -> Vec<Case> {
    cases![
        Needs::API => [
            a_new_event_is_a_core_event_too,
            a_core_event_is_a_new_event_too,
            one_delete_removes_it_from_both_groups,
            a_new_event_must_be_whole,
            texts_of_a_new_event_are_bounded,
            only_the_series_of_a_new_event_changes,
            a_core_event_may_be_counted_up,
            an_event_lives_where_its_object_does,
            field_selectors_find_the_events_of_an_object,
            a_collection_is_deleted_by_field,
        ],
    ]
}

async fn a_new_event_is_a_core_event_too(cx: Cx) -> Result<()> {
    let made = cx.objects(&Kind::EVENT).create(event(&cx, "a")).await?.is(201)?;
    let core = cx.objects(&Kind::CORE_EVENT).get("a").await?.ok()?;
    ensure!(core["apiVersion"] == "v1" && core["kind"] == "Event", "{core}");
    ensure!(core["metadata"]["uid"] == made["metadata"]["uid"], "{core}");
    ensure!(core["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"], "{core}");
    let names = [
        ("regarding", "involvedObject"),
        ("note", "message"),
        ("reportingController", "reportingComponent"),
        ("reportingInstance", "reportingInstance"),
        ("reason", "reason"),
        ("type", "type"),
        ("action", "action"),
        ("eventTime", "eventTime"),
        ("series", "series"),
        ("related", "related"),
    ];
    let given = event(&cx, "a");
    for (new, old) in names {
        ensure!(made[new] == given[new] && core[old] == given[new], "{new} is {old}: {made} {core}");
    }
    for field in ["regarding", "note", "reportingController"] {
        ensure!(core[field].is_null(), "{field}: {core}");
    }
    for field in ["firstTimestamp", "lastTimestamp", "count"] {
        ensure!(core[field].is_null(), "{field}: {core}");
    }
    Ok(())
}

async fn a_core_event_is_a_new_event_too(cx: Cx) -> Result<()> {
    let given = core_event(&cx, "a", "web");
    cx.objects(&Kind::CORE_EVENT).create(given.clone()).await?.is(201)?;
    let new = cx.objects(&Kind::EVENT).get("a").await?.ok()?;
    ensure!(new["apiVersion"] == "events.k8s.io/v1" && new["kind"] == "Event", "{new}");
    let names = [
        ("involvedObject", "regarding"),
        ("message", "note"),
        ("reason", "reason"),
        ("type", "type"),
        ("source", "deprecatedSource"),
        ("firstTimestamp", "deprecatedFirstTimestamp"),
        ("lastTimestamp", "deprecatedLastTimestamp"),
        ("count", "deprecatedCount"),
    ];
    for (old, name) in names {
        ensure!(new[name] == given[old], "{old} is {name}: {new}");
    }
    ensure!(new["eventTime"].is_null() && new["series"].is_null(), "{new}");
    let list = cx.objects(&Kind::EVENT).list("").await?.ok()?;
    ensure!(list["kind"] == "EventList" && list["items"][0]["note"] == given["message"], "{list}");
    Ok(())
}

async fn one_delete_removes_it_from_both_groups(cx: Cx) -> Result<()> {
    let (new, core) = (cx.objects(&Kind::EVENT), cx.objects(&Kind::CORE_EVENT));
    let mut watch = core.watch_from_now().await?;
    new.create(event(&cx, "a")).await?.is(201)?;
    core.create(core_event(&cx, "a", "web")).await?.refused(409, "AlreadyExists")?;
    let seen = watch.expect("ADDED", "a").await?;
    ensure!(seen.object["apiVersion"] == "v1" && seen.object["message"] == "hello", "{}", seen.object);
    new.delete("a").await?.ok()?;
    watch.expect("DELETED", "a").await?;
    core.get("a").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn a_new_event_must_be_whole(cx: Cx) -> Result<()> {
    let events = cx.objects(&Kind::EVENT);
    for field in ["reportingController", "reportingInstance", "action", "reason", "eventTime"] {
        let mut body = event(&cx, "a");
        body[field] = Value::Null;
        let status = events.create(body).await?.refused(422, "Invalid")?;
        has_cause(&status, field, "FieldValueRequired")?;
    }
    for kind in [json!("Odd"), Value::Null] {
        let mut body = event(&cx, "a");
        body["type"] = kind;
        let status = events.create(body).await?.refused(422, "Invalid")?;
        has_cause(&status, "type", "FieldValueInvalid")?;
    }
    // The deprecated fields are for events of the old group only.
    for (field, value) in [("deprecatedCount", json!(2)), ("deprecatedSource", json!({ "component": "a" }))] {
        let mut body = event(&cx, "a");
        body[field] = value;
        events.create(body).await?.refused(422, "Invalid")?;
    }
    // The old group asks for none of it.
    let bare = json!({
        "metadata": { "name": "a" },
        "involvedObject": { "kind": "Pod", "name": "web", "namespace": cx.namespace }
    });
    cx.objects(&Kind::CORE_EVENT).create(bare).await?.is(201)?;
    Ok(())
}

async fn texts_of_a_new_event_are_bounded(cx: Cx) -> Result<()> {
    let events = cx.objects(&Kind::EVENT);
    // The note's fault goes by its name inside the server.
    let bounds = [
        ("note", "message", 1024),
        ("action", "action", 128),
        ("reason", "reason", 128),
        ("reportingInstance", "reportingInstance", 128),
    ];
    for (field, named, limit) in bounds {
        let mut body = event(&cx, "a");
        body[field] = "x".repeat(limit + 1).into();
        let status = events.create(body.clone()).await?.refused(422, "Invalid")?;
        has_cause(&status, named, "FieldValueInvalid")?;
        body[field] = "x".repeat(limit).into();
        events.create_with("?dryRun=All", body).await?.is(201)?;
    }
    let mut body = event(&cx, "a");
    body["reportingController"] = "not a name".into();
    let status = events.create(body).await?.refused(422, "Invalid")?;
    has_cause(&status, "reportingController", "FieldValueInvalid")
}

async fn only_the_series_of_a_new_event_changes(cx: Cx) -> Result<()> {
    let events = cx.objects(&Kind::EVENT);
    events.create(event(&cx, "a")).await?.is(201)?;
    let fixed = [
        json!({ "note": "other" }),
        json!({ "reason": "Other" }),
        json!({ "action": "Other" }),
        json!({ "type": "Warning" }),
        json!({ "regarding": { "name": "other" } }),
        json!({ "related": { "name": "other" } }),
        json!({ "reportingController": "other.dev/other" }),
        json!({ "reportingInstance": "other" }),
        json!({ "eventTime": "2026-01-02T03:04:05.123457Z" }),
    ];
    for patch in fixed {
        let reply = events.merge("a", patch.clone()).await?;
        ensure!(reply.status == 422, "{patch}: {reply}");
    }
    let series = json!({ "count": 5, "lastObservedTime": "2026-01-02T03:06:05.000002Z" });
    let changed = events.merge("a", json!({ "series": series })).await?.ok()?;
    ensure!(changed["series"] == series, "{changed}");
    ensure!(cx.objects(&Kind::CORE_EVENT).get("a").await?.ok()?["series"] == series);
    events.merge("a", json!({ "series": { "count": 1 } })).await?.refused(422, "Invalid")?;
    events.merge("a", json!({ "metadata": { "labels": { "a": "b" } } })).await?.ok()?;
    Ok(())
}

async fn a_core_event_may_be_counted_up(cx: Cx) -> Result<()> {
    let events = cx.objects(&Kind::CORE_EVENT);
    events.create(core_event(&cx, "a", "web")).await?.is(201)?;
    let patch = json!({ "count": 4, "lastTimestamp": "2026-01-02T03:07:05Z", "message": "again" });
    let changed = events.merge("a", patch).await?.ok()?;
    ensure!(changed["count"] == 4 && changed["message"] == "again", "{changed}");
    ensure!(changed["firstTimestamp"] == "2026-01-02T03:04:05Z", "{changed}");
    ensure!(changed["lastTimestamp"] == "2026-01-02T03:07:05Z", "{changed}");
    let mut stale = core_event(&cx, "a", "web");
    stale["metadata"]["resourceVersion"] = "1".into();
    events.update("a", &stale).await?.refused(409, "Conflict")?;
    Ok(())
}

async fn an_event_lives_where_its_object_does(cx: Cx) -> Result<()> {
    let events = cx.objects(&Kind::CORE_EVENT);
    for namespace in [json!("elsewhere"), Value::Null] {
        let mut body = core_event(&cx, "a", "web");
        body["involvedObject"]["namespace"] = namespace;
        let status = events.create(body).await?.refused(422, "Invalid")?;
        has_cause(&status, "involvedObject.namespace", "FieldValueInvalid")?;
    }
    // What lives in no namespace has its events in the default one.
    let name = cx.unique("node");
    let path = Kind::CORE_EVENT.path("default");
    cx.delete_later(format!("{path}/{name}"));
    let body = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": { "name": name },
        "involvedObject": { "kind": "Node", "name": name }
    });
    cx.http.post(&path, &body).await?.is(201)?;
    Ok(())
}

async fn field_selectors_find_the_events_of_an_object(cx: Cx) -> Result<()> {
    let core = cx.objects(&Kind::CORE_EVENT);
    core.create(core_event(&cx, "a", "web")).await?.is(201)?;
    core.create(core_event(&cx, "b", "db")).await?.is(201)?;
    cx.objects(&Kind::EVENT).create(event(&cx, "c")).await?.is(201)?;
    let selectors = [
        ("involvedObject.name=web", vec!["a", "c"]),
        ("involvedObject.uid=uid-of-db", vec!["b"]),
        ("involvedObject.kind=Pod", vec!["a", "b", "c"]),
        ("involvedObject.kind=Node", vec![]),
        ("reason=Because", vec!["c"]),
        ("type=Warning", vec!["a", "b"]),
        ("type!=Warning", vec!["c"]),
        ("source=kubelet", vec!["a", "b"]),
        ("reportingComponent=anneal.dev/test", vec!["c"]),
        ("involvedObject.name=web,type=Warning", vec!["a"]),
    ];
    for (selector, names) in selectors {
        let query = format!("?fieldSelector={}", selector.replace('=', "%3D"));
        ensure!(core.names(&query).await? == names, "{selector}");
    }
    core.list("?fieldSelector=message%3Dhello").await?.refused(400, "BadRequest")?;
    let new = cx.objects(&Kind::EVENT);
    ensure!(new.names("?fieldSelector=regarding.name%3Dweb").await? == ["a", "c"]);
    new.list("?fieldSelector=involvedObject.name%3Dweb").await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn a_collection_is_deleted_by_field(cx: Cx) -> Result<()> {
    let events = cx.objects(&Kind::CORE_EVENT);
    for (name, pod) in [("a", "web"), ("b", "db"), ("c", "web")] {
        events.create(core_event(&cx, name, pod)).await?.is(201)?;
    }
    events.delete_all("?fieldSelector=involvedObject.name%3Dweb").await?.ok()?;
    ensure!(events.names("").await? == ["b"]);
    Ok(())
}

fn event(cx: &Cx, name: &str) -> Value {
    json!({
        "metadata": { "name": name },
        "eventTime": "2026-01-02T03:04:05.123456Z",
        "reportingController": "anneal.dev/test",
        "reportingInstance": "test-1",
        "action": "Testing",
        "reason": "Because",
        "type": "Normal",
        "note": "hello",
        "regarding": {
            "apiVersion": "v1", "kind": "Pod", "name": "web", "namespace": cx.namespace, "uid": "uid-of-web"
        },
        "related": { "kind": "Node", "name": "node" },
        "series": { "count": 4, "lastObservedTime": "2026-01-02T03:05:05.000001Z" }
    })
}

fn core_event(cx: &Cx, name: &str, pod: &str) -> Value {
    json!({
        "metadata": { "name": name },
        "involvedObject": {
            "apiVersion": "v1", "kind": "Pod", "name": pod, "namespace": cx.namespace,
            "uid": format!("uid-of-{pod}")
        },
        "reason": "Pulled",
        "message": "pulled",
        "source": { "component": "kubelet", "host": "node" },
        "firstTimestamp": "2026-01-02T03:04:05Z",
        "lastTimestamp": "2026-01-02T03:06:05Z",
        "count": 3,
        "type": "Warning"
    })
}
