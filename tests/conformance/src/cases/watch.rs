//! Watching: from where, what and for how long.

use std::collections::BTreeSet;

use anneal_harness::{Needs, Reply, Watch, WatchEvent};
use anyhow::{Context, Result, ensure};
use futures::future::try_join_all;
use serde_json::{Value, json};
use tokio::try_join;

use crate::{
    Case, Cx, Kind, Objects,
    case::cases,
    fixtures::{free_form, has_cause, lease, pod, version},
};

pub(super) fn cases() -> Vec<Case> {
    cases![
        Needs::API => [
            resumes_with_exactly_what_came_after_a_version,
            goes_on_where_a_list_ended,
            begins_with_what_is_there_unless_told_a_version,
            initial_events_end_with_a_bookmark,
            initial_events_of_nothing_are_a_bookmark,
            initial_events_need_a_version_match,
            initial_events_of_a_future_version_time_out,
            too_old_version_is_expired,
            future_version_shows_nothing_that_came_before,
            malformed_requests_are_refused,
            ends_cleanly_when_its_time_is_up,
            events_carry_the_object_as_the_writer_saw_it,
            deleted_carries_the_last_state_with_a_newer_version,
            recreated_object_is_deleted_then_added_with_another_uid,
            status_change_is_modified,
            entering_a_label_selector_is_added_and_leaving_it_deleted,
            initial_events_keep_to_the_selector,
            field_selector_watches_one_object,
            bound_pod_leaves_the_watch_for_unbound_ones,
            custom_resource_is_watched_like_any_other,
            sees_only_its_own_namespace,
            all_namespaces_are_seen_from_above,
            rapid_changes_all_arrive_once_and_in_order,
            every_watcher_sees_the_same_order,
            slow_watcher_misses_nothing,
            metadata_only_leaves_out_the_rest,
        ],
    ]
}

async fn resumes_with_exactly_what_came_after_a_version(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    let first = version(&leases.create(lease("a")).await?.is(201)?)?;
    let second = version(&leases.create(lease("b")).await?.is(201)?)?;
    let third = version(&hold(&leases, "a", "1").await?)?;
    leases.delete("b").await?.is(200)?;
    let all = [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")];
    for (from, skipped) in [(first, 0), (second, 1), (third, 2)] {
        let mut watch = leases.watch(&format!("resourceVersion={from}")).await?;
        for (kind, name) in &all[skipped..] {
            watch.expect(kind, name).await?;
        }
        let mark = version(&hold(&leases, "a", &format!("after {from}")).await?)?;
        // What the later watches will see besides: the marks of the earlier ones.
        while version(&watch.expect("MODIFIED", "a").await?.object)? < mark {}
    }
    Ok(())
}

async fn goes_on_where_a_list_ended(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    leases.create(lease("a")).await?.is(201)?;
    let list = leases.list("").await?.ok()?;
    leases.create(lease("b")).await?.is(201)?;
    let mut watch = leases.watch(&format!("resourceVersion={}", version(&list)?)).await?;
    watch.expect("ADDED", "b").await?;
    hold(&leases, "a", "1").await?;
    watch.expect("MODIFIED", "a").await?;
    Ok(())
}

async fn begins_with_what_is_there_unless_told_a_version(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    for name in ["a", "b", "c"] {
        leases.create(lease(name)).await?.is(201)?;
    }
    let held = hold(&leases, "b", "1").await?;
    leases.delete("c").await?.is(200)?;
    let mut watch = leases.watch("").await?;
    let mut seen = BTreeSet::new();
    for _ in 0..2 {
        let event = watch.next().await?;
        ensure!(event.kind == "ADDED", "{event:?}");
        ensure!(event.name() != "b" || event.object == held, "{event:?}");
        seen.insert(event.name().to_owned());
    }
    ensure!(seen.iter().eq(["a", "b"]), "{seen:?}");
    let held = version(&hold(&leases, "a", "2").await?)?;
    ensure!(version(&watch.expect("MODIFIED", "a").await?.object)? == held);

    // Version 0 may begin with a past, but goes on from there.
    let mut watch = leases.watch("resourceVersion=0").await?;
    let first = watch.next().await?;
    ensure!(first.kind == "ADDED", "{first:?}");
    let held = version(&hold(&leases, "b", "3").await?)?;
    while version(&watch.next().await?.object)? != held {}
    Ok(())
}

async fn initial_events_end_with_a_bookmark(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    let mut newest = 0;
    for name in ["a", "b"] {
        newest = version(&leases.create(lease(name)).await?.is(201)?)?;
    }
    let mut watch = leases.watch(INITIAL_EVENTS).await?;
    let mut seen = BTreeSet::new();
    for _ in 0..2 {
        let event = watch.next_or_bookmark().await?;
        ensure!(event.kind == "ADDED", "{event:?}");
        seen.insert(event.name().to_owned());
    }
    ensure!(seen.len() == 2, "{seen:?}");
    let end = end_of_initial_events(&mut watch).await?;
    ensure!(end >= newest, "the bookmark is older than what it follows");
    hold(&leases, "a", "1").await?;
    watch.expect("MODIFIED", "a").await?;
    // The bookmark's version is one to resume from.
    leases.watch(&format!("resourceVersion={end}")).await?.expect("MODIFIED", "a").await?;
    Ok(())
}

async fn initial_events_of_nothing_are_a_bookmark(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    let mut watch = leases.watch(INITIAL_EVENTS).await?;
    end_of_initial_events(&mut watch).await?;
    leases.create(lease("a")).await?.is(201)?;
    watch.expect("ADDED", "a").await?;
    Ok(())
}

async fn initial_events_need_a_version_match(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    for query in [
        "sendInitialEvents=true",
        "sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=Exact&resourceVersion=1",
        "resourceVersionMatch=NotOlderThan&resourceVersion=1",
    ] {
        let status = refusal(&leases, query).await?.refused(422, "Invalid")?;
        has_cause(&status, "resourceVersionMatch", "FieldValueForbidden")?;
    }
    Ok(())
}

async fn initial_events_of_a_future_version_time_out(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    let future = version(&leases.list("").await?.ok()?)? + FAR_AHEAD;
    let mut watch = leases.watch(&format!("{INITIAL_EVENTS}&resourceVersion={future}")).await?;
    let event = watch.next_or_bookmark().await?;
    ensure!(event.kind == "ERROR", "{event:?}");
    let status = &event.object;
    ensure!(status["kind"] == "Status" && status["code"] == 504 && status["reason"] == "Timeout", "{status}");
    // Clients know by this cause that the server may catch up.
    ensure!(status["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge", "{status}");
    Ok(())
}

async fn too_old_version_is_expired(cx: Cx) -> Result<()> {
    // Nobody has kept what came before the kind itself.
    let things = cx.objects(&cx.install_crd("Thing", free_form(), json!({})).await?);
    things.create(json!({ "metadata": { "name": "a" } })).await?.is(201)?;
    let mut watch = things.watch("resourceVersion=1").await?;
    let event = watch.next_or_bookmark().await?;
    ensure!(event.kind == "ERROR", "{event:?}");
    let status = &event.object;
    ensure!(status["kind"] == "Status" && status["status"] == "Failure", "{status}");
    ensure!(status["code"] == 410 && status["reason"] == "Expired", "{status}");
    ensure!(watch.next_or_end().await?.is_none(), "the watch goes on after its error");
    // Which a new list mends.
    let mut watch = things.watch_from_now().await?;
    things.create(json!({ "metadata": { "name": "b" } })).await?.is(201)?;
    watch.expect("ADDED", "b").await?;
    Ok(())
}

async fn future_version_shows_nothing_that_came_before(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    let future = version(&leases.create(lease("a")).await?.is(201)?)? + FAR_AHEAD;
    let mut watch = leases.watch(&format!("resourceVersion={future}&timeoutSeconds=1")).await?;
    leases.create(lease("b")).await?.is(201)?;
    let event = watch.next_or_end().await?;
    ensure!(event.is_none(), "{event:?}");
    Ok(())
}

async fn malformed_requests_are_refused(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    for query in ["labelSelector=a%20b", "fieldSelector=spec.holderIdentity%3Da", "timeoutSeconds=abc"] {
        refusal(&leases, query).await?.refused(400, "BadRequest")?;
    }
    // Upstream calls a version that is no number an internal error; what counts is that it is one.
    let reply = refusal(&leases, "resourceVersion=abc").await?;
    ensure!(matches!(reply.status, 400 | 500) && reply.json()?["status"] == "Failure", "{reply}");
    Ok(())
}

async fn ends_cleanly_when_its_time_is_up(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    leases.create(lease("a")).await?.is(201)?;
    let mut watch = leases.watch("timeoutSeconds=1").await?;
    watch.expect("ADDED", "a").await?;
    let event = watch.next_or_end().await?;
    ensure!(event.is_none(), "{event:?}");
    Ok(())
}

async fn events_carry_the_object_as_the_writer_saw_it(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    let mut watch = leases.watch_from_now().await?;
    let made = leases.create(lease("a")).await?.is(201)?;
    let added = watch.expect("ADDED", "a").await?.object;
    ensure!(added == made, "created {made}, watched {added}");
    ensure!(added["kind"] == "Lease" && added["apiVersion"] == Kind::LEASE.api_version, "{added}");
    let held = hold(&leases, "a", "1").await?;
    let modified = watch.expect("MODIFIED", "a").await?.object;
    ensure!(modified == held, "patched {held}, watched {modified}");
    Ok(())
}

async fn deleted_carries_the_last_state_with_a_newer_version(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    leases.create(lease("a")).await?.is(201)?;
    let last = hold(&leases, "a", "last").await?;
    let mut watch = leases.watch(&format!("resourceVersion={}", version(&last)?)).await?;
    leases.delete("a").await?.is(200)?;
    let deleted = watch.expect("DELETED", "a").await?.object;
    ensure!(deleted["kind"] == "Lease" && deleted["spec"] == last["spec"], "{deleted}");
    ensure!(deleted["metadata"]["uid"] == last["metadata"]["uid"], "{deleted}");
    ensure!(version(&deleted)? > version(&last)?, "{deleted}");
    // Resuming from there does not show it again.
    let mut watch = leases.watch(&format!("resourceVersion={}", version(&deleted)?)).await?;
    leases.create(lease("b")).await?.is(201)?;
    watch.expect("ADDED", "b").await?;
    Ok(())
}

async fn recreated_object_is_deleted_then_added_with_another_uid(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    let first = leases.create(lease("a")).await?.is(201)?;
    leases.delete("a").await?.is(200)?;
    let second = leases.create(lease("a")).await?.is(201)?;
    ensure!(first["metadata"]["uid"] != second["metadata"]["uid"], "{second}");
    let mut watch = leases.watch(&format!("resourceVersion={}", version(&first)?)).await?;
    let deleted = watch.expect("DELETED", "a").await?.object;
    ensure!(deleted["metadata"]["uid"] == first["metadata"]["uid"], "{deleted}");
    ensure!(watch.expect("ADDED", "a").await?.object == second);
    Ok(())
}

async fn status_change_is_modified(cx: Cx) -> Result<()> {
    let (pods, node) = (cx.objects(&Kind::POD), cx.node().await?);
    pods.create(pod("a")).await?.is(201)?;
    node.bind("a").await?;
    let mut watch = pods.watch_from_now().await?;
    let status = node.status("a", json!({ "phase": "Running" })).await?;
    let event = watch.expect("MODIFIED", "a").await?;
    ensure!(event.object == status && status["status"]["phase"] == "Running", "{event:?}");
    Ok(())
}

async fn entering_a_label_selector_is_added_and_leaving_it_deleted(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    let paint = async |name: &str, colour: Value| {
        leases.merge(name, json!({ "metadata": { "labels": { "colour": colour } } })).await?.is(200)
    };
    let first = version(&leases.create(lease("a")).await?.is(201)?)?;
    let mut watch = leases.watch(&format!("labelSelector=colour%3Dred&resourceVersion={first}")).await?;
    leases.create(lease("other")).await?.is(201)?;
    let red = paint("a", "red".into()).await?;
    ensure!(watch.expect("ADDED", "a").await?.object == red);
    let held = hold(&leases, "a", "1").await?;
    ensure!(watch.expect("MODIFIED", "a").await?.object == held);
    let blue = paint("a", "blue".into()).await?;
    // It goes as it last was in the selection, but with the version of the change that took it out.
    let gone = watch.expect("DELETED", "a").await?.object;
    ensure!(gone["metadata"]["labels"]["colour"] == "red", "{gone}");
    ensure!(version(&gone)? == version(&blue)?, "{gone}");
    hold(&leases, "a", "2").await?;
    leases.delete("a").await?.is(200)?;
    // Nothing of what happened outside the selection is seen before this.
    paint("other", "red".into()).await?;
    watch.expect("ADDED", "other").await?;
    leases.delete("other").await?.is(200)?;
    watch.expect("DELETED", "other").await?;
    Ok(())
}

async fn initial_events_keep_to_the_selector(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    for (name, colour) in [("a", "blue"), ("b", "red"), ("c", "blue")] {
        let mut body = lease(name);
        body["metadata"]["labels"] = json!({ "colour": colour });
        leases.create(body).await?.is(201)?;
    }
    let mut watch = leases.watch(&format!("{INITIAL_EVENTS}&labelSelector=colour%3Dred")).await?;
    ensure!(watch.next_or_bookmark().await?.name() == "b");
    end_of_initial_events(&mut watch).await?;
    Ok(())
}

async fn field_selector_watches_one_object(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    leases.create(lease("a")).await?.is(201)?;
    leases.create(lease("b")).await?.is(201)?;
    let mut watch = leases.watch("fieldSelector=metadata.name%3Db").await?;
    watch.expect("ADDED", "b").await?;
    hold(&leases, "a", "1").await?;
    leases.create(lease("c")).await?.is(201)?;
    hold(&leases, "b", "1").await?;
    watch.expect("MODIFIED", "b").await?;
    leases.delete("a").await?.is(200)?;
    leases.delete("b").await?.is(200)?;
    watch.expect("DELETED", "b").await?;
    Ok(())
}

async fn bound_pod_leaves_the_watch_for_unbound_ones(cx: Cx) -> Result<()> {
    let (pods, node) = (cx.objects(&Kind::POD), cx.node().await?);
    let made = version(&pods.create(pod("a")).await?.is(201)?)?;
    let selected =
        async |selector: &str| pods.watch(&format!("fieldSelector={selector}&resourceVersion={made}")).await;
    let mut scheduler = selected("spec.nodeName%3D").await?;
    let mut kubelet = selected(&format!("spec.nodeName%3D{}", cx.namespace)).await?;
    node.bind("a").await?;
    scheduler.expect("DELETED", "a").await?;
    let added = kubelet.expect("ADDED", "a").await?.object;
    ensure!(added["spec"]["nodeName"] == cx.namespace, "{added}");
    Ok(())
}

async fn custom_resource_is_watched_like_any_other(cx: Cx) -> Result<()> {
    let kind = cx.install_crd("Thing", free_form(), json!({})).await?;
    let things = cx.objects(&kind);
    let mut watch = things.watch(INITIAL_EVENTS).await?;
    end_of_initial_events(&mut watch).await?;
    let made = things.create(json!({ "metadata": { "name": "a" }, "spec": { "size": 1 } })).await?.is(201)?;
    ensure!(watch.expect("ADDED", "a").await?.object == made && made["kind"] == "Thing");
    let changed = things.merge("a", json!({ "spec": { "size": 2 } })).await?.is(200)?;
    ensure!(watch.expect("MODIFIED", "a").await?.object == changed);
    things.delete("a").await?.is(200)?;
    ensure!(version(&watch.expect("DELETED", "a").await?.object)? > version(&changed)?);
    Ok(())
}

async fn sees_only_its_own_namespace(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    let elsewhere = second_namespace(&cx).await?;
    let mut watch = leases.watch_from_now().await?;
    create_in(&cx, &elsewhere, "a").await?;
    leases.create(lease("b")).await?.is(201)?;
    watch.expect("ADDED", "b").await?;
    Ok(())
}

async fn all_namespaces_are_seen_from_above(cx: Cx) -> Result<()> {
    let elsewhere = second_namespace(&cx).await?;
    let from = version(&cx.objects(&Kind::LEASE).list("").await?.ok()?)?;
    let query = format!("labelSelector=case%3D{}&resourceVersion={from}", cx.namespace);
    let mut watch = cx.http.watch("/apis/coordination.k8s.io/v1/leases", &query).await?;
    for namespace in [&cx.namespace, &elsewhere, &cx.namespace] {
        let name = format!("in-{namespace}");
        create_in(&cx, namespace, &name).await?;
        let added = watch.expect("ADDED", &name).await?.object;
        ensure!(added["metadata"]["namespace"] == **namespace, "{added}");
        cx.http.delete(&format!("{}/{name}", Kind::LEASE.path(namespace)), &Value::Null).await?.is(200)?;
        watch.expect("DELETED", &name).await?;
    }
    Ok(())
}

async fn rapid_changes_all_arrive_once_and_in_order(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    let mut watch = leases.watch_from_now().await?;
    let (mut written, events) = try_join!(write_from_many_tasks(&leases), take(&mut watch, WRITES))?;
    written.sort();
    let mut seen = Vec::new();
    for event in events {
        let wanted = if event.object["spec"]["holderIdentity"] == "first" { "ADDED" } else { "MODIFIED" };
        ensure!(event.kind == wanted, "{event:?}");
        seen.push((version(&event.object)?, event.name().to_owned()));
    }
    // In the order of versions, and therefore as they were written.
    ensure!(seen == written, "written {written:?}, watched {seen:?}");
    leases.create(lease("marker")).await?.is(201)?;
    watch.expect("ADDED", "marker").await?;
    Ok(())
}

async fn every_watcher_sees_the_same_order(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    let from = version(&leases.list("").await?.ok()?)?;
    let mut early = leases.watch(&format!("resourceVersion={from}")).await?;
    let (_, early) = try_join!(write_from_many_tasks(&leases), take(&mut early, WRITES))?;
    let mut late = leases.watch(&format!("resourceVersion={from}")).await?;
    let late = take(&mut late, WRITES).await?;
    for (one, other) in early.iter().zip(&late) {
        ensure!(one.kind == other.kind && one.object == other.object, "{one:?} is not {other:?}");
    }
    Ok(())
}

async fn slow_watcher_misses_nothing(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    let mut last = version(&leases.list("").await?.ok()?)?;
    let mut watch = leases.watch(&format!("resourceVersion={last}")).await?;
    // More than a connection holds by itself, all written before the first event is read.
    let padding = "x".repeat(100_000);
    let mut written = Vec::new();
    for number in 0..40 {
        let mut body = lease(&format!("a-{number:02}"));
        body["metadata"]["annotations"] = json!({ "padding": padding });
        written.push(version(&leases.create(body).await?.is(201)?)?);
    }
    let mut seen = Vec::new();
    while seen.len() < written.len() {
        // A server may lose patience, but then it ends the watch and lets it be resumed.
        let Some(event) = watch.next_or_end().await? else {
            watch = leases.watch(&format!("resourceVersion={last}")).await?;
            continue;
        };
        ensure!(event.kind == "ADDED", "{} {}", event.kind, event.name());
        last = version(&event.object)?;
        seen.push(last);
    }
    ensure!(seen == written, "written {written:?}, watched {seen:?}");
    Ok(())
}

async fn metadata_only_leaves_out_the_rest(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    let partial =
        cx.http.with_header("accept", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io");
    let mut watch = cx.objects_as(&partial, &Kind::LEASE).watch(INITIAL_EVENTS).await?;
    end_of_initial_events(&mut watch).await?;
    let made = leases.create(lease("a")).await?.is(201)?;
    let event = watch.expect("ADDED", "a").await?;
    ensure!(event.object["kind"] == "PartialObjectMetadata", "{event:?}");
    ensure!(event.object["apiVersion"] == "meta.k8s.io/v1", "{event:?}");
    ensure!(event.object["metadata"] == made["metadata"] && event.object["spec"].is_null(), "{event:?}");
    // A change of what is left out is a change all the same.
    let held = hold(&leases, "a", "1").await?;
    ensure!(watch.expect("MODIFIED", "a").await?.version() == held["metadata"]["resourceVersion"]);
    leases.delete("a").await?.is(200)?;
    ensure!(watch.expect("DELETED", "a").await?.object["kind"] == "PartialObjectMetadata");
    Ok(())
}

/// What informers ask for: everything there is, then a bookmark, then what happens.
const INITIAL_EVENTS: &str =
    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

/// Further than any run of the suite gets.
const FAR_AHEAD: u64 = 1_000_000_000;

/// A Lease: unlike ConfigMaps, none appear in a namespace by themselves.
async fn hold(leases: &Objects, name: &str, holder: &str) -> Result<Value> {
    leases.merge(name, json!({ "spec": { "holderIdentity": holder } })).await?.is(200)
}

/// The version of the bookmark that must come next.
async fn end_of_initial_events(watch: &mut Watch) -> Result<u64> {
    let event = watch.next_or_bookmark().await?;
    let metadata = &event.object["metadata"];
    ensure!(event.kind == "BOOKMARK", "{event:?}");
    ensure!(metadata["annotations"]["k8s.io/initial-events-end"] == "true", "{event:?}");
    ensure!(!event.object["kind"].is_null() && metadata["name"].is_null(), "{event:?}");
    version(&event.object)
}

/// The answer to a watch that should not begin.
async fn refusal(objects: &Objects, query: &str) -> Result<Reply> {
    objects.list(&format!("?watch=true&{query}")).await
}

async fn second_namespace(cx: &Cx) -> Result<String> {
    let second = cx.server.temp_namespace().await?.name;
    cx.delete_later(format!("/api/v1/namespaces/{second}"));
    Ok(second)
}

/// Creates a Lease anywhere, labelled as the case's.
async fn create_in(cx: &Cx, namespace: &str, name: &str) -> Result<()> {
    let mut body = lease(name);
    body["apiVersion"] = Kind::LEASE.api_version.into();
    body["kind"] = Kind::LEASE.kind.into();
    body["metadata"]["labels"] = json!({ "case": cx.namespace });
    cx.http.post(&Kind::LEASE.path(namespace), &body).await?.is(201)?;
    Ok(())
}

const WRITERS: usize = 5;
const WRITES: usize = WRITERS * 41;

/// Tasks that each make a Lease and change it forty times; versions and names as answered.
async fn write_from_many_tasks(leases: &Objects) -> Result<Vec<(u64, String)>> {
    let tasks = (0..WRITERS).map(|task| {
        let leases = leases.clone();
        tokio::spawn(async move {
            let name = format!("a-{task}");
            let made = leases.create(lease(&name)).await?.is(201)?;
            let mut written = vec![(version(&made)?, name.clone())];
            for change in 0..40 {
                let held = hold(&leases, &name, &change.to_string()).await?;
                written.push((version(&held)?, name.clone()));
            }
            Ok(written)
        })
    });
    let written = try_join_all(tasks).await.context("a writer")?;
    Ok(written.into_iter().collect::<Result<Vec<_>>>()?.concat())
}

/// The next so many events.
async fn take(watch: &mut Watch, count: usize) -> Result<Vec<WatchEvent>> {
    let mut events = Vec::new();
    while events.len() < count {
        events.push(watch.next().await?);
    }
    Ok(events)
}
