//! The rules of a Job's status: counters only rise, and an end is final and complete.
//!
//! Most rules look only at what a write changes, so that an old status that breaks one can still be written.

use serde_json::Value;

use super::{
    super::workload,
    has_condition,
    spec::{count_indexes, invalid},
};
use crate::api::fault::{Faults, Path};

/// What is wrong with a new status.
pub fn validate(new: &Value, old: &Value, faults: &mut Faults) {
    let path = Path::new("status");
    let counters = ["active", "succeeded", "failed", "ready", "terminating"];
    workload::not_negative(&new["status"], &counters, &path, faults);
    validate_conditions(new, old, &path.child("conditions"), faults);
    validate_times(new, old, &path, faults);
    validate_counts(new, old, &path, faults);
    validate_indexes(new, old, &path, faults);
}

fn is_finished(job: &Value) -> bool {
    has_condition(job, "Complete") || has_condition(job, "Failed")
}

fn changed(new: &Value, old: &Value, field: &str) -> bool {
    new["status"][field] != old["status"][field]
}

fn validate_conditions(new: &Value, old: &Value, path: &Path, faults: &mut Faults) {
    let flipped = |kind: &str| has_condition(new, kind) != has_condition(old, kind);
    let both = |one: &str, other: &str| has_condition(new, one) && has_condition(new, other);
    let lacking = |one: &str, other: &str| has_condition(new, one) && !has_condition(new, other);
    let ended = flipped("Complete") || flipped("Failed");
    let rules = [
        (ended && both("Complete", "Failed"), "cannot set Complete=True and Failed=true conditions"),
        (
            (flipped("Complete") || flipped("FailureTarget")) && both("Complete", "FailureTarget"),
            "cannot set Complete=True and FailureTarget=true conditions",
        ),
        (
            (flipped("Failed") || changed(new, old, "failedIndexes")) && lacking("Failed", "FailureTarget"),
            "cannot set Failed=True condition without the FailureTarget=true condition",
        ),
        (
            (flipped("Complete") || flipped("SuccessCriteriaMet"))
                && lacking("Complete", "SuccessCriteriaMet"),
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
        ),
        (
            both("SuccessCriteriaMet", "Failed"),
            "cannot set SuccessCriteriaMet=True and Failed=true conditions",
        ),
        (
            both("SuccessCriteriaMet", "FailureTarget"),
            "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
        ),
        (
            has_condition(old, "Complete")
                && !has_condition(old, "SuccessCriteriaMet")
                && has_condition(new, "SuccessCriteriaMet"),
            "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions",
        ),
    ];
    for (_, detail) in rules.iter().filter(|(broken, _)| *broken) {
        invalid(path, detail, faults);
    }
    for kind in ["Failed", "Complete", "FailureTarget"] {
        if has_condition(old, kind) && !has_condition(new, kind) {
            invalid(path, &format!("cannot disable the terminal {kind}=True condition"), faults);
        }
    }
    if has_condition(old, "SuccessCriteriaMet") && !has_condition(new, "SuccessCriteriaMet") {
        invalid(path, "cannot disable the SuccessCriteriaMet=True condition", faults);
    }
}

fn validate_times(new: &Value, old: &Value, path: &Path, faults: &mut Faults) {
    let (status, before) = (&new["status"], &old["status"]);
    let (start, end) = (&status["startTime"], &status["completionTime"]);
    let flipped = has_condition(new, "Complete") != has_condition(old, "Complete");
    let (start_path, end_path) = (path.child("startTime"), path.child("completionTime"));
    if flipped || changed(new, old, "completionTime") {
        match (end.is_null(), has_condition(new, "Complete")) {
            (false, false) => {
                let detail = "cannot set completionTime when there is no Complete=True condition";
                faults.invalid(&end_path, end, detail);
            }
            (true, true) => faults.required(&end_path, "completionTime is required for Complete jobs"),
            _ => {}
        }
    }
    let moved = changed(new, old, "startTime");
    // Both are written alike, in UTC and whole seconds, and so they compare as texts.
    if let (Some(start), Some(early)) = (start.as_str(), end.as_str())
        && (moved || changed(new, old, "completionTime"))
        && early < start
    {
        faults.invalid(&end_path, end, "must be equal to or after `startTime`");
    }
    if !end.is_null() && !before["completionTime"].is_null() && *end != before["completionTime"] {
        faults.invalid(&end_path, end, "field is immutable");
    }
    let empty = new["spec"]["suspend"] == true && new["spec"]["completions"] == 0;
    let ended = is_finished(new) != is_finished(old);
    if (ended || moved) && !empty && start.is_null() && is_finished(new) {
        faults.required(&start_path, "startTime is required for finished job");
    }
    let resuming = has_condition(old, "Suspended") && !has_condition(new, "Suspended");
    if moved && !resuming && !before["startTime"].is_null() && new["spec"]["suspend"] != true {
        faults.invalid(&start_path, start, "field is immutable for unsuspended job once set");
    }
}

fn validate_counts(new: &Value, old: &Value, path: &Path, faults: &mut Faults) {
    let (status, finished) = (&new["status"], is_finished(new));
    let number = |job: &Value, field: &str| workload::number(&job["status"], &format!("/{field}"));
    let ended = finished != is_finished(old);
    for field in ["active", "terminating"] {
        if (ended || changed(new, old, field)) && finished && number(new, field) > 0 {
            let detail = format!("{field}>0 is invalid for finished job");
            faults.invalid(&path.child(field), &status[field], detail);
        }
    }
    let uncounted = &status["uncountedTerminatedPods"];
    let left =
        ["succeeded", "failed"].iter().any(|list| uncounted[*list].as_array().is_some_and(|l| !l.is_empty()));
    if (ended || changed(new, old, "uncountedTerminatedPods")) && finished && left {
        faults.invalid(&path.child("uncountedTerminatedPods"), uncounted, "must be empty for finished job");
    }
    if (changed(new, old, "ready") || changed(new, old, "active"))
        && number(new, "ready") > number(new, "active")
    {
        faults.invalid(&path.child("ready"), &status["ready"], "cannot set more ready pods than active");
    }
    // An indexed job whose completions follow its parallelism can shrink.
    let elastic = new["spec"]["completionMode"] == "Indexed"
        && new["spec"]["completions"] == new["spec"]["parallelism"];
    for field in ["failed", "succeeded"] {
        if number(new, field) < number(old, field) && !(field == "succeeded" && elastic) {
            let detail = format!("cannot decrease the {field} counter");
            faults.invalid(&path.child(field), &number(new, field).into(), detail);
        }
    }
}

fn validate_indexes(new: &Value, old: &Value, path: &Path, faults: &mut Faults) {
    let (status, spec) = (&new["status"], &new["spec"]);
    let completions = spec["completions"].as_i64();
    for field in ["completedIndexes", "failedIndexes"].into_iter().filter(|field| changed(new, old, field)) {
        let Some(indexes) = status[field].as_str() else { continue };
        let path = path.child(field);
        if let Some(Err(error)) = completions.map(|completions| count_indexes(indexes, completions)) {
            faults.invalid_text(&path, indexes, format!("error parsing {field}: {error}"));
        }
        if field == "completedIndexes" && !indexes.is_empty() && spec["completionMode"] != "Indexed" {
            let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
            faults.invalid_text(&path, indexes, detail);
        }
        if field == "failedIndexes" && spec["backoffLimitPerIndex"].is_null() {
            let detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
            faults.invalid_text(&path, indexes, detail);
        }
    }
}
