//! Status and scale of custom resources.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::object;
use crate::{Cx, Objects};

pub(super) async fn status_is_written_through_its_subresource_only(cx: Cx) -> Result<()> {
    let things = things(&cx, json!({ "subresources": { "status": {} } })).await?;
    let mut body = object("a", json!({ "size": 1 }));
    body["status"] = json!({ "phase": "Early" });
    let created = things.create(body).await?.is(201)?;
    ensure!(created["status"].is_null(), "{created}");
    let ignored = things.merge("a", json!({ "status": { "phase": "Early" } })).await?.ok()?;
    ensure!(ignored["status"].is_null(), "{ignored}");
    ensure!(ignored["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"], "{ignored}");

    let patch = json!({
        "metadata": { "labels": { "a": "b" }, "annotations": { "a": "b" }, "finalizers": ["anneal.dev/a"] },
        "spec": { "size": 2 },
        "status": { "phase": "Ready", "other": 1 }
    });
    let written = things.merge("a/status", patch).await?.ok()?;
    ensure!(written["status"] == json!({ "phase": "Ready" }) && written["spec"]["size"] == 1, "{written}");
    for field in ["labels", "annotations", "finalizers"] {
        ensure!(written["metadata"][field].is_null(), "{field}: {written}");
    }

    let mut stale = created;
    stale["status"] = json!({ "phase": "Stale" });
    things.update("a/status", &stale).await?.refused(409, "Conflict")?;
    let mut fresh = written;
    fresh["status"] = json!({ "phase": "Done" });
    fresh["spec"] = json!({ "size": 9 });
    let replaced = things.update("a/status", &fresh).await?.ok()?;
    ensure!(replaced["status"]["phase"] == "Done" && replaced["spec"]["size"] == 1, "{replaced}");
    // A replace of the object keeps the status, given or not.
    fresh = replaced;
    fresh["status"] = Value::Null;
    let kept = things.update("a", &fresh).await?.ok()?;
    ensure!(kept["status"]["phase"] == "Done", "{kept}");
    ensure!(things.get("a/status").await?.ok()?["status"]["phase"] == "Done");
    things.merge("a/status", json!({ "status": { "phase": 1 } })).await?.refused(422, "Invalid")?;
    Ok(())
}

pub(super) async fn generation_counts_changes_of_the_spec(cx: Cx) -> Result<()> {
    let things = things(&cx, json!({ "subresources": { "status": {} } })).await?;
    let mut body = object("a", json!({ "size": 1 }));
    body["metadata"]["generation"] = 7.into();
    ensure!(things.create(body).await?.is(201)?["metadata"]["generation"] == 1);
    let steps = [
        ("a", json!({ "metadata": { "labels": { "a": "b" } } }), 1),
        ("a/status", json!({ "status": { "phase": "Ready" } }), 1),
        ("a", json!({ "spec": { "size": 1 } }), 1),
        ("a", json!({ "spec": { "size": 2 } }), 2),
        ("a", json!({ "metadata": { "generation": 9 } }), 2),
        ("a", json!({ "extra": "beside the spec" }), 3),
        ("a", json!({ "spec": null }), 4),
    ];
    for (name, patch, generation) in steps {
        let thing = things.merge(name, patch.clone()).await?.ok()?;
        ensure!(thing["metadata"]["generation"] == generation, "{generation} after {patch}: {thing}");
    }
    Ok(())
}

pub(super) async fn without_the_status_subresource_status_is_a_field_like_any(cx: Cx) -> Result<()> {
    let things = things(&cx, json!({})).await?;
    let mut body = object("a", json!({ "size": 1 }));
    body["status"] = json!({ "phase": "Early" });
    let created = things.create(body).await?.is(201)?;
    ensure!(created["status"]["phase"] == "Early", "{created}");
    things.get("a/status").await?.refused(404, "NotFound")?;
    things.merge("a/status", json!({ "status": { "phase": "Ready" } })).await?.refused(404, "NotFound")?;
    things.get("a/scale").await?.refused(404, "NotFound")?;
    let steps = [
        (json!({ "metadata": { "labels": { "a": "b" } } }), 1),
        (json!({ "status": { "phase": "Ready" } }), 2),
        (json!({ "spec": { "size": 2 } }), 3),
    ];
    for (patch, generation) in steps {
        let thing = things.merge("a", patch.clone()).await?.ok()?;
        ensure!(thing["metadata"]["generation"] == generation, "{generation} after {patch}: {thing}");
    }
    ensure!(things.get("a").await?.ok()?["status"]["phase"] == "Ready");
    Ok(())
}

pub(super) async fn scale_reads_and_writes_replicas(cx: Cx) -> Result<()> {
    let scale = json!({
        "specReplicasPath": ".spec.size",
        "statusReplicasPath": ".status.ready",
        "labelSelectorPath": ".status.selector"
    });
    let things = things(&cx, json!({ "subresources": { "status": {}, "scale": scale } })).await?;
    let thing = things.create(object("a", json!({ "size": 2, "note": "kept" }))).await?.is(201)?;
    let read = things.get("a/scale").await?.ok()?;
    ensure!(read["kind"] == "Scale" && read["apiVersion"] == "autoscaling/v1", "{read}");
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        ensure!(read["metadata"][field] == thing["metadata"][field], "{field}: {read}");
    }
    ensure!(read["spec"] == json!({ "replicas": 2 }) && read["status"] == json!({ "replicas": 0 }), "{read}");

    things.merge("a/status", json!({ "status": { "ready": 1, "selector": "app=a" } })).await?.ok()?;
    let patched = things.merge("a/scale", json!({ "spec": { "replicas": 5 } })).await?.ok()?;
    ensure!(patched["kind"] == "Scale" && patched["spec"]["replicas"] == 5, "{patched}");
    ensure!(patched["status"] == json!({ "replicas": 1, "selector": "app=a" }), "{patched}");
    let thing = things.get("a").await?.ok()?;
    ensure!(thing["spec"] == json!({ "size": 5, "note": "kept" }), "{thing}");
    ensure!(thing["metadata"]["generation"] == 2, "{thing}");
    ensure!(thing["metadata"]["resourceVersion"] == patched["metadata"]["resourceVersion"], "{thing}");

    let mut body = json!({ "apiVersion": "autoscaling/v1", "kind": "Scale", "spec": { "replicas": 3 } });
    body["metadata"] = read["metadata"].clone();
    things.update("a/scale", &body).await?.refused(409, "Conflict")?;
    body["metadata"] = patched["metadata"].clone();
    things.update("a/scale", &body).await?.ok()?;
    ensure!(things.get("a").await?.ok()?["spec"]["size"] == 3);
    // Without a version it replaces whatever is there, which `kubectl scale` relies on.
    body["metadata"] = json!({ "name": "a", "namespace": cx.namespace });
    body["spec"]["replicas"] = 0.into();
    things.update("a/scale", &body).await?.ok()?;
    ensure!(things.get("a").await?.ok()?["spec"]["size"] == 0);
    let below_zero = json!({ "spec": { "replicas": -1 } });
    things.merge("a/scale", below_zero).await?.refused(422, "Invalid")?;
    things.get("no-such/scale").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn things(cx: &Cx, extra: Value) -> Result<Objects> {
    let schema = json!({
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": { "size": { "type": "integer" }, "note": { "type": "string" } }
            },
            "extra": { "type": "string" },
            "status": {
                "type": "object",
                "properties": {
                    "phase": { "type": "string" },
                    "ready": { "type": "integer" },
                    "selector": { "type": "string" }
                }
            }
        }
    });
    Ok(cx.objects(&cx.install_crd("Thing", schema, extra).await?))
}
