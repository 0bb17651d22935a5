//! Leases, on which leader election stands.

use anneal_harness::Needs;
use anyhow::{Result, ensure};
use futures::future::try_join_all;
use serde_json::{Value, json};

use crate::{Case, Cx, Kind, case::cases};

pub(super) fn cases() -> Vec<Case> {
    cases![
        Needs::API => [
            of_many_who_take_a_lease_one_gets_it,
            of_many_who_make_a_lease_one_does,
            a_replace_must_name_the_version_it_replaces,
            replacing_a_lease_that_is_not_there_makes_it,
            times_keep_their_microseconds,
            times_without_microseconds_are_refused,
            an_empty_holder_is_not_an_absent_one,
            durations_must_be_positive,
            a_watch_sees_the_handover,
        ],
    ]
}

async fn of_many_who_take_a_lease_one_gets_it(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    let mut lease = leases.create(held_by("leader", "nobody")).await?.is(201)?;
    for round in 0..3 {
        let takers = (0..8).map(|taker| {
            let (leases, mut lease) = (leases.clone(), lease.clone());
            lease["spec"]["holderIdentity"] = format!("{round}-{taker}").into();
            async move { leases.update("leader", &lease).await }
        });
        let replies = try_join_all(takers).await?;
        let (won, lost): (Vec<_>, Vec<_>) = replies.iter().partition(|reply| reply.status == 200);
        ensure!(won.len() == 1, "{} of 8 won", won.len());
        for reply in lost {
            let status = reply.refused(409, "Conflict")?;
            ensure!(
                status["details"]["name"] == "leader" && status["details"]["kind"] == "leases",
                "{status}"
            );
        }
        lease = leases.get("leader").await?.ok()?;
        ensure!(lease["spec"] == won[0].json()?["spec"], "the winner does not hold it: {lease}");
    }
    Ok(())
}

async fn of_many_who_make_a_lease_one_does(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    let makers = (0..8).map(|maker| {
        let leases = leases.clone();
        async move { leases.create(held_by("leader", &maker.to_string())).await }
    });
    let replies = try_join_all(makers).await?;
    let (won, lost): (Vec<_>, Vec<_>) = replies.iter().partition(|reply| reply.status == 201);
    ensure!(won.len() == 1, "{} of 8 won", won.len());
    for reply in lost {
        reply.refused(409, "AlreadyExists")?;
    }
    ensure!(leases.get("leader").await?.ok()?["spec"] == won[0].json()?["spec"]);
    Ok(())
}

async fn a_replace_must_name_the_version_it_replaces(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    leases.create(held_by("leader", "a")).await?.is(201)?;
    let status = leases.update("leader", &held_by("leader", "b")).await?.refused(422, "Invalid")?;
    ensure!(status["details"]["causes"][0]["field"] == "metadata.resourceVersion", "{status}");
    ensure!(leases.get("leader").await?.ok()?["spec"]["holderIdentity"] == "a");
    Ok(())
}

async fn replacing_a_lease_that_is_not_there_makes_it(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    let made = leases.update("leader", &held_by("leader", "a")).await?.is(201)?;
    ensure!(made["metadata"]["uid"].is_string() && made["spec"]["holderIdentity"] == "a", "{made}");
    // Not if a version was expected there.
    leases.delete("leader").await?.ok()?;
    leases.update("leader", &made).await?.refused(409, "Conflict")?;
    leases.get("leader").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn times_keep_their_microseconds(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    let times = [
        ("a", "2026-01-02T03:04:05.123456Z", "2026-01-02T03:04:05.123456Z"),
        ("b", "2026-01-02T03:04:05.000000Z", "2026-01-02T03:04:05.000000Z"),
        ("c", "2026-01-02T03:04:05.100000Z", "2026-01-02T03:04:05.100000Z"),
        ("d", "2026-01-02T05:04:05.000001+02:00", "2026-01-02T03:04:05.000001Z"),
    ];
    for (name, given, kept) in times {
        let mut lease = held_by(name, "a");
        lease["spec"]["acquireTime"] = given.into();
        lease["spec"]["renewTime"] = given.into();
        leases.create(lease).await?.is(201)?;
        let lease = leases.get(name).await?.ok()?;
        ensure!(lease["spec"]["renewTime"] == kept && lease["spec"]["acquireTime"] == kept, "{lease}");
    }
    let renewed = json!({ "spec": { "renewTime": "2026-01-02T03:04:05.123457Z" } });
    let lease = leases.merge("a", renewed).await?.ok()?;
    ensure!(lease["spec"]["renewTime"] == "2026-01-02T03:04:05.123457Z", "{lease}");
    ensure!(lease["spec"]["acquireTime"] == "2026-01-02T03:04:05.123456Z", "{lease}");
    Ok(())
}

async fn times_without_microseconds_are_refused(cx: Cx) -> Result<()> {
    for time in ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123456789Z", "yesterday"] {
        let mut lease = held_by("a", "a");
        lease["spec"]["renewTime"] = time.into();
        cx.objects(&Kind::LEASE).create(lease).await?.refused(400, "BadRequest")?;
    }
    Ok(())
}

async fn an_empty_holder_is_not_an_absent_one(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    leases.create(held_by("a", "")).await?.is(201)?;
    let lease = leases.get("a").await?.ok()?;
    ensure!(lease["spec"]["holderIdentity"] == "", "{lease}");
    let lease = leases.merge("a", json!({ "spec": { "holderIdentity": null } })).await?.ok()?;
    ensure!(lease["spec"].get("holderIdentity").is_none(), "{lease}");
    let mut lease = held_by("b", "");
    lease["spec"] = json!({ "holderIdentity": null, "renewTime": null, "leaseTransitions": 0 });
    let lease = leases.create(lease).await?.is(201)?;
    ensure!(lease["spec"] == json!({ "leaseTransitions": 0 }), "{lease}");
    Ok(())
}

async fn durations_must_be_positive(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    let mut lease = held_by("a", "a");
    lease["spec"]["leaseDurationSeconds"] = 0.into();
    lease["spec"]["leaseTransitions"] = (-1).into();
    let status = leases.create(lease).await?.refused(422, "Invalid")?;
    for (cause, field) in ["leaseDurationSeconds", "leaseTransitions"].iter().enumerate() {
        let cause = &status["details"]["causes"][cause];
        ensure!(cause["field"] == format!("spec.{field}"), "{status}");
        ensure!(cause["reason"] == "FieldValueInvalid", "{status}");
    }
    leases.create(held_by("a", "a")).await?.is(201)?;
    leases.merge("a", json!({ "spec": { "leaseDurationSeconds": -1 } })).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn a_watch_sees_the_handover(cx: Cx) -> Result<()> {
    let leases = cx.objects(&Kind::LEASE);
    let mut watch = leases.watch_from_now().await?;
    let mut lease = leases.create(held_by("leader", "a")).await?.is(201)?;
    watch.expect("ADDED", "leader").await?;
    for holder in ["", "b"] {
        lease["spec"]["holderIdentity"] = holder.into();
        lease = leases.update("leader", &lease).await?.ok()?;
        let event = watch.expect("MODIFIED", "leader").await?;
        ensure!(event.object == lease, "{}", event.object);
    }
    leases.delete("leader").await?.ok()?;
    let event = watch.expect("DELETED", "leader").await?;
    ensure!(event.object["spec"]["holderIdentity"] == "b", "{}", event.object);
    Ok(())
}

fn held_by(name: &str, holder: &str) -> Value {
    json!({
        "metadata": { "name": name },
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": 15,
            "acquireTime": "2026-01-02T03:04:05.000000Z",
            "renewTime": "2026-01-02T03:04:05.000000Z",
            "leaseTransitions": 0
        }
    })
}
