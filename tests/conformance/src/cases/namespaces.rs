//! Namespaces: what they bring along and how they end.

use anneal_harness::{Needs, eventually};
use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::{
    Case, Cx, Kind, Objects,
    case::cases,
    fixtures::{config_map, pod},
};

pub(super) fn cases() -> Vec<Case> {
    cases![
        Needs::API => [
            starts_active_and_labelled,
            label_of_its_name_cannot_be_changed,
            system_namespaces_cannot_be_deleted,
            deletion_leaves_it_terminating,
        ],
        Needs::CONTROLLERS => [
            brings_a_service_account_and_the_root_certificate,
            what_it_brings_comes_back,
            deletion_removes_everything_in_it,
            objects_with_finalizers_hold_it,
            own_finalizer_holds_it_once_empty,
        ],
    ]
}

async fn starts_active_and_labelled(cx: Cx) -> Result<()> {
    let name = cx.unique("a");
    let made = make(&cx, json!({ "metadata": { "name": name } })).await?;
    ensure!(made["status"]["phase"] == "Active", "{made}");
    ensure!(made["spec"]["finalizers"] == json!(["kubernetes"]), "{made}");
    ensure!(made["metadata"]["labels"] == json!({ "kubernetes.io/metadata.name": name }), "{made}");
    Ok(())
}

async fn label_of_its_name_cannot_be_changed(cx: Cx) -> Result<()> {
    let labels = json!({ "kubernetes.io/metadata.name": "other", "b": "c" });
    let patched = cx
        .objects(&Kind::NAMESPACE)
        .merge(&cx.namespace, json!({ "metadata": { "labels": labels } }))
        .await?;
    let labels = patched.is(200)?["metadata"]["labels"].clone();
    ensure!(labels["kubernetes.io/metadata.name"] == cx.namespace && labels["b"] == "c", "{labels}");
    Ok(())
}

async fn system_namespaces_cannot_be_deleted(cx: Cx) -> Result<()> {
    let namespaces = cx.objects(&Kind::NAMESPACE);
    for name in ["default", "kube-system", "kube-public"] {
        namespaces.delete(&format!("{name}?dryRun=All")).await?.refused(403, "Forbidden")?;
        ensure!(namespaces.get(name).await?.ok()?["status"]["phase"] == "Active");
    }
    Ok(())
}

async fn deletion_leaves_it_terminating(cx: Cx) -> Result<()> {
    let namespaces = cx.objects(&Kind::NAMESPACE);
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let mut held = config_map("held", "1");
    held["metadata"]["finalizers"] = json!(["anneal.dev/held"]);
    maps.create(held).await?.is(201)?;
    let deleted = namespaces.delete(&cx.namespace).await?.ok()?;
    ensure!(deleted["kind"] == "Namespace" && deleted["status"]["phase"] == "Terminating", "{deleted}");
    ensure!(!deleted["metadata"]["deletionTimestamp"].is_null(), "{deleted}");
    let status = eventually("creation to be refused", async || {
        // The server may learn of the deletion a moment after it has been acknowledged.
        let reply = maps.create(json!({ "metadata": { "generateName": "late-" } })).await?;
        if reply.status == 201 { Ok(None) } else { reply.refused(403, "Forbidden").map(Some) }
    })
    .await?;
    ensure!(status["details"]["causes"][0]["reason"] == "NamespaceTerminating", "{status}");
    // What is there can still be changed.
    let freed = json!({ "data": { "key": "2" }, "metadata": { "finalizers": null } });
    ensure!(maps.merge("held", freed).await?.is(200)?["data"]["key"] == "2");
    Ok(())
}

async fn brings_a_service_account_and_the_root_certificate(cx: Cx) -> Result<()> {
    cx.objects(&Kind::SERVICE_ACCOUNT).get("default").await?.is(200)?;
    let map = exists(&cx.objects(&Kind::CONFIG_MAP), "kube-root-ca.crt").await?;
    let certificate = map["data"]["ca.crt"].as_str().unwrap_or_default();
    ensure!(certificate.starts_with("-----BEGIN CERTIFICATE-----"), "{map}");
    Ok(())
}

async fn what_it_brings_comes_back(cx: Cx) -> Result<()> {
    for (kind, name) in [(Kind::SERVICE_ACCOUNT, "default"), (Kind::CONFIG_MAP, "kube-root-ca.crt")] {
        let objects = cx.objects(&kind);
        let before = exists(&objects, name).await?;
        objects.delete(name).await?.is(200)?;
        let after = exists(&objects, name).await?;
        ensure!(after["metadata"]["uid"] != before["metadata"]["uid"], "{after}");
    }
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.merge("kube-root-ca.crt", json!({ "data": { "ca.crt": "forged" } })).await?.is(200)?;
    eventually("the certificate to be restored", async || {
        let map = exists(&maps, "kube-root-ca.crt").await?;
        Ok((map["data"]["ca.crt"] != "forged").then_some(()))
    })
    .await
}

async fn deletion_removes_everything_in_it(cx: Cx) -> Result<()> {
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let thing = cx.install_crd("Thing", schema, Value::Null).await?;
    cx.objects(&thing).create(json!({ "metadata": { "name": "a" } })).await?.is(201)?;
    cx.objects(&Kind::CONFIG_MAP).create(config_map("a", "1")).await?.is(201)?;
    cx.objects(&Kind::LEASE).create(json!({ "metadata": { "name": "a" } })).await?.is(201)?;
    cx.objects(&Kind::POD).create(pod("a")).await?.is(201)?;
    cx.objects(&Kind::NAMESPACE).delete(&cx.namespace).await?.ok()?;
    for kind in [thing, Kind::CONFIG_MAP, Kind::LEASE, Kind::POD, Kind::SERVICE_ACCOUNT] {
        let objects = cx.objects(&kind);
        eventually(format!("{} to be gone", kind.plural), async || {
            Ok(objects.names("").await?.is_empty().then_some(()))
        })
        .await?;
    }
    gone(&cx.objects(&Kind::NAMESPACE), &cx.namespace).await
}

async fn objects_with_finalizers_hold_it(cx: Cx) -> Result<()> {
    let namespaces = cx.objects(&Kind::NAMESPACE);
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let mut held = config_map("held", "1");
    held["metadata"]["finalizers"] = json!(["anneal.dev/held"]);
    maps.create(held).await?.is(201)?;
    namespaces.delete(&cx.namespace).await?.ok()?;
    eventually("the conditions to say what remains", async || {
        let namespace = namespaces.get(&cx.namespace).await?.is(200)?;
        ensure!(namespace["status"]["phase"] == "Terminating", "{namespace}");
        let is = |kind: &str, status: &str, reason: &str| {
            let conditions = namespace["status"]["conditions"].as_array();
            conditions
                .into_iter()
                .flatten()
                .any(|c| c["type"] == kind && c["status"] == status && c["reason"] == reason)
        };
        let all = is("NamespaceFinalizersRemaining", "True", "SomeFinalizersRemain")
            && is("NamespaceContentRemaining", "True", "SomeResourcesRemain")
            && is("NamespaceDeletionContentFailure", "False", "ContentDeleted");
        Ok(all.then_some(()))
    })
    .await?;
    ensure!(!maps.get("held").await?.is(200)?["metadata"]["deletionTimestamp"].is_null());
    maps.merge("held", json!({ "metadata": { "finalizers": null } })).await?.is(200)?;
    gone(&namespaces, &cx.namespace).await
}

async fn own_finalizer_holds_it_once_empty(cx: Cx) -> Result<()> {
    let namespaces = cx.objects(&Kind::NAMESPACE);
    let name = cx.unique("a");
    make(&cx, json!({ "metadata": { "name": name, "finalizers": ["anneal.dev/held"] } })).await?;
    namespaces.delete(&name).await?.ok()?;
    eventually("the namespace to be finalized", async || {
        let namespace = namespaces.get(&name).await?.is(200)?;
        Ok(namespace["spec"]["finalizers"].is_null().then_some(()))
    })
    .await?;
    let accounts = cx.http.get(&Kind::SERVICE_ACCOUNT.path(&name)).await?.is(200)?;
    ensure!(accounts["items"] == json!([]), "{accounts}");
    namespaces.merge(&name, json!({ "metadata": { "finalizers": null } })).await?.is(200)?;
    gone(&namespaces, &name).await
}

async fn make(cx: &Cx, namespace: Value) -> Result<Value> {
    let name = namespace["metadata"]["name"].as_str().unwrap_or_default();
    cx.delete_later(format!("/api/v1/namespaces/{name}"));
    cx.objects(&Kind::NAMESPACE).create(namespace).await?.is(201)
}

async fn exists(objects: &Objects, name: &str) -> Result<Value> {
    eventually(format!("{name} to be there"), async || {
        let reply = objects.get(name).await?;
        if reply.status == 404 { Ok(None) } else { reply.is(200).map(Some) }
    })
    .await
}

async fn gone(objects: &Objects, name: &str) -> Result<()> {
    eventually(format!("{name} to be gone"), async || {
        Ok((objects.get(name).await?.status == 404).then_some(()))
    })
    .await
}
