//! Jobs, on a played node.

use anneal_harness::Needs;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::workloads::{
    active_pods, awaited, controller, controller_reference, gone, has_condition, is_condition, list, name,
};
use crate::{
    Case, Cx, Kind,
    case::cases,
    fixtures::{pod, pod_spec},
};

pub(super) fn cases() -> Vec<Case> {
    cases![
        Needs::API => [job_defaults_are_filled_in_and_its_template_stays],
        Needs::CONTROLLERS => [
            job_completes_with_its_pods,
            job_runs_no_more_pods_than_its_parallelism,
            indexed_job_gives_each_pod_its_index,
            failed_index_does_not_stop_the_others,
            failure_policy_fails_a_job_at_once,
            success_policy_completes_a_job_early,
            job_adopts_pods_that_it_selects,
            job_out_of_retries_fails,
            job_past_its_deadline_fails,
            suspended_job_has_no_pods,
            finished_job_is_removed_after_its_time,
            deleted_job_leaves_its_pods_unless_told_otherwise,
        ],
    ]
}

async fn job_defaults_are_filled_in_and_its_template_stays(cx: Cx) -> Result<()> {
    let jobs = cx.objects(&Kind::JOB);
    let mut body = job("a", json!({ "suspend": true }));
    let made = jobs.create(body.clone()).await?.is(201)?;
    for (field, value) in [
        ("parallelism", json!(1)),
        ("completions", json!(1)),
        ("backoffLimit", json!(6)),
        ("completionMode", json!("NonIndexed")),
        (
            "selector",
            json!({ "matchLabels": { "batch.kubernetes.io/controller-uid": made["metadata"]["uid"] } }),
        ),
    ] {
        ensure!(made["spec"][field] == value, "{field}: {}", made["spec"]);
    }
    let labels = &made["spec"]["template"]["metadata"]["labels"];
    ensure!(labels["batch.kubernetes.io/job-name"] == "a" && labels["job-name"] == "a", "{labels}");
    let image = json!({ "spec": { "template": { "spec": { "restartPolicy": "OnFailure" } } } });
    let status = jobs.merge("a", image).await?.refused(422, "Invalid")?;
    let field = status["details"]["causes"][0]["field"].as_str().unwrap_or_default();
    ensure!(field.starts_with("spec.template"), "{status}");
    body["metadata"]["name"] = "b".into();
    body["spec"]["template"]["spec"]["restartPolicy"] = "Always".into();
    let status = jobs.create(body).await?.refused(422, "Invalid")?;
    ensure!(status["details"]["causes"][0]["field"] == "spec.template.spec.restartPolicy", "{status}");
    Ok(())
}

async fn job_completes_with_its_pods(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    let made = cx.objects(&Kind::JOB).create(job("a", json!({}))).await?.is(201)?;
    let pods = active_pods(&cx, 1).await?;
    ensure!(controller(&pods[0]) == controller_reference(&made), "{}", pods[0]);
    ensure!(pods[0]["metadata"]["labels"]["batch.kubernetes.io/job-name"] == "a", "{}", pods[0]);
    node.run(name(&pods[0]), true).await?;
    job_is(&cx, "an active pod", |a| {
        a["status"]["active"] == 1 && a["status"]["ready"] == 1 && !a["status"]["startTime"].is_null()
    })
    .await?;
    node.end(name(&pods[0]), 0).await?;
    let done = job_is(&cx, "completion", |a| has_condition(a, "Complete", "True")).await?;
    ensure!(done["status"]["succeeded"] == 1 && done["status"]["active"].is_null(), "{done}");
    ensure!(!done["status"]["completionTime"].is_null(), "{done}");
    // The pod stays to be read, and nothing holds it any more.
    let pod = cx.objects(&Kind::POD).get(name(&pods[0])).await?.is(200)?;
    ensure!(pod["metadata"]["finalizers"].is_null(), "{pod}");
    Ok(())
}

async fn job_runs_no_more_pods_than_its_parallelism(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    cx.objects(&Kind::JOB).create(job("a", json!({ "completions": 3, "parallelism": 2 }))).await?.is(201)?;
    let pods = active_pods(&cx, 2).await?;
    job_is(&cx, "two active pods", |a| a["status"]["active"] == 2).await?;
    ensure!(list(&cx, &Kind::POD).await?.len() == 2, "two at once are enough");
    node.end(name(&pods[0]), 0).await?;
    for pod in active_pods(&cx, 2).await? {
        node.end(name(&pod), 0).await?;
    }
    let done = job_is(&cx, "completion", |a| has_condition(a, "Complete", "True")).await?;
    ensure!(done["status"]["succeeded"] == 3 && list(&cx, &Kind::POD).await?.len() == 3, "{done}");
    Ok(())
}

async fn indexed_job_gives_each_pod_its_index(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    let body = job("a", json!({ "completionMode": "Indexed", "completions": 2, "parallelism": 2 }));
    cx.objects(&Kind::JOB).create(body).await?.is(201)?;
    let pods = active_pods(&cx, 2).await?;
    let mut indexes = Vec::new();
    for pod in &pods {
        let index = pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"].clone();
        let env = &pod["spec"]["containers"][0]["env"];
        ensure!(env[0]["name"] == "JOB_COMPLETION_INDEX", "{pod}");
        indexes.push(index.as_str().unwrap_or_default().to_owned());
        node.end(name(pod), 0).await?;
    }
    indexes.sort();
    ensure!(indexes == ["0", "1"], "{indexes:?}");
    let done = job_is(&cx, "completion", |a| has_condition(a, "Complete", "True")).await?;
    ensure!(done["status"]["completedIndexes"] == "0,1", "{done}");
    Ok(())
}

async fn failed_index_does_not_stop_the_others(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    let spec = json!({
        "completionMode": "Indexed", "completions": 2, "parallelism": 2, "backoffLimitPerIndex": 0
    });
    cx.objects(&Kind::JOB).create(job("a", spec)).await?.is(201)?;
    let pods = active_pods(&cx, 2).await?;
    node.end(name(pod_of_index(&pods, "1")?), 1).await?;
    let running = job_is(&cx, "the failed index", |a| a["status"]["failedIndexes"] == "1").await?;
    ensure!(!has_condition(&running, "FailureTarget", "True"), "{running}");
    node.end(name(pod_of_index(&pods, "0")?), 0).await?;
    let failed = job_is(&cx, "failure", |a| has_condition(a, "Failed", "True")).await?;
    ensure!(is_condition(&failed, "Failed", "True", "FailedIndexes"), "{failed}");
    ensure!(failed["status"]["completedIndexes"] == "0" && failed["status"]["failed"] == 1, "{failed}");
    Ok(())
}

async fn failure_policy_fails_a_job_at_once(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    let codes = json!({ "operator": "In", "values": [42] });
    let rules = json!([{ "action": "FailJob", "onExitCodes": codes }]);
    let spec = json!({ "completions": 2, "parallelism": 2, "podFailurePolicy": { "rules": rules } });
    cx.objects(&Kind::JOB).create(job("a", spec)).await?.is(201)?;
    let pods = active_pods(&cx, 2).await?;
    node.end(name(&pods[0]), 42).await?;
    let failed = job_is(&cx, "failure", |a| has_condition(a, "Failed", "True")).await?;
    ensure!(is_condition(&failed, "Failed", "True", "PodFailurePolicy"), "{failed}");
    ensure!(is_condition(&failed, "FailureTarget", "True", "PodFailurePolicy"), "{failed}");
    active_pods(&cx, 0).await?;
    Ok(())
}

async fn success_policy_completes_a_job_early(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    let rules = json!([{ "succeededIndexes": "1" }]);
    let spec = json!({
        "completionMode": "Indexed", "completions": 3, "parallelism": 2, "successPolicy": { "rules": rules }
    });
    cx.objects(&Kind::JOB).create(job("a", spec)).await?.is(201)?;
    let pods = active_pods(&cx, 2).await?;
    node.end(name(pod_of_index(&pods, "1")?), 0).await?;
    let done = job_is(&cx, "completion", |a| has_condition(a, "Complete", "True")).await?;
    ensure!(is_condition(&done, "SuccessCriteriaMet", "True", "SuccessPolicy"), "{done}");
    ensure!(done["status"]["completedIndexes"] == "1" && done["status"]["failed"].is_null(), "{done}");
    active_pods(&cx, 0).await?;
    Ok(())
}

async fn job_adopts_pods_that_it_selects(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    let mut orphan = pod("one");
    orphan["metadata"]["labels"]["app"] = "a".into();
    cx.objects(&Kind::POD).create(orphan).await?.is(201)?;
    let labels = json!({ "app": "a" });
    let mut body = job("a", json!({ "manualSelector": true, "selector": { "matchLabels": labels } }));
    body["spec"]["template"]["metadata"] = json!({ "labels": labels });
    let made = cx.objects(&Kind::JOB).create(body).await?.is(201)?;
    let adopted =
        awaited(&cx, &Kind::POD, "one", "an owner", |one| !one["metadata"]["ownerReferences"].is_null());
    let adopted = adopted.await?;
    ensure!(controller(&adopted) == controller_reference(&made), "{adopted}");
    ensure!(adopted["metadata"]["finalizers"] == json!(["batch.kubernetes.io/job-tracking"]), "{adopted}");
    node.end("one", 0).await?;
    let done = job_is(&cx, "completion", |a| has_condition(a, "Complete", "True")).await?;
    ensure!(done["status"]["succeeded"] == 1 && list(&cx, &Kind::POD).await?.len() == 1, "{done}");
    Ok(())
}

async fn job_out_of_retries_fails(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    cx.objects(&Kind::JOB).create(job("a", json!({ "backoffLimit": 0 }))).await?.is(201)?;
    node.end(name(&active_pods(&cx, 1).await?[0]), 1).await?;
    let failed = job_is(&cx, "failure", |a| has_condition(a, "Failed", "True")).await?;
    ensure!(is_condition(&failed, "Failed", "True", "BackoffLimitExceeded"), "{failed}");
    ensure!(failed["status"]["failed"] == 1 && failed["status"]["completionTime"].is_null(), "{failed}");
    ensure!(list(&cx, &Kind::POD).await?.len() == 1, "the failed pod stays and no other comes");
    Ok(())
}

async fn job_past_its_deadline_fails(cx: Cx) -> Result<()> {
    cx.objects(&Kind::JOB).create(job("a", json!({ "activeDeadlineSeconds": 1 }))).await?.is(201)?;
    let failed = job_is(&cx, "failure", |a| has_condition(a, "Failed", "True")).await?;
    ensure!(is_condition(&failed, "Failed", "True", "DeadlineExceeded"), "{failed}");
    active_pods(&cx, 0).await?;
    Ok(())
}

async fn suspended_job_has_no_pods(cx: Cx) -> Result<()> {
    let jobs = cx.objects(&Kind::JOB);
    jobs.create(job("a", json!({}))).await?.is(201)?;
    active_pods(&cx, 1).await?;
    jobs.merge("a", json!({ "spec": { "suspend": true } })).await?.is(200)?;
    active_pods(&cx, 0).await?;
    let suspended =
        job_is(&cx, "the suspension", |a| is_condition(a, "Suspended", "True", "JobSuspended")).await?;
    ensure!(suspended["status"]["startTime"].is_null(), "{suspended}");
    jobs.merge("a", json!({ "spec": { "suspend": false } })).await?.is(200)?;
    active_pods(&cx, 1).await?;
    job_is(&cx, "the resumption", |a| {
        is_condition(a, "Suspended", "False", "JobResumed") && !a["status"]["startTime"].is_null()
    })
    .await?;
    Ok(())
}

async fn finished_job_is_removed_after_its_time(cx: Cx) -> Result<()> {
    let node = cx.node().await?;
    cx.objects(&Kind::JOB).create(job("a", json!({ "ttlSecondsAfterFinished": 0 }))).await?.is(201)?;
    let pods = active_pods(&cx, 1).await?;
    node.end(name(&pods[0]), 0).await?;
    gone(&cx.objects(&Kind::JOB), "a").await?;
    gone(&cx.objects(&Kind::POD), name(&pods[0])).await
}

async fn deleted_job_leaves_its_pods_unless_told_otherwise(cx: Cx) -> Result<()> {
    let jobs = cx.objects(&Kind::JOB);
    for (policy, stays) in [("", true), ("?propagationPolicy=Background", false)] {
        jobs.create(job("a", json!({}))).await?.is(201)?;
        let pods = active_pods(&cx, 1).await?;
        job_is(&cx, "an active pod", |a| a["status"]["active"] == 1).await?;
        jobs.delete(&format!("a{policy}")).await?.ok()?;
        gone(&jobs, "a").await?;
        if stays {
            let orphan = cx.objects(&Kind::POD).get(name(&pods[0])).await?.is(200)?;
            ensure!(orphan["metadata"]["ownerReferences"].is_null(), "{orphan}");
            cx.objects(&Kind::POD).delete(name(&pods[0])).await?.ok()?;
        }
        gone(&cx.objects(&Kind::POD), name(&pods[0])).await?;
    }
    Ok(())
}

fn job(name: &str, spec: Value) -> Value {
    let mut job = json!({ "metadata": { "name": name }, "spec": spec });
    job["spec"]["template"] = json!({ "spec": pod_spec() });
    job["spec"]["template"]["spec"]["restartPolicy"] = "Never".into();
    job
}

fn pod_of_index<'a>(pods: &'a [Value], index: &str) -> Result<&'a Value> {
    let label = "batch.kubernetes.io/job-completion-index";
    let found = pods.iter().find(|pod| pod["metadata"]["labels"][label] == index);
    found.with_context(|| format!("no pod of index {index} in {pods:?}"))
}

/// Job `a`, once it is as it should be.
async fn job_is(cx: &Cx, what: &str, is: impl Fn(&Value) -> bool) -> Result<Value> {
    awaited(cx, &Kind::JOB, "a", what, is).await
}
