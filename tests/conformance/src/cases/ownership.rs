//! Owners and what becomes of their dependents.

use anneal_harness::{Needs, eventually};
use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::{Case, Cx, Kind, Objects, case::cases, fixtures::config_map};

pub(super) fn cases() -> Vec<Case> {
    cases![
        Needs::CONTROLLERS => [
            background_deletion_removes_dependents,
            foreground_deletion_waits_for_blocking_dependents,
            foreground_deletion_waits_for_no_others,
            orphans_stay_and_lose_their_owner,
            dependent_of_two_owners_goes_with_the_last,
            foreground_deletion_releases_shared_dependents,
            chain_of_three_goes_as_a_whole,
            chain_goes_from_its_end_in_the_foreground,
            circle_does_not_wait_for_itself,
            dependent_of_an_owner_that_never_was_is_collected,
            dependent_of_a_former_owner_of_the_same_name_is_collected,
            owner_in_another_namespace_keeps_nothing_alive,
            owner_without_a_namespace_keeps_dependents_alive,
        ],
    ]
}

async fn background_deletion_removes_dependents(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let owner = maps.create(config_map("owner", "1")).await?.is(201)?;
    maps.create(owned("dependent", &[&owner])).await?.is(201)?;
    maps.create(config_map("bystander", "1")).await?.is(201)?;
    maps.delete_with("owner", &json!({ "propagationPolicy": "Background" })).await?.is(200)?;
    // At once: the owner does not wait for anybody.
    maps.get("owner").await?.refused(404, "NotFound")?;
    gone(&maps, "dependent").await?;
    maps.get("bystander").await?.is(200)?;
    Ok(())
}

async fn foreground_deletion_waits_for_blocking_dependents(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let owner = maps.create(config_map("owner", "1")).await?.is(201)?;
    let mut held = owned("held", &[&owner]);
    held["metadata"]["finalizers"] = json!(["anneal.dev/held"]);
    held["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = true.into();
    maps.create(held).await?.is(201)?;
    maps.create(owned("free", &[&owner])).await?.is(201)?;
    maps.delete_with("owner", &json!({ "propagationPolicy": "Foreground" })).await?.ok()?;
    let waiting = maps.get("owner").await?.is(200)?;
    ensure!(waiting["metadata"]["finalizers"] == json!(["foregroundDeletion"]), "{waiting}");
    ensure!(!waiting["metadata"]["deletionTimestamp"].is_null(), "{waiting}");
    gone(&maps, "free").await?;
    eventually("the held dependent to be deleted", async || {
        Ok((!maps.get("held").await?.ok()?["metadata"]["deletionTimestamp"].is_null()).then_some(()))
    })
    .await?;
    maps.get("owner").await?.is(200)?;
    maps.merge("held", json!({ "metadata": { "finalizers": null } })).await?.is(200)?;
    gone(&maps, "held").await?;
    gone(&maps, "owner").await
}

async fn foreground_deletion_waits_for_no_others(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let owner = maps.create(config_map("owner", "1")).await?.is(201)?;
    let mut held = owned("held", &[&owner]);
    held["metadata"]["finalizers"] = json!(["anneal.dev/held"]);
    maps.create(held).await?.is(201)?;
    maps.delete_with("owner", &json!({ "propagationPolicy": "Foreground" })).await?.ok()?;
    gone(&maps, "owner").await?;
    maps.get("held").await?.is(200)?;
    maps.merge("held", json!({ "metadata": { "finalizers": null } })).await?.is(200)?;
    gone(&maps, "held").await
}

async fn orphans_stay_and_lose_their_owner(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let owner = maps.create(config_map("owner", "1")).await?.is(201)?;
    let other = maps.create(config_map("other", "1")).await?.is(201)?;
    let made = maps.create(owned("dependent", &[&owner, &other])).await?.is(201)?;
    maps.create(owned("of-the-owner-alone", &[&owner])).await?.is(201)?;
    known_to_the_collector(&cx, &owner).await?;
    maps.delete_with("owner", &json!({ "propagationPolicy": "Orphan" })).await?.ok()?;
    gone(&maps, "owner").await?;
    let alone = maps.get("of-the-owner-alone").await?.is(200)?;
    ensure!(owners(&alone).is_empty() && alone["metadata"]["deletionTimestamp"].is_null(), "{alone}");
    let orphan = maps.get("dependent").await?.is(200)?;
    ensure!(owners(&orphan) == ["other"], "{orphan}");
    ensure!(
        orphan["metadata"]["uid"] == made["metadata"]["uid"] && orphan["data"] == made["data"],
        "{orphan}"
    );
    Ok(())
}

async fn dependent_of_two_owners_goes_with_the_last(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let first = maps.create(config_map("first", "1")).await?.is(201)?;
    let second = maps.create(config_map("second", "1")).await?.is(201)?;
    maps.create(owned("shared", &[&first, &second])).await?.is(201)?;
    maps.delete("first").await?.is(200)?;
    let shared = eventually("the reference to go", async || {
        let shared = maps.get("shared").await?.is(200)?;
        Ok((owners(&shared).len() == 1).then_some(shared))
    })
    .await?;
    ensure!(owners(&shared) == ["second"] && shared["metadata"]["deletionTimestamp"].is_null(), "{shared}");
    maps.delete("second").await?.is(200)?;
    gone(&maps, "shared").await
}

async fn foreground_deletion_releases_shared_dependents(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let first = maps.create(config_map("first", "1")).await?.is(201)?;
    let second = maps.create(config_map("second", "1")).await?.is(201)?;
    let mut shared = owned("shared", &[&first, &second]);
    shared["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = true.into();
    maps.create(shared).await?.is(201)?;
    maps.delete_with("first", &json!({ "propagationPolicy": "Foreground" })).await?.ok()?;
    gone(&maps, "first").await?;
    let shared = maps.get("shared").await?.is(200)?;
    ensure!(shared["metadata"]["deletionTimestamp"].is_null(), "{shared}");
    Ok(())
}

async fn chain_of_three_goes_as_a_whole(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let secrets = cx.objects(&Kind::SECRET);
    let top = maps.create(config_map("top", "1")).await?.is(201)?;
    let middle = secrets.create(owned("middle", &[&top])).await?.is(201)?;
    maps.create(owned("bottom", &[&middle])).await?.is(201)?;
    maps.delete("top").await?.is(200)?;
    gone(&secrets, "middle").await?;
    gone(&maps, "bottom").await
}

async fn chain_goes_from_its_end_in_the_foreground(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let top = maps.create(config_map("top", "1")).await?.is(201)?;
    let blocking = |mut object: Value| {
        object["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = true.into();
        object
    };
    let middle = maps.create(blocking(owned("middle", &[&top]))).await?.is(201)?;
    maps.create(blocking(owned("bottom", &[&middle]))).await?.is(201)?;
    known_to_the_collector(&cx, &middle).await?;
    let mut watch = maps.watch_from_now().await?;
    maps.delete_with("top", &json!({ "propagationPolicy": "Foreground" })).await?.ok()?;
    let mut order = Vec::new();
    while order.len() < 3 {
        let event = watch.next().await?;
        if event.kind == "DELETED" && event.name() != "witness" {
            order.push(event.name().to_owned());
        }
    }
    ensure!(order == ["bottom", "middle", "top"], "{order:?}");
    Ok(())
}

async fn circle_does_not_wait_for_itself(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let blocking = |mut object: Value| {
        object["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = true.into();
        object
    };
    let first = maps.create(config_map("first", "1")).await?.is(201)?;
    let second = maps.create(blocking(owned("second", &[&first]))).await?.is(201)?;
    let third = maps.create(blocking(owned("third", &[&second]))).await?.is(201)?;
    let owners = blocking(owned("first", &[&third]))["metadata"]["ownerReferences"].clone();
    maps.merge("first", json!({ "metadata": { "ownerReferences": owners } })).await?.is(200)?;
    known_to_the_collector(&cx, &third).await?;
    maps.delete_with("first", &json!({ "propagationPolicy": "Foreground" })).await?.ok()?;
    for name in ["first", "second", "third"] {
        gone(&maps, name).await?;
    }
    Ok(())
}

async fn dependent_of_an_owner_that_never_was_is_collected(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let never = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "never", "uid": format!("never-{}", cx.namespace) }
    });
    maps.create(owned("dependent", &[&never])).await?.is(201)?;
    gone(&maps, "dependent").await
}

async fn dependent_of_a_former_owner_of_the_same_name_is_collected(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let former = maps.create(config_map("owner", "1")).await?.is(201)?;
    maps.delete("owner").await?.is(200)?;
    let present = maps.create(config_map("owner", "2")).await?.is(201)?;
    maps.create(owned("of-the-present", &[&present])).await?.is(201)?;
    maps.create(owned("of-the-former", &[&former])).await?.is(201)?;
    gone(&maps, "of-the-former").await?;
    maps.get("of-the-present").await?.is(200)?;
    Ok(())
}

async fn owner_in_another_namespace_keeps_nothing_alive(cx: Cx) -> Result<()> {
    let name = cx.unique("other");
    cx.delete_later(format!("/api/v1/namespaces/{name}"));
    cx.objects(&Kind::NAMESPACE).create(json!({ "metadata": { "name": name } })).await?.is(201)?;
    let mut owner = config_map("owner", "1");
    owner["apiVersion"] = "v1".into();
    owner["kind"] = "ConfigMap".into();
    let elsewhere = Kind::CONFIG_MAP.path(&name);
    let owner = cx.http.post(&elsewhere, &owner).await?.is(201)?;
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create(owned("dependent", &[&owner])).await?.is(201)?;
    gone(&maps, "dependent").await?;
    cx.http.get(&format!("{elsewhere}/owner")).await?.is(200)?;
    Ok(())
}

async fn owner_without_a_namespace_keeps_dependents_alive(cx: Cx) -> Result<()> {
    let name = cx.unique("owner");
    let roles = cx.objects(&Kind::CLUSTER_ROLE);
    cx.delete_later(format!("{}/{name}", roles.path()));
    let owner = roles.create(json!({ "metadata": { "name": name }, "rules": [] })).await?.is(201)?;
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create(owned("dependent", &[&owner])).await?.is(201)?;
    known_to_the_collector(&cx, &owner).await?;
    maps.get("dependent").await?.is(200)?;
    roles.delete(&name).await?.is(200)?;
    gone(&maps, "dependent").await
}

/// An object with owners, none of which it blocks.
fn owned(name: &str, owners: &[&Value]) -> Value {
    let reference = |owner: &&Value| {
        json!({
            "apiVersion": owner["apiVersion"], "kind": owner["kind"],
            "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]
        })
    };
    let references: Vec<_> = owners.iter().map(reference).collect();
    json!({ "metadata": { "name": name, "ownerReferences": references } })
}

fn owners(object: &Value) -> Vec<&str> {
    let references = object["metadata"]["ownerReferences"].as_array();
    references.into_iter().flatten().filter_map(|reference| reference["name"].as_str()).collect()
}

async fn gone(objects: &Objects, name: &str) -> Result<()> {
    eventually(format!("{name} to be gone"), async || {
        Ok((objects.get(name).await?.status == 404).then_some(()))
    })
    .await
}

/// Waits until the collector has seen what was made before: it looks at an object with a living and an
/// absent owner and strikes out the absent one.
async fn known_to_the_collector(cx: &Cx, owner: &Value) -> Result<()> {
    let absent = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "absent", "uid": format!("absent-{}", cx.namespace) }
    });
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create(owned("witness", &[owner, &absent])).await?.is(201)?;
    eventually("the collector to look", async || {
        Ok((owners(&maps.get("witness").await?.is(200)?).len() == 1).then_some(()))
    })
    .await
}
