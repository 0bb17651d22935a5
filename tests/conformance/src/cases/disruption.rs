//! Disruption budgets and the evictions they forbid.

use anneal_harness::{Needs, PlayedNode, Reply, eventually};
use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::{
    Case, Cx, Kind, Objects,
    case::cases,
    fixtures::{pod, pod_spec},
};

pub(super) fn cases() -> Vec<Case> {
    cases![
        Needs::API => [
            budget_says_either_minimum_or_maximum,
            eviction_is_refused_when_the_budget_is_used_up,
            dry_run_of_an_eviction_uses_nothing_up,
            eviction_must_be_one_and_name_its_pod,
        ],
        Needs::CONTROLLERS => [
            status_counts_healthy_pods,
            status_follows_a_changed_budget,
            eviction_that_violates_the_budget_is_refused,
            eviction_within_the_budget_uses_it_up,
            maximum_counts_the_pods_a_deployment_should_have,
            percentage_is_of_the_pods_a_deployment_should_have,
            unhealthy_pods_may_be_evicted_where_the_policy_says_so,
            pending_pods_may_always_be_evicted,
            pod_in_two_budgets_cannot_be_evicted,
            budget_that_cannot_be_computed_says_so,
        ],
    ]
}

async fn budget_says_either_minimum_or_maximum(cx: Cx) -> Result<()> {
    let budgets = cx.objects(&Kind::DISRUPTION_BUDGET);
    let both = budget("a", json!({ "minAvailable": 1, "maxUnavailable": 1 }));
    budgets.create(both).await?.refused(422, "Invalid")?;
    let negative =
        budgets.create(budget("a", json!({ "minAvailable": -1 }))).await?.refused(422, "Invalid")?;
    ensure!(negative["details"]["causes"][0]["field"] == "spec.minAvailable", "{negative}");
    let too_much = budget("a", json!({ "maxUnavailable": "101%" }));
    let status = budgets.create(too_much).await?.refused(422, "Invalid")?;
    ensure!(status["details"]["causes"][0]["field"] == "spec.maxUnavailable", "{status}");
    Ok(())
}

async fn eviction_is_refused_when_the_budget_is_used_up(cx: Cx) -> Result<()> {
    let budget = budget_for_one_of_two(&cx).await?;
    eventually("the first eviction", async || {
        // Where there is a controller, it may have to catch up with the pods.
        let reply = evict(&cx, "one").await?;
        if reply.status == 429 { Ok(None) } else { reply.is(201).map(Some) }
    })
    .await?;
    ensure!(budget.get("a").await?.ok()?["status"]["disruptionsAllowed"] == 0);
    let status = evict(&cx, "two").await?.refused(429, "TooManyRequests")?;
    ensure!(status["details"]["causes"][0]["reason"] == "DisruptionBudget", "{status}");
    ensure!(cx.objects(&Kind::POD).get("two").await?.ok()?["metadata"]["deletionTimestamp"].is_null());
    Ok(())
}

async fn dry_run_of_an_eviction_uses_nothing_up(cx: Cx) -> Result<()> {
    let budget = budget_for_one_of_two(&cx).await?;
    let path = format!("{}/one/eviction", Kind::POD.path(&cx.namespace));
    let options = json!({ "dryRun": ["All"] });
    let eviction = json!({
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": "one" }, "deleteOptions": options
    });
    eventually("the eviction to be allowed", async || {
        let reply = cx.http.post(&path, &eviction).await?;
        if reply.status == 429 { Ok(None) } else { reply.is(201).map(Some) }
    })
    .await?;
    let budget = budget.get("a").await?.ok()?;
    ensure!(budget["status"]["disruptedPods"].is_null(), "{budget}");
    ensure!(cx.objects(&Kind::POD).get("one").await?.ok()?["metadata"]["deletionTimestamp"].is_null());
    Ok(())
}

async fn status_counts_healthy_pods(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    cx.objects(&Kind::DISRUPTION_BUDGET).create(budget("a", json!({ "minAvailable": 1 }))).await?.is(201)?;
    run_pods(&cx, &node, &[("one", true), ("two", true), ("three", false)]).await?;
    let status = counts(&cx, 3, 2, 1, 1).await?;
    ensure!(is_allowed(&status, "True", "SufficientPods"), "{status}");
    node.run("one", false).await?;
    let status = counts(&cx, 3, 1, 1, 0).await?;
    ensure!(is_allowed(&status, "False", "InsufficientPods"), "{status}");
    node.remove("two").await?;
    counts(&cx, 2, 0, 1, 0).await?;
    Ok(())
}

async fn status_follows_a_changed_budget(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    let budgets = cx.objects(&Kind::DISRUPTION_BUDGET);
    let made = budgets.create(budget("a", json!({ "minAvailable": 2 }))).await?.is(201)?;
    ensure!(made["metadata"]["generation"] == 1, "{made}");
    run_pods(&cx, &node, &[("one", true), ("two", true)]).await?;
    counts(&cx, 2, 2, 2, 0).await?;
    let changed = budgets.merge("a", json!({ "spec": { "minAvailable": 1 } })).await?.is(200)?;
    ensure!(changed["metadata"]["generation"] == 2, "{changed}");
    let status = counts(&cx, 2, 2, 1, 1).await?;
    ensure!(status["observedGeneration"] == 2, "{status}");
    Ok(())
}

async fn eviction_must_be_one_and_name_its_pod(cx: Cx) -> Result<()> {
    let pods = cx.objects(&Kind::POD);
    pods.create(pod("one")).await?.is(201)?;
    let path = format!("{}/one/eviction", Kind::POD.path(&cx.namespace));
    for wrong in [
        json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": "two" } }),
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "one" } }),
        json!({}),
    ] {
        cx.http.post(&path, &wrong).await?.refused(400, "BadRequest")?;
    }
    ensure!(pods.get("one").await?.ok()?["metadata"]["deletionTimestamp"].is_null());
    Ok(())
}

async fn eviction_that_violates_the_budget_is_refused(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    cx.objects(&Kind::DISRUPTION_BUDGET).create(budget("a", json!({ "minAvailable": 1 }))).await?.is(201)?;
    run_pods(&cx, &node, &[("one", true)]).await?;
    counts(&cx, 1, 1, 1, 0).await?;
    let status = evict(&cx, "one").await?.refused(429, "TooManyRequests")?;
    let causes = status["details"]["causes"].as_array().cloned().unwrap_or_default();
    ensure!(causes.iter().any(|cause| cause["reason"] == "DisruptionBudget"), "{status}");
    ensure!(cx.objects(&Kind::POD).get("one").await?.ok()?["metadata"]["deletionTimestamp"].is_null());
    // A budget binds evictions only.
    cx.objects(&Kind::POD).delete("one").await?.ok()?;
    Ok(())
}

async fn eviction_within_the_budget_uses_it_up(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    cx.objects(&Kind::DISRUPTION_BUDGET).create(budget("a", json!({ "minAvailable": 1 }))).await?.is(201)?;
    run_pods(&cx, &node, &[("one", true), ("two", true)]).await?;
    counts(&cx, 2, 2, 1, 1).await?;
    evict(&cx, "one").await?.is(201)?;
    // At once, not only when the controller has counted again.
    let budget = cx.objects(&Kind::DISRUPTION_BUDGET).get("a").await?.ok()?;
    ensure!(budget["status"]["disruptionsAllowed"] == 0, "{budget}");
    evict(&cx, "two").await?.refused(429, "TooManyRequests")?;
    ensure!(!cx.objects(&Kind::POD).get("one").await?.ok()?["metadata"]["deletionTimestamp"].is_null());
    node.remove("one").await?;
    counts(&cx, 1, 1, 1, 0).await?;
    Ok(())
}

async fn maximum_counts_the_pods_a_deployment_should_have(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    cx.objects(&Kind::DISRUPTION_BUDGET)
        .create(budget("a", json!({ "maxUnavailable": 1 })))
        .await?
        .is(201)?;
    let pods = deploy(&cx, 3).await?;
    for pod in &pods[..2] {
        node.run(pod, true).await?;
    }
    counts(&cx, 3, 2, 2, 0).await?;
    evict(&cx, &pods[0]).await?.refused(429, "TooManyRequests")?;
    node.run(&pods[2], true).await?;
    counts(&cx, 3, 3, 2, 1).await?;
    evict(&cx, &pods[0]).await?.is(201)?;
    // The replacement is expected but not healthy yet.
    counts(&cx, 3, 2, 2, 0).await?;
    Ok(())
}

async fn percentage_is_of_the_pods_a_deployment_should_have(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    cx.objects(&Kind::DISRUPTION_BUDGET)
        .create(budget("a", json!({ "minAvailable": "50%" })))
        .await?
        .is(201)?;
    for pod in deploy(&cx, 3).await? {
        node.run(&pod, true).await?;
    }
    // Rounded up.
    counts(&cx, 3, 3, 2, 1).await?;
    Ok(())
}

async fn unhealthy_pods_may_be_evicted_where_the_policy_says_so(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    let budgets = cx.objects(&Kind::DISRUPTION_BUDGET);
    budgets.create(budget("a", json!({ "minAvailable": 2 }))).await?.is(201)?;
    run_pods(&cx, &node, &[("one", true), ("two", false)]).await?;
    counts(&cx, 2, 1, 2, 0).await?;
    evict(&cx, "two").await?.refused(429, "TooManyRequests")?;
    budgets.merge("a", json!({ "spec": { "unhealthyPodEvictionPolicy": "AlwaysAllow" } })).await?.is(200)?;
    eventually("the policy to be seen", async || {
        Ok((budgets.get("a").await?.ok()?["status"]["observedGeneration"] == 2).then_some(()))
    })
    .await?;
    evict(&cx, "two").await?.is(201)?;
    evict(&cx, "one").await?.refused(429, "TooManyRequests")?;
    Ok(())
}

async fn pending_pods_may_always_be_evicted(cx: Cx) -> Result<()> {
    cx.objects(&Kind::DISRUPTION_BUDGET).create(budget("a", json!({ "minAvailable": 1 }))).await?.is(201)?;
    cx.objects(&Kind::POD).create(labelled("one")).await?.is(201)?;
    counts(&cx, 1, 0, 1, 0).await?;
    evict(&cx, "one").await?.is(201)?;
    cx.objects(&Kind::POD).get("one").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn pod_in_two_budgets_cannot_be_evicted(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    for name in ["a", "b"] {
        cx.objects(&Kind::DISRUPTION_BUDGET)
            .create(budget(name, json!({ "minAvailable": 0 })))
            .await?
            .is(201)?;
    }
    run_pods(&cx, &node, &[("one", true)]).await?;
    counts(&cx, 1, 1, 0, 1).await?;
    let reply = evict(&cx, "one").await?;
    ensure!(reply.status == 500 && reply.json()?["kind"] == "Status", "{reply}");
    cx.objects(&Kind::POD).get("one").await?.is(200)?;
    Ok(())
}

async fn budget_that_cannot_be_computed_says_so(cx: Cx) -> Result<()> {
    let labels = json!({ "app": "a" });
    let mut template = json!({ "metadata": { "labels": labels }, "spec": pod_spec() });
    template["spec"]["restartPolicy"] = "Never".into();
    let body = json!({ "metadata": { "name": "a" }, "spec": { "template": template } });
    cx.objects(&Kind::JOB).create(body).await?.is(201)?;
    let budgets = cx.objects(&Kind::DISRUPTION_BUDGET);
    budgets.create(budget("a", json!({ "maxUnavailable": 1 }))).await?.is(201)?;
    let status = eventually("the budget to say that it failed", async || {
        let status = budgets.get("a").await?.ok()?["status"].clone();
        Ok(is_allowed(&status, "False", "SyncFailed").then_some(status))
    })
    .await?;
    let message = status["conditions"][0]["message"].as_str().unwrap_or_default();
    ensure!(message == "jobs.batch does not implement the scale subresource", "{status}");
    ensure!(status["disruptionsAllowed"] == 0, "{status}");
    Ok(())
}

/// A budget for pods with the label `app: a`.
fn budget(name: &str, spec: Value) -> Value {
    let mut budget = json!({ "metadata": { "name": name }, "spec": spec });
    budget["spec"]["selector"] = json!({ "matchLabels": { "app": "a" } });
    budget
}

fn labelled(name: &str) -> Value {
    let mut body = pod(name);
    body["metadata"]["labels"]["app"] = "a".into();
    body
}

async fn run_pods(cx: &Cx, node: &PlayedNode, pods: &[(&str, bool)]) -> Result<()> {
    for (name, ready) in pods {
        cx.objects(&Kind::POD).create(labelled(name)).await?.is(201)?;
        node.run(name, *ready).await?;
    }
    Ok(())
}

/// Runs pods `one` and `two` under a budget `a` that lets one of them go. Counts them itself, as the controller would.
async fn budget_for_one_of_two(cx: &Cx) -> Result<Objects> {
    let node = cx.node().await?;
    run_pods(cx, &node, &[("one", true), ("two", true)]).await?;
    let budgets = cx.objects(&Kind::DISRUPTION_BUDGET);
    budgets.create(budget("a", json!({ "minAvailable": 1 }))).await?.is(201)?;
    let counted = json!({
        "observedGeneration": 1, "expectedPods": 2, "currentHealthy": 2, "desiredHealthy": 1, "disruptionsAllowed": 1
    });
    budgets.merge("a/status", json!({ "status": counted })).await?.is(200)?;
    Ok(budgets)
}

/// Makes a Deployment of pods with the label `app: a` and returns their names.
async fn deploy(cx: &Cx, replicas: usize) -> Result<Vec<String>> {
    let labels = json!({ "app": "a" });
    let body = json!({ "metadata": { "name": "a" }, "spec": {
        "replicas": replicas,
        "selector": { "matchLabels": labels },
        "template": { "metadata": { "labels": labels }, "spec": pod_spec() }
    } });
    cx.objects(&Kind::DEPLOYMENT).create(body).await?.is(201)?;
    eventually("the pods of the Deployment", async || {
        let pods = cx.objects(&Kind::POD).names("").await?;
        Ok((pods.len() == replicas).then_some(pods))
    })
    .await
}

async fn evict(cx: &Cx, pod: &str) -> Result<Reply> {
    let eviction = json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": pod } });
    cx.http.post(&format!("{}/{pod}/eviction", Kind::POD.path(&cx.namespace)), &eviction).await
}

/// The status of budget `a`, once it has these counts.
async fn counts(cx: &Cx, expected: i64, healthy: i64, desired: i64, allowed: i64) -> Result<Value> {
    let budgets = cx.objects(&Kind::DISRUPTION_BUDGET);
    let found = eventually(format!("{expected}, {healthy}, {desired}, {allowed}"), async || {
        let status = budgets.get("a").await?.ok()?["status"].clone();
        let is = [
            ("expectedPods", expected),
            ("currentHealthy", healthy),
            ("desiredHealthy", desired),
            ("disruptionsAllowed", allowed),
        ]
        .iter()
        .all(|(field, count)| status[field] == *count);
        Ok(is.then_some(status))
    })
    .await;
    match found {
        Err(error) => Err(error.context(budgets.get("a").await?.text())),
        found => found,
    }
}

fn is_allowed(status: &Value, is: &str, reason: &str) -> bool {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    conditions
        .into_iter()
        .any(|c| c["type"] == "DisruptionAllowed" && c["status"] == is && c["reason"] == reason)
}
