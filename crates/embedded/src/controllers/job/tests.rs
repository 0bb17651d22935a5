//! A Job's life without a server: the pure parts in the order in which a visit puts them together, with a crash
//! before any write.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{
    pods::{TRACKING, has_succeeded, index, is_tracked},
    status,
    tally::Tally,
    template, verdict,
};
use crate::controllers::records::{Job, Pod};

/// The process died.
#[derive(Debug)]
struct Crash;

struct World {
    job: Job,
    pods: Vec<Arc<Pod>>,
    now: Timestamp,
    made: usize,
    /// How many writes there are until the process dies.
    writes_left: usize,
}

impl World {
    fn new(spec: Value) -> Self {
        let mut job = json!({
            "metadata": { "name": "a", "namespace": "n", "uid": "job", "resourceVersion": "1" }, "spec": spec,
        });
        job["spec"]["template"] = json!({
            "metadata": { "labels": { "app": "a" } },
            "spec": { "restartPolicy": "Never", "containers": [{ "name": "main" }] },
        });
        job["spec"]["selector"] = json!({ "matchLabels": { "app": "a" } });
        let job = serde_json::from_value(job).expect("a Job");
        let now = "2026-01-01T00:00:00Z".parse().expect("a time");
        Self { job, pods: Vec::new(), now, made: 0, writes_left: usize::MAX }
    }

    fn write(&mut self) -> Result<(), Crash> {
        self.writes_left = self.writes_left.checked_sub(1).ok_or(Crash)?;
        Ok(())
    }

    fn change(&mut self, uid: &str, change: impl FnOnce(&mut Pod)) {
        if let Some(pod) = self.pods.iter_mut().find(|pod| pod.uid() == uid) {
            change(Arc::make_mut(pod));
        }
        // What ends and is held by nothing is gone.
        self.pods.retain(|pod| !pod.is_ending() || is_tracked(pod));
    }

    fn create(&mut self, index: Option<u32>, replaces: Option<&Pod>) -> Result<(), Crash> {
        self.write()?;
        let mut pod = template::pod(&self.job, index, replaces);
        let name = format!("pod-{}", self.made);
        (pod["metadata"]["uid"], pod["metadata"]["name"]) = (json!(name), json!(name));
        pod["metadata"]["creationTimestamp"] = json!(self.now.to_string());
        pod["status"] = json!({ "phase": "Pending" });
        self.pods.push(Arc::new(serde_json::from_value(pod).expect("a pod")));
        self.made += 1;
        Ok(())
    }

    fn delete(&mut self, uid: &str) -> Result<(), Crash> {
        self.write()?;
        let now = self.now;
        self.change(uid, |pod| pod.metadata.deletion_timestamp = Some(now.into()));
        Ok(())
    }

    fn release(&mut self, uid: &str) -> Result<(), Crash> {
        if self.pods.iter().any(|pod| pod.uid() == uid && is_tracked(pod)) {
            self.write()?;
            self.change(uid, |pod| pod.metadata.finalizers = None);
        }
        Ok(())
    }

    /// One visit, as the controller does it.
    fn visit(&mut self) -> Result<(), Crash> {
        let (job, pods, now) = (self.job.clone(), self.pods.clone(), self.now);
        if job.finished().is_some() {
            return pods.iter().try_for_each(|pod| self.release(pod.uid()));
        }
        let tally = Tally::of(&job, &pods);
        if let Some(verdict) = verdict::verdict(&job, &tally, &pods, now) {
            let written = job.holding(verdict.condition()).is_some();
            tally.active.iter().filter(|_| written).try_for_each(|pod| self.delete(pod.uid()))?;
        } else {
            let plan = super::plan::plan(&job, &tally, &pods, now);
            for pod in plan.remove {
                self.release(pod.uid())?;
                self.delete(pod.uid())?;
            }
            for index in plan.create {
                let replaces = index.and_then(|index| tally.waiting.get(&index));
                self.create(index, replaces.map(|pod| pod.as_ref()))?;
            }
        }
        let outcome = status::next(&job, &self.pods, now);
        if outcome.status != job.status {
            self.write()?;
            self.job.status = outcome.status;
        }
        outcome.release.iter().try_for_each(|pod| self.release(pod.uid()))
    }

    /// Visits until nothing is left to write; a crash is a restart.
    fn settle(&mut self) {
        for _ in 0..50 {
            let (status, pods) = (self.job.status.clone(), json_of(&self.pods));
            if self.visit().is_err() {
                self.writes_left = usize::MAX;
            } else if status == self.job.status && pods == json_of(&self.pods) {
                return;
            }
        }
        panic!("it does not settle: {:?}", self.job.status);
    }

    /// Ends an active pod, as a kubelet would.
    fn end(&mut self, phase: &str, pick: impl Fn(&Pod) -> bool) {
        let uid = self.pods.iter().find(|pod| pod.is_active() && pick(pod)).expect("a pod").uid().to_owned();
        let now = self.now;
        self.change(&uid, |pod| {
            pod.status.phase = phase.to_owned();
            let code = i32::from(phase == "Failed");
            let terminated = json!({ "terminated": { "exitCode": code, "finishedAt": now.to_string() } });
            let container = json!({ "name": "main", "state": terminated });
            pod.status.container_statuses = vec![serde_json::from_value(container).expect("a container")];
        });
    }

    fn wait(&mut self, seconds: i64) {
        self.now = self.now.checked_add(SignedDuration::from_secs(seconds)).expect("a time");
    }

    fn active(&self) -> usize {
        self.pods.iter().filter(|pod| pod.is_active()).count()
    }

    fn counts(&self) -> (i32, i32) {
        let status = &self.job.status;
        (status.succeeded.unwrap_or_default(), status.failed.unwrap_or_default())
    }

    fn reason(&self, kind: &str) -> Option<&str> {
        self.job.holding(kind)?.reason.as_deref()
    }
}

fn json_of(pods: &[Arc<Pod>]) -> String {
    format!("{pods:?}")
}

fn any(_: &Pod) -> bool {
    true
}

#[test]
fn each_end_is_counted_once_wherever_it_crashes() {
    for crash in 0..40 {
        let mut world = World::new(json!({ "completions": 3, "parallelism": 2 }));
        world.writes_left = crash;
        world.settle();
        assert_eq!(world.active(), 2, "crash before write {crash}");
        for phase in ["Succeeded", "Failed", "Succeeded", "Succeeded"] {
            world.end(phase, any);
            world.settle();
            world.wait(20);
            world.settle();
        }
        assert_eq!(world.counts(), (3, 1), "crash before write {crash}");
        assert_eq!(world.reason("Complete"), Some("CompletionsReached"), "crash before write {crash}");
        assert!(world.pods.len() == 4 && !world.pods.iter().any(|pod| is_tracked(pod)), "{crash}");
    }
}

#[test]
fn each_index_is_completed_once_wherever_it_crashes() {
    for crash in 0..40 {
        let spec = json!({
            "completionMode": "Indexed", "completions": 3, "parallelism": 3, "backoffLimit": i32::MAX,
            "backoffLimitPerIndex": 1,
        });
        let mut world = World::new(spec);
        world.writes_left = crash;
        world.settle();
        let of = |wanted: u32| move |pod: &Pod| index(pod) == Some(wanted);
        for (phase, index) in [("Failed", 1), ("Succeeded", 0), ("Succeeded", 2), ("Failed", 1)] {
            world.end(phase, of(index));
            world.settle();
            world.wait(20);
            world.settle();
        }
        assert_eq!(world.counts(), (2, 2), "crash before write {crash}");
        let status = &world.job.status;
        assert_eq!(status.completed_indexes.as_deref(), Some("0,2"), "crash before write {crash}");
        assert_eq!(status.failed_indexes.as_deref(), Some("1"), "crash before write {crash}");
        assert_eq!(world.reason("Failed"), Some("FailedIndexes"), "crash before write {crash}");
        let last = world.pods.iter().rfind(|pod| index(pod) == Some(1)).expect("a pod");
        assert_eq!(last.annotation(super::pods::FAILURES), Some("1"));
    }
}

#[test]
fn suspension_takes_pods_away_that_do_not_count() {
    for crash in 0..12 {
        let mut world = World::new(json!({ "completions": 2, "parallelism": 2, "backoffLimit": 0 }));
        world.settle();
        world.job.spec.suspend = true;
        world.writes_left = crash;
        world.settle();
        assert!(world.pods.is_empty() && world.job.status.start_time.is_none(), "crash before write {crash}");
        assert_eq!(world.reason("Suspended"), Some("JobSuspended"));
        world.job.spec.suspend = false;
        world.settle();
        assert_eq!((world.active(), world.counts()), (2, (0, 0)), "crash before write {crash}");
        assert!(world.job.holding("Suspended").is_none() && world.job.status.start_time.is_some());
    }
}

#[test]
fn a_pod_that_lost_its_finalizer_is_replaced() {
    let mut world = World::new(json!({ "completions": 1, "parallelism": 1 }));
    world.settle();
    world.change("pod-0", |pod| pod.metadata.finalizers = None);
    world.settle();
    assert_eq!((world.active(), world.made), (1, 2));
    assert!(world.pods.iter().all(|pod| is_tracked(pod)));
}

#[test]
fn failed_pods_are_replaced_after_a_while() {
    let mut world = World::new(json!({ "completions": 1, "parallelism": 1, "backoffLimit": 2 }));
    world.settle();
    for wait in [10, 20] {
        world.end("Failed", any);
        world.settle();
        world.wait(wait - 1);
        world.settle();
        assert_eq!(world.active(), 0, "{wait} seconds");
        world.wait(1);
        world.settle();
        assert_eq!(world.active(), 1, "{wait} seconds");
    }
    world.end("Failed", any);
    world.settle();
    assert_eq!((world.reason("Failed"), world.counts()), (Some("BackoffLimitExceeded"), (0, 3)));
    assert!(world.job.status.completion_time.is_none());
}

#[test]
fn a_deadline_ends_what_still_runs() {
    let mut world = World::new(json!({ "completions": 2, "parallelism": 2, "activeDeadlineSeconds": 60 }));
    world.settle();
    world.end("Succeeded", any);
    world.settle();
    world.wait(59);
    assert!(verdict::time_left(&world.job, world.now).is_some());
    world.settle();
    assert_eq!(world.reason("Failed"), None);
    world.wait(1);
    world.settle();
    assert_eq!(
        (world.reason("Failed"), world.reason("FailureTarget")),
        (Some("DeadlineExceeded"), Some("DeadlineExceeded"))
    );
    assert_eq!((world.counts(), world.active()), ((1, 1), 0));
}

#[test]
fn policies_decide_what_an_end_means() {
    let rule = |action: &str| json!({ "rules": [{ "action": action, "onExitCodes": { "operator": "In", "values": [1] } }] });
    let base = json!({ "completions": 1, "parallelism": 1, "backoffLimit": 0 });
    let run = |action: &str| {
        let mut spec = base.clone();
        spec["podFailurePolicy"] = rule(action);
        let mut world = World::new(spec);
        world.settle();
        world.end("Failed", any);
        world.settle();
        world.wait(20);
        world.settle();
        world
    };
    let ignored = run("Ignore");
    assert_eq!((ignored.counts(), ignored.active(), ignored.reason("Failed")), ((0, 0), 1, None));
    let failed = run("FailJob");
    assert_eq!(failed.reason("Failed"), Some("PodFailurePolicy"));
    let message = "Container main for pod n/pod-0 failed with exit code 1 matching FailJob rule at index 0";
    assert_eq!(failed.job.holding("Failed").and_then(|failed| failed.message.as_deref()), Some(message));
    assert_eq!(run("Count").reason("Failed"), Some("BackoffLimitExceeded"));
}

#[test]
fn a_success_policy_ends_a_job_with_pods_that_are_no_failures() {
    for crash in 0..12 {
        let rules = json!([{ "succeededIndexes": "1-2", "succeededCount": 1 }]);
        let mut world = World::new(json!({
            "completionMode": "Indexed", "completions": 3, "parallelism": 3, "backoffLimit": 0,
            "successPolicy": { "rules": rules },
        }));
        world.settle();
        world.end("Succeeded", |pod| index(pod) == Some(0));
        world.settle();
        assert_eq!((world.reason("Complete"), world.active()), (None, 2));
        world.end("Succeeded", |pod| index(pod) == Some(2));
        world.writes_left = crash;
        world.settle();
        let end = (world.reason("Complete"), world.active(), world.counts());
        assert_eq!(end, (Some("SuccessPolicy"), 0, (2, 0)), "crash before write {crash}");
        assert!(world.pods.iter().all(|pod| has_succeeded(pod)));
    }
}

#[test]
fn pods_beyond_the_parallelism_and_twins_go() {
    let spec = json!({ "completionMode": "Indexed", "completions": 4, "parallelism": 3 });
    let mut world = World::new(spec);
    world.settle();
    world.create(Some(1), None).expect("no crash");
    world.change("pod-3", |pod| pod.spec.node_name = "bound".to_owned());
    world.settle();
    let mut left: Vec<_> = world.pods.iter().map(|pod| (index(pod), pod.name().to_owned())).collect();
    left.sort();
    let names = [(Some(0), "pod-0"), (Some(1), "pod-3"), (Some(2), "pod-2")];
    assert_eq!(left, names.map(|(index, name)| (index, name.to_owned())));
    world.job.spec.parallelism = 1;
    world.settle();
    assert_eq!(world.pods.iter().map(|pod| pod.name()).collect::<Vec<_>>(), ["pod-3"]);
    assert_eq!(world.counts(), (0, 0));
}

#[test]
fn pods_know_their_index() {
    let world =
        World::new(json!({ "completionMode": "Indexed", "completions": 4, "backoffLimitPerIndex": 2 }));
    let pod = template::pod(&world.job, Some(3), None);
    let metadata = &pod["metadata"];
    assert_eq!((&metadata["generateName"], &pod["spec"]["hostname"]), (&json!("a-3-"), &json!("a-3")));
    assert_eq!(metadata["labels"]["batch.kubernetes.io/job-completion-index"], "3");
    assert_eq!(metadata["annotations"]["batch.kubernetes.io/job-index-failure-count"], "0");
    assert_eq!(metadata["finalizers"], json!([TRACKING]));
    let variable = &pod["spec"]["containers"][0]["env"][0];
    let path = "metadata.labels['batch.kubernetes.io/job-completion-index']";
    assert_eq!(variable["name"], "JOB_COMPLETION_INDEX");
    assert_eq!(variable["valueFrom"]["fieldRef"]["fieldPath"], path);
    assert!(pod["spec"].get("initContainers").is_none());
}
