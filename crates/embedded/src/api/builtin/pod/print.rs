//! A pod as a line of a table: what people see of it first.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use crate::api::{
    builtin::forms::text,
    object::{age, human_duration, items, name},
};

pub(super) fn cells(pod: &Value, now: Timestamp) -> Vec<Value> {
    let summary = Summary::of(pod);
    let total = items(pod, "/spec/containers").len() + sidecars(pod).len();
    let or_none = |text: &str| if text.is_empty() { "<none>".to_owned() } else { text.to_owned() };
    let address = items(pod, "/status/podIPs").first().map_or("", |address| text(address, "ip"));
    vec![
        name(pod).into(),
        format!("{}/{total}", summary.ready).into(),
        summary.reason.into(),
        restarts(summary.restarts, summary.last_restart, now).into(),
        age(pod, now).into(),
        or_none(address).into(),
        or_none(text(&pod["spec"], "nodeName")).into(),
        or_none(text(&pod["status"], "nominatedNodeName")).into(),
        readiness_gates(pod).into(),
    ]
}

/// What the containers add up to.
struct Summary {
    ready: usize,
    reason: String,
    restarts: i64,
    last_restart: Option<Timestamp>,
}

impl Summary {
    fn of(pod: &Value) -> Self {
        let phase = text(&pod["status"], "phase");
        let mut summary = Self { ready: 0, reason: phase.to_owned(), restarts: 0, last_restart: None };
        if !text(&pod["status"], "reason").is_empty() {
            text(&pod["status"], "reason").clone_into(&mut summary.reason);
        }
        let gated = |condition: &Value| {
            condition["type"] == "PodScheduled" && condition["reason"] == "SchedulingGated"
        };
        if items(pod, "/status/conditions").iter().any(gated) {
            "SchedulingGated".clone_into(&mut summary.reason);
        }
        let initializing = summary.add_init_containers(pod);
        if !initializing || has_condition(pod, "Initialized") {
            summary.add_containers(pod);
        }
        if !pod["metadata"]["deletionTimestamp"].is_null() {
            if text(&pod["status"], "reason") == "NodeLost" {
                "Unknown".clone_into(&mut summary.reason);
            } else if phase != "Failed" && phase != "Succeeded" {
                "Terminating".clone_into(&mut summary.reason);
            }
        }
        summary
    }

    /// Goes through what runs first, up to the container that is not done. Whether there is one.
    fn add_init_containers(&mut self, pod: &Value) -> bool {
        let (sidecars, total) = (sidecars(pod), items(pod, "/spec/initContainers").len());
        for (index, status) in items(pod, "/status/initContainerStatuses").iter().enumerate() {
            self.count_restarts(status);
            let (waiting, terminated) = (&status["state"]["waiting"], &status["state"]["terminated"]);
            if !terminated.is_null() && exit_code(terminated) == 0 {
                continue;
            }
            if sidecars.contains(text(status, "name")) && status["started"] == true {
                self.ready += usize::from(status["ready"] == true);
                continue;
            }
            let reason = text(waiting, "reason");
            self.reason = if !terminated.is_null() {
                format!("Init:{}", ending(terminated))
            } else if !reason.is_empty() && reason != "PodInitializing" {
                format!("Init:{reason}")
            } else {
                format!("Init:{index}/{total}")
            };
            return true;
        }
        false
    }

    /// The containers proper; of those before them only the ones that stay count now.
    fn add_containers(&mut self, pod: &Value) {
        (self.restarts, self.last_restart) = (0, None);
        let sidecars = sidecars(pod);
        for status in items(pod, "/status/initContainerStatuses") {
            if sidecars.contains(text(status, "name")) {
                self.count_restarts(status);
            }
        }
        let (mut running, mut error) = (false, None);
        for status in items(pod, "/status/containerStatuses").iter().rev() {
            self.count_restarts(status);
            let (waiting, terminated) = (&status["state"]["waiting"], &status["state"]["terminated"]);
            if !text(waiting, "reason").is_empty() {
                text(waiting, "reason").clone_into(&mut self.reason);
            } else if !terminated.is_null() {
                self.reason = ending(terminated);
                if exit_code(terminated) != 0 {
                    error = Some(self.reason.clone());
                }
            } else if status["ready"] == true && !status["state"]["running"].is_null() {
                running = true;
                self.ready += 1;
            }
        }
        // One that is done says little about those that are not.
        if self.reason == "Completed" {
            if running && has_condition(pod, "Ready") {
                "Running".clone_into(&mut self.reason);
            } else if let Some(error) = error {
                self.reason = error;
            } else if running {
                "NotReady".clone_into(&mut self.reason);
            }
        }
    }

    fn count_restarts(&mut self, status: &Value) {
        self.restarts += status["restartCount"].as_i64().unwrap_or_default();
        let ended = text(&status["lastState"]["terminated"], "finishedAt").parse::<Timestamp>().ok();
        self.last_restart = self.last_restart.max(ended);
    }
}

/// The names of the containers that start before the others and stay.
fn sidecars(pod: &Value) -> BTreeSet<&str> {
    let first = items(pod, "/spec/initContainers").iter();
    first.filter(|container| container["restartPolicy"] == "Always").map(|c| text(c, "name")).collect()
}

fn exit_code(terminated: &Value) -> i64 {
    terminated["exitCode"].as_i64().unwrap_or_default()
}

fn ending(terminated: &Value) -> String {
    match (text(terminated, "reason"), terminated["signal"].as_i64().unwrap_or_default()) {
        ("", 0) => format!("ExitCode:{}", exit_code(terminated)),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn has_condition(pod: &Value, kind: &str) -> bool {
    items(pod, "/status/conditions").iter().any(|c| c["type"] == kind && c["status"] == "True")
}

/// `3 (5m ago)`
fn restarts(count: i64, last: Option<Timestamp>, now: Timestamp) -> String {
    match last.filter(|_| count != 0) {
        Some(last) => format!("{count} ({} ago)", human_duration(now.duration_since(last))),
        None => count.to_string(),
    }
}

fn readiness_gates(pod: &Value) -> String {
    let gates = items(pod, "/spec/readinessGates");
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let conditions =
        items(pod, "/status/conditions").iter().filter(|condition| condition["status"] == "True");
    let met: BTreeSet<_> = conditions.map(|condition| text(condition, "type")).collect();
    let open = gates.iter().filter(|gate| met.contains(text(gate, "conditionType"))).count();
    format!("{open}/{}", gates.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(spec: Value, status: Value) -> Value {
        let pod = json!({ "metadata": { "name": "a" }, "spec": spec, "status": status });
        json!(cells(&pod, "2026-01-01T01:00:00Z".parse().unwrap())[1..4])
    }

    fn containers(count: usize) -> Value {
        json!({ "containers": vec![json!({ "name": "c" }); count], "initContainers": [{ "name": "i" }, { "name": "j" }] })
    }

    #[test]
    fn the_most_telling_reason_is_shown() {
        let running = json!({ "ready": true, "restartCount": 1, "state": { "running": {} } });
        let crashing = json!({
            "restartCount": 3, "state": { "waiting": { "reason": "CrashLoopBackOff" } },
            "lastState": { "terminated": { "finishedAt": "2026-01-01T00:55:00Z" } }
        });
        let done = json!({ "state": { "terminated": { "exitCode": 0, "reason": "Completed" } } });
        let failed = json!({ "state": { "terminated": { "exitCode": 1, "reason": "Error" } } });
        let killed = json!({ "state": { "terminated": { "exitCode": 137, "signal": 9 } } });
        let status = |statuses: Value| json!({ "phase": "Running", "containerStatuses": statuses });
        for (statuses, expected) in [
            (json!([]), json!(["0/2", "Running", "0"])),
            (json!([crashing, running]), json!(["1/2", "CrashLoopBackOff", "4 (5m ago)"])),
            (json!([done, running]), json!(["1/2", "NotReady", "1"])),
            (json!([done, failed]), json!(["0/2", "Error", "0"])),
            (json!([killed]), json!(["0/2", "Signal:9", "0"])),
        ] {
            assert_eq!(row(containers(2), status(statuses)), expected);
        }
        let mut ready = status(json!([done, running]));
        ready["conditions"] = json!([{ "type": "Ready", "status": "True" }]);
        assert_eq!(row(containers(2), ready), json!(["1/2", "Running", "1"]));
    }

    #[test]
    fn progress_of_init_containers_is_shown() {
        let status = |statuses: Value| json!({ "phase": "Pending", "initContainerStatuses": statuses });
        let done = json!({ "name": "i", "state": { "terminated": { "exitCode": 0 } } });
        for (statuses, reason) in [
            (json!([done, { "name": "j", "state": { "running": {} } }]), "Init:1/2"),
            (
                json!([done, { "name": "j", "state": { "waiting": { "reason": "ErrImagePull" } } }]),
                "Init:ErrImagePull",
            ),
            (json!([{ "name": "i", "state": { "terminated": { "exitCode": 2 } } }]), "Init:ExitCode:2"),
            (json!([done, done]), "Pending"),
        ] {
            assert_eq!(row(containers(1), status(statuses))[1], reason);
        }
    }

    #[test]
    fn sidecars_count_as_containers() {
        let spec = json!({
            "containers": [{ "name": "c" }], "initContainers": [{ "name": "s", "restartPolicy": "Always" }]
        });
        let status = json!({
            "phase": "Running",
            "initContainerStatuses": [{
                "name": "s", "started": true, "ready": true, "restartCount": 2, "state": { "running": {} }
            }],
            "containerStatuses": [{ "name": "c", "ready": true, "restartCount": 0, "state": { "running": {} } }]
        });
        assert_eq!(row(spec, status), json!(["2/2", "Running", "2"]));
    }

    #[test]
    fn a_deleted_pod_is_terminating() {
        let now = Timestamp::UNIX_EPOCH;
        let pod = |phase: &str| json!({ "metadata": { "deletionTimestamp": "1970-01-01T00:00:00Z" }, "status": { "phase": phase } });
        assert_eq!(cells(&pod("Running"), now)[2], "Terminating");
        assert_eq!(cells(&pod("Succeeded"), now)[2], "Succeeded");
    }
}
