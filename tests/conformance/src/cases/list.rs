//! Listing: paging, selectors and versions.

use anneal_harness::{Needs, eventually};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::{
    Case, Cx, Kind, Objects,
    case::cases,
    fixtures::{free_form, has_cause, lease, pod, version},
};

pub(super) fn cases() -> Vec<Case> {
    cases![
        Needs::API => [
            empty_list_has_kind_version_and_no_items,
            items_come_in_order_of_names_and_do_not_repeat_their_kind,
            items_of_a_custom_resource_name_their_kind,
            sees_every_write_that_was_answered,
            all_namespaces_are_seen_from_above,
            pages_walk_everything_once_in_order,
            pages_show_one_snapshot,
            pages_of_a_selection_count_nothing_ahead,
            pages_of_all_namespaces_cross_their_borders,
            malformed_continue_token_is_refused,
            label_selectors_choose_items,
            malformed_label_selector_is_refused,
            field_selectors_choose_by_name_and_namespace,
            pods_are_chosen_by_phase_and_node,
            secrets_are_chosen_by_type,
            unknown_field_selector_is_refused,
            exact_version_shows_the_past,
            not_older_than_waits_for_the_version,
            future_version_is_a_timeout,
            version_zero_is_served_from_what_is_at_hand,
            version_match_must_make_sense,
            malformed_numbers_are_refused,
        ],
    ]
}

async fn empty_list_has_kind_version_and_no_items(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE).list("").await?.is(200)?;
    ensure!(leases["kind"] == "LeaseList" && leases["apiVersion"] == Kind::LEASE.api_version, "{leases}");
    ensure!(leases["items"] == json!([]) && version(&leases)? > 0, "{leases}");
    ensure!(leases["metadata"]["continue"].is_null(), "{leases}");
    let nowhere = cx.http.get(&Kind::SECRET.path("no-such-namespace")).await?.is(200)?;
    ensure!(nowhere["kind"] == "SecretList" && nowhere["items"] == json!([]), "{nowhere}");
    Ok(())
}

async fn items_come_in_order_of_names_and_do_not_repeat_their_kind(cx: Cx) -> Result<()> {
    let leases = some_leases(&cx, &["c", "a", "b-1", "b", "b.1"]).await?;
    ensure!(leases.names("").await? == ["a", "b", "b-1", "b.1", "c"], "{:?}", leases.names("").await?);
    let list = leases.list("").await?.ok()?;
    for item in items(&list) {
        ensure!(item["kind"].is_null() && item["apiVersion"].is_null(), "{item}");
        ensure!(version(item)? <= version(&list)?, "an item is newer than its list: {list}");
    }
    Ok(())
}

async fn items_of_a_custom_resource_name_their_kind(cx: Cx) -> Result<()> {
    let kind = cx.install_crd("Thing", free_form(), json!({})).await?;
    let things = cx.objects(&kind);
    let list = things.list("").await?.ok()?;
    ensure!(list["kind"] == "ThingList" && list["apiVersion"] == kind.api_version, "{list}");
    ensure!(list["items"] == json!([]), "{list}");
    for name in ["b", "a"] {
        things.create(json!({ "metadata": { "name": name } })).await?.is(201)?;
    }
    let list = things.list("").await?.ok()?;
    ensure!(
        items(&list).iter().all(|i| i["kind"] == "Thing" && i["apiVersion"] == kind.api_version),
        "{list}"
    );
    ensure!(things.names("").await? == ["a", "b"]);
    ensure!(things.names("?fieldSelector=metadata.name%3Db").await? == ["b"]);
    things.list("?fieldSelector=spec.size%3D1").await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn sees_every_write_that_was_answered(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    for number in 0..20 {
        let name = format!("a-{number:02}");
        let made = leases.create(lease(&name)).await?.is(201)?;
        let list = leases.list("").await?.ok()?;
        ensure!(items(&list).len() == number + 1 && version(&list)? >= version(&made)?, "{name}: {list}");
    }
    for number in (0..20).rev() {
        leases.delete(&format!("a-{number:02}")).await?.is(200)?;
        ensure!(leases.names("").await?.len() == number);
    }
    Ok(())
}

async fn all_namespaces_are_seen_from_above(cx: Cx) -> Result<()> {
    let (first, second) = two_namespaces(&cx).await?;
    let list = cx.http.get(&format!("{ALL_LEASES}?labelSelector=case%3D{}", cx.namespace)).await?.is(200)?;
    let seen: Vec<_> = items(&list).iter().map(place).collect();
    let mut wanted: Vec<_> = [&first, &second]
        .into_iter()
        .flat_map(|namespace| ["a", "b"].map(|name| (namespace.to_owned(), name.to_owned())))
        .collect();
    wanted.sort();
    ensure!(seen == wanted, "expected {wanted:?}: {seen:?}");
    Ok(())
}

async fn pages_walk_everything_once_in_order(cx: Cx) -> Result<()> {
    let names: Vec<_> = (0..8).map(|number| format!("a-{number}")).collect();
    let leases = some_leases(&cx, &names.iter().rev().map(String::as_str).collect::<Vec<_>>()).await?;
    let (mut seen, mut remaining, mut versions) = (Vec::new(), Vec::new(), Vec::new());
    let mut token = String::new();
    loop {
        let page = leases.list(&format!("?limit=3&continue={token}")).await?.is(200)?;
        seen.extend(items(&page).iter().map(|item| place(item).1));
        remaining.push(page["metadata"]["remainingItemCount"].clone());
        versions.push(version(&page)?);
        match continue_token(&page) {
            Some(next) => token = next,
            None => break,
        }
    }
    ensure!(seen == names, "{seen:?}");
    ensure!(remaining == [json!(5), json!(2), Value::Null], "{remaining:?}");
    versions.dedup();
    ensure!(versions.len() == 1, "pages of several versions: {versions:?}");
    // A page that is just full is the last one.
    let page = leases.list("?limit=8").await?.is(200)?;
    ensure!(items(&page).len() == 8 && continue_token(&page).is_none(), "{page}");
    Ok(())
}

async fn pages_show_one_snapshot(cx: Cx) -> Result<()> {
    let leases = some_leases(&cx, &["a", "c", "e", "g"]).await?;
    let first = leases.list("?limit=1").await?.is(200)?;
    let token = continue_token(&first).context("there must be more")?;
    leases.create(lease("d")).await?.is(201)?;
    leases.delete("e").await?.is(200)?;
    leases.merge("g", json!({ "spec": { "holderIdentity": "later" } })).await?.is(200)?;
    let rest = leases.list(&format!("?limit=10&continue={token}")).await?.is(200)?;
    let names: Vec<_> = items(&rest).iter().map(|item| place(item).1).collect();
    ensure!(names == ["c", "e", "g"], "{names:?}");
    ensure!(items(&rest)[2]["spec"]["holderIdentity"] == "first", "{rest}");
    ensure!(version(&rest)? == version(&first)?, "{rest}");
    // Without a limit of its own the rest comes in one piece, and the token may be used again.
    ensure!(leases.names(&format!("?continue={token}")).await? == ["c", "e", "g"]);
    ensure!(leases.names("").await? == ["a", "c", "d", "g"]);
    Ok(())
}

async fn pages_of_a_selection_count_nothing_ahead(cx: Cx) -> Result<()> {
    let leases = some_leases(&cx, &["a", "b", "c", "d", "e"]).await?;
    for name in ["a", "c", "e"] {
        leases.merge(name, json!({ "metadata": { "labels": { "odd": "yes" } } })).await?.is(200)?;
    }
    let first = leases.list("?labelSelector=odd%3Dyes&limit=2").await?.is(200)?;
    ensure!(items(&first).iter().map(|i| place(i).1).eq(["a", "c"]), "{first}");
    ensure!(first["metadata"]["remainingItemCount"].is_null(), "{first}");
    let token = continue_token(&first).context("there must be more")?;
    let query = format!("?labelSelector=odd%3Dyes&limit=2&continue={token}");
    let second = leases.list(&query).await?.is(200)?;
    ensure!(items(&second).iter().map(|i| place(i).1).eq(["e"]), "{second}");
    ensure!(continue_token(&second).is_none(), "{second}");
    Ok(())
}

async fn pages_of_all_namespaces_cross_their_borders(cx: Cx) -> Result<()> {
    two_namespaces(&cx).await?;
    let mut query = format!("{ALL_LEASES}?labelSelector=case%3D{}&limit=3", cx.namespace);
    let mut seen = Vec::new();
    loop {
        let page = cx.http.get(&query).await?.is(200)?;
        seen.extend(items(&page).iter().map(place));
        let Some(token) = continue_token(&page) else { break };
        query = format!("{ALL_LEASES}?labelSelector=case%3D{}&limit=3&continue={token}", cx.namespace);
    }
    ensure!(seen.len() == 4 && seen.is_sorted_by(|a, b| a < b), "{seen:?}");
    Ok(())
}

async fn malformed_continue_token_is_refused(cx: Cx) -> Result<()> {
    let leases = some_leases(&cx, &["a", "b"]).await?;
    for token in ["nonsense", "YWJj", "e30"] {
        leases.list(&format!("?limit=1&continue={token}")).await?.refused(400, "BadRequest")?;
    }
    let page = leases.list("?limit=1").await?.is(200)?;
    let token = continue_token(&page).context("there must be more")?;
    let with_version = format!("?limit=1&continue={token}&resourceVersion={}", version(&page)?);
    leases.list(&with_version).await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn label_selectors_choose_items(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    for (name, labels) in [
        ("a", json!({ "tier": "front", "size": "5" })),
        ("b", json!({ "tier": "back", "example.com/own": "" })),
        ("c", json!({ "tier": "store", "size": "30" })),
        ("d", json!({})),
    ] {
        let mut body = lease(name);
        body["metadata"]["labels"] = labels;
        leases.create(body).await?.is(201)?;
    }
    for (selector, wanted) in [
        ("tier=front", "a"),
        ("tier==front", "a"),
        ("tier = front", "a"),
        ("tier!=front", "b c d"),
        ("tier in (front,back)", "a b"),
        ("tier notin (front,back)", "c d"),
        ("tier", "a b c"),
        ("!tier", "d"),
        ("size>5", "c"),
        ("size<30", "a"),
        ("example.com/own=", "b"),
        ("example.com/own", "b"),
        ("tier,size", "a c"),
        ("tier in (front,store),size!=5", "c"),
        ("tier=front,tier=back", ""),
        ("tier=nobody", ""),
        ("", "a b c d"),
    ] {
        let names = leases.names(&format!("?labelSelector={}", escape(selector))).await?.join(" ");
        ensure!(names == wanted, "{selector:?} chose {names:?}, not {wanted:?}");
    }
    Ok(())
}

async fn malformed_label_selector_is_refused(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    for selector in ["a b", "a in (b", "a in b", "!!a", "=b", "a=-", "a>b", "a=b=c", "/a=b"] {
        let reply = leases.list(&format!("?labelSelector={}", escape(selector))).await?;
        reply.refused(400, "BadRequest").with_context(|| selector.to_owned())?;
    }
    Ok(())
}

async fn field_selectors_choose_by_name_and_namespace(cx: Cx) -> Result<()> {
    let leases = some_leases(&cx, &["a", "b", "c"]).await?;
    let here = format!("metadata.namespace={}", cx.namespace);
    for (selector, wanted) in [
        ("metadata.name=b", "b"),
        ("metadata.name==b", "b"),
        ("metadata.name!=b", "a c"),
        ("metadata.name!=a,metadata.name!=c", "b"),
        ("metadata.name=a,metadata.name=b", ""),
        ("metadata.name=nobody", ""),
        (&*here, "a b c"),
        ("metadata.namespace=elsewhere", ""),
        (&*format!("{here},metadata.name=c"), "c"),
    ] {
        let names = leases.names(&format!("?fieldSelector={}", escape(selector))).await?.join(" ");
        ensure!(names == wanted, "{selector:?} chose {names:?}, not {wanted:?}");
    }
    Ok(())
}

async fn pods_are_chosen_by_phase_and_node(cx: Cx) -> Result<()> {
    let (pods, node) = (cx.objects(&Kind::POD), cx.node().await?);
    for name in ["a", "b", "c"] {
        pods.create(pod(name)).await?.is(201)?;
    }
    node.bind("b").await?;
    node.run("c", true).await?;
    let on_node = format!("spec.nodeName={}", cx.namespace);
    for (selector, wanted) in [
        ("status.phase=Pending", "a b"),
        ("status.phase=Running", "c"),
        ("status.phase!=Running", "a b"),
        (&*on_node, "b c"),
        ("spec.nodeName=", "a"),
        ("spec.nodeName!=", "b c"),
        (&*format!("{on_node},status.phase!=Running"), "b"),
        ("status.podIP=192.0.2.1", "c"),
        ("spec.schedulerName=the-test", "a b c"),
        ("spec.restartPolicy=Never", ""),
    ] {
        let names = pods.names(&format!("?fieldSelector={}", escape(selector))).await?.join(" ");
        ensure!(names == wanted, "{selector:?} chose {names:?}, not {wanted:?}");
    }
    // From above too: this is how a kubelet finds its pods.
    let list = cx.http.get(&format!("/api/v1/pods?fieldSelector={}", escape(&on_node))).await?.ok()?;
    ensure!(items(&list).iter().map(|item| place(item).1).eq(["b", "c"]), "{list}");
    Ok(())
}

async fn secrets_are_chosen_by_type(cx: Cx) -> Result<()> {
    let secrets = cx.objects(&Kind::SECRET);
    secrets.create(json!({ "metadata": { "name": "a" } })).await?.is(201)?;
    secrets.create(json!({ "metadata": { "name": "b" }, "type": "example.com/own" })).await?.is(201)?;
    ensure!(secrets.names("?fieldSelector=type%3DOpaque").await? == ["a"]);
    ensure!(secrets.names("?fieldSelector=type%3Dexample.com/own").await? == ["b"]);
    ensure!(secrets.names("?fieldSelector=type!%3DOpaque").await? == ["b"]);
    Ok(())
}

async fn unknown_field_selector_is_refused(cx: Cx) -> Result<()> {
    for (kind, selector) in [
        (Kind::LEASE, "spec.holderIdentity=a"),
        (Kind::LEASE, "metadata.uid=a"),
        (Kind::LEASE, "metadata.name"),
        (Kind::POD, "spec.containers=a"),
        (Kind::SECRET, "status.phase=Running"),
        (Kind::SECRET, "metadata.labels.a=b"),
    ] {
        let reply = cx.objects(&kind).list(&format!("?fieldSelector={}", escape(selector))).await?;
        reply.refused(400, "BadRequest").with_context(|| selector.to_owned())?;
    }
    Ok(())
}

async fn exact_version_shows_the_past(cx: Cx) -> Result<()> {
    let leases = some_leases(&cx, &["a", "b"]).await?;
    let then = version(&leases.list("").await?.ok()?)?;
    leases.delete("a").await?.is(200)?;
    leases.merge("b", json!({ "spec": { "holderIdentity": "later" } })).await?.is(200)?;
    leases.create(lease("c")).await?.is(201)?;
    let exactly = format!("?resourceVersion={then}&resourceVersionMatch=Exact");
    let past = leases.list(&exactly).await?.is(200)?;
    ensure!(items(&past).iter().map(|item| place(item).1).eq(["a", "b"]), "{past}");
    ensure!(items(&past)[1]["spec"]["holderIdentity"] == "first" && version(&past)? == then, "{past}");
    ensure!(leases.names("").await? == ["b", "c"]);
    Ok(())
}

async fn not_older_than_waits_for_the_version(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    for name in ["a", "b", "c", "d", "e"] {
        let made = version(&leases.create(lease(name)).await?.is(201)?)?;
        for query in [
            format!("?resourceVersion={made}&resourceVersionMatch=NotOlderThan"),
            format!("?resourceVersion={made}"),
        ] {
            let list = leases.list(&query).await?.is(200)?;
            ensure!(version(&list)? >= made, "{query}: {list}");
            ensure!(items(&list).iter().any(|item| place(item).1 == name), "{query}: {list}");
        }
    }
    Ok(())
}

async fn future_version_is_a_timeout(cx: Cx) -> Result<()> {
    let leases = some_leases(&cx, &["a"]).await?;
    let future = version(&leases.list("").await?.ok()?)? + 1_000_000_000;
    for query in [format!("?resourceVersion={future}"), format!("/a?resourceVersion={future}")] {
        let status = leases.list(&query).await?.refused(504, "Timeout")?;
        // Clients know by this cause that waiting may help.
        ensure!(status["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge", "{status}");
        ensure!(status["details"]["retryAfterSeconds"].as_u64().is_some_and(|s| s > 0), "{status}");
    }
    Ok(())
}

async fn version_zero_is_served_from_what_is_at_hand(cx: Cx) -> Result<()> {
    let leases = some_leases(&cx, &["a", "b"]).await?;
    // It may lag behind, but not for long.
    for query in ["?resourceVersion=0", "?resourceVersion=0&resourceVersionMatch=NotOlderThan"] {
        eventually(format!("a and b in {query}"), async || {
            Ok((leases.names(query).await? == ["a", "b"]).then_some(()))
        })
        .await?;
    }
    ensure!(version(&leases.list("?resourceVersion=0").await?.ok()?)? > 0);
    Ok(())
}

async fn version_match_must_make_sense(cx: Cx) -> Result<()> {
    let leases = some_leases(&cx, &["a", "b"]).await?;
    let page = leases.list("?limit=1").await?.is(200)?;
    let with_token = format!(
        "continue={}&resourceVersionMatch=NotOlderThan",
        continue_token(&page).context("there must be more")?
    );
    for (query, field, reason) in [
        ("resourceVersionMatch=Exact", "resourceVersionMatch", "FieldValueForbidden"),
        ("resourceVersionMatch=NotOlderThan", "resourceVersionMatch", "FieldValueForbidden"),
        ("resourceVersionMatch=Exact&resourceVersion=0", "resourceVersionMatch", "FieldValueForbidden"),
        ("resourceVersionMatch=Newest&resourceVersion=1", "resourceVersionMatch", "FieldValueNotSupported"),
        (&*with_token, "resourceVersionMatch", "FieldValueForbidden"),
        ("sendInitialEvents=true", "sendInitialEvents", "FieldValueForbidden"),
    ] {
        let status = leases.list(&format!("?{query}")).await?.refused(422, "Invalid")?;
        has_cause(&status, field, reason)?;
    }
    Ok(())
}

async fn malformed_numbers_are_refused(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    for query in ["resourceVersion=abc", "resourceVersion=-1", "limit=abc", "timeoutSeconds=abc"] {
        leases.list(&format!("?{query}")).await?.refused(400, "BadRequest")?;
    }
    Ok(())
}

const ALL_LEASES: &str = "/apis/coordination.k8s.io/v1/leases";

/// A Lease: unlike ConfigMaps, none appear in a namespace by themselves.
async fn some_leases(cx: &Cx, names: &[&str]) -> Result<Objects> {
    let leases = cx.objects(&Kind::LEASE);
    for name in names {
        leases.create(lease(name)).await?.is(201)?;
    }
    Ok(leases)
}

/// Leases `a` and `b` in the case's namespace and in a second one, labelled as the case's.
async fn two_namespaces(cx: &Cx) -> Result<(String, String)> {
    let second = cx.server.temp_namespace().await?.name;
    cx.delete_later(format!("/api/v1/namespaces/{second}"));
    for namespace in [&cx.namespace, &second] {
        for name in ["a", "b"] {
            let mut body = lease(name);
            body["apiVersion"] = Kind::LEASE.api_version.into();
            body["kind"] = Kind::LEASE.kind.into();
            body["metadata"]["labels"] = json!({ "case": cx.namespace });
            cx.http.post(&Kind::LEASE.path(namespace), &body).await?.is(201)?;
        }
    }
    Ok((cx.namespace.clone(), second))
}

fn items(list: &Value) -> &[Value] {
    list["items"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Namespace and name.
fn place(item: &Value) -> (String, String) {
    let text = |field: &str| item["metadata"][field].as_str().unwrap_or_default().to_owned();
    (text("namespace"), text("name"))
}

fn continue_token(page: &Value) -> Option<String> {
    page["metadata"]["continue"].as_str().filter(|token| !token.is_empty()).map(escape)
}

/// Text as part of a query.
fn escape(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
