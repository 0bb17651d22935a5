//! Job: pods that are to end, as often as asked for.
//!
//! The rules of the spec stand in `job/spec.rs` (a CronJob's template has them too), those of the status in
//! `job/status.rs`.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{selector, workload};
use crate::api::{
    behaviour::{AGE, Behaviour, Column, NAME, Part, column},
    fault::{Faults, Path},
    object, valid,
};

pub mod spec;
mod status;

pub struct Job;

const COLUMNS: &[Column] = &[
    NAME,
    column("Status", "string", "Status of the job."),
    column("Completions", "string", "Number of pods that succeeded, and of those wanted."),
    column("Duration", "string", "Time required to complete the job."),
    AGE,
    workload::CONTAINERS,
    workload::IMAGES,
    workload::SELECTOR,
];

const CONTROLLER_UID: &str = "batch.kubernetes.io/controller-uid";
const JOB_NAME: &str = "batch.kubernetes.io/job-name";
/// The same labels, from before they had a domain.
const LEGACY_CONTROLLER_UID: &str = "controller-uid";
const LEGACY_JOB_NAME: &str = "job-name";

impl Behaviour for Job {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = workload::within(object, "spec") {
            default_spec(spec);
            workload::default_template(spec);
        }
        default_labels(object);
        workload::default_status(object, &[]);
        workload::drop_zeros(object, "status", &["active", "failed", "succeeded"]);
    }

    fn prepare_create(&self, object: &mut Value) {
        workload::reset_status(object, &[]);
        if object["spec"]["manualSelector"] != true {
            generate_selector(object);
        }
    }

    fn complete_create(&self, object: &mut Value, sent: &Value) {
        // Upstream's default lets a job without labels share the map of its template, so that what the server adds
        // to the one is in the other too.
        if sent["metadata"]["labels"].as_object().is_none_or(serde_json::Map::is_empty)
            && let Some(metadata) = object::child(object, "metadata")
        {
            metadata.remove("labels");
            default_labels(object);
        }
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, part: Part) {
        workload::keep_other_part(new, old, part);
    }

    fn validate(&self, object: &Value, faults: &mut Faults) {
        let (spec, path) = (&object["spec"], Path::new("spec"));
        validate_generated(object, faults);
        spec::validate(spec, &path, faults);
        if spec["selector"].is_object() {
            valid::label_selector(&spec["selector"], &path.child("selector"), faults);
        } else {
            faults.required(&path.child("selector"), "");
        }
        workload::validate_labels(spec, &path, faults);
        let completions = workload::number(spec, "/completions");
        if spec["completionMode"] == "Indexed" && completions > 0 {
            let last = format!("{}-{}", object::name(object), completions - 1);
            if valid::dns_label(&last).is_some() {
                let detail = format!("will not able to create pod with invalid DNS label: {last}");
                faults.invalid(&Path::new("metadata.name"), &object["metadata"]["name"], detail);
            }
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, part: Part, faults: &mut Faults) {
        match part {
            Part::Main => validate_change(new, old, faults),
            Part::Status => status::validate(new, old, faults),
        }
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        if old.is_some() { Vec::new() } else { workload::name_warning(object).into_iter().collect() }
    }

    fn has_status(&self) -> bool {
        true
    }

    fn has_generation(&self) -> bool {
        true
    }

    fn fields(&self, object: &Value) -> Vec<(&'static str, String)> {
        vec![("status.successful", workload::number(object, "/status/succeeded").to_string())]
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let [containers, images] = workload::container_cells(&object["spec"]["template"]);
        vec![
            object::name(object).into(),
            state(object).into(),
            completions(object).into(),
            duration(object, now).into(),
            object::age(object, now).into(),
            containers,
            images,
            selector::cell(&object["spec"]["selector"]).into(),
        ]
    }
}

fn default_spec(spec: &mut Value) {
    if spec["completions"].is_null() && spec["parallelism"].is_null() {
        object::default(spec, "completions", 1);
    }
    object::default(spec, "parallelism", 1);
    // With a limit for each index the total is bounded by the number of indexes.
    let retries = if spec["backoffLimitPerIndex"].is_null() { 6 } else { i32::MAX };
    object::default(spec, "backoffLimit", retries);
    object::default(spec, "completionMode", "NonIndexed");
    object::default(spec, "suspend", false);
    object::default(spec, "manualSelector", false);
    let replace = if spec["podFailurePolicy"].is_null() { "TerminatingOrFailed" } else { "Failed" };
    object::default(spec, "podReplacementPolicy", replace);
    spec::default_failure_policy(spec);
}

/// A job without labels has those of its pods.
fn default_labels(object: &mut Value) {
    let labels = object["spec"]["template"]["metadata"]["labels"].clone();
    let own = object["metadata"]["labels"].as_object().map_or(0, serde_json::Map::len);
    if own == 0
        && labels.is_object()
        && let Some(metadata) = object::child(object, "metadata")
    {
        metadata.insert("labels".to_owned(), labels);
    }
}

/// Labels and a selector by the job's uid, so that no other controller has the same.
fn generate_selector(object: &mut Value) {
    let (name, uid) = (object["metadata"]["name"].clone(), object["metadata"]["uid"].clone());
    let Some(spec) = workload::within(object, "spec") else { return };
    let labels = workload::within(spec, "template")
        .and_then(|template| workload::within(template, "metadata"))
        .and_then(|metadata| workload::within(metadata, "labels"));
    if let Some(labels) = labels {
        for (label, value) in [
            (LEGACY_JOB_NAME, &name),
            (JOB_NAME, &name),
            (LEGACY_CONTROLLER_UID, &uid),
            (CONTROLLER_UID, &uid),
        ] {
            object::default(labels, label, value.clone());
        }
    }
    let selected =
        workload::within(spec, "selector").and_then(|selector| workload::within(selector, "matchLabels"));
    if let Some(selected) = selected {
        object::default(selected, CONTROLLER_UID, uid);
    }
}

/// What was generated must still be there, unless the selector is the author's own.
fn validate_generated(object: &Value, faults: &mut Faults) {
    let spec = &object["spec"];
    if spec["manualSelector"] == true || !spec["selector"].is_object() {
        return;
    }
    let (name, uid) = (object::name(object), object::meta(object, "uid"));
    if uid.is_empty() {
        faults.required(&Path::new("metadata.uid"), "");
    }
    let labels = &spec["template"]["metadata"]["labels"];
    let mut expected = json!({});
    for (label, value) in
        [(LEGACY_CONTROLLER_UID, uid), (LEGACY_JOB_NAME, name), (CONTROLLER_UID, uid), (JOB_NAME, name)]
    {
        expected[label] = value.into();
        let path = Path::new("spec.template.metadata.labels").key(label);
        match labels[label].as_str() {
            None => faults.required(&path, format!("must be '{value}'")),
            Some(other) if other != value => faults.invalid(&path, labels, format!("must be '{value}'")),
            Some(_) => {}
        }
    }
    if !selector::matches(&spec["selector"], &expected) {
        faults.invalid(&Path::new("spec.selector"), &spec["selector"], "`selector` not auto-generated");
    }
}

fn validate_change(new: &Value, old: &Value, faults: &mut Faults) {
    let (spec, before, path) = (&new["spec"], &old["spec"], Path::new("spec"));
    let fixed = |field: &str, faults: &mut Faults| {
        valid::immutable(&spec[field], &before[field], &path.child(field), faults);
    };
    if spec["completionMode"] != "Indexed" {
        fixed("completions", faults);
    } else if spec["completions"] != before["completions"] && spec["completions"] != spec["parallelism"] {
        let detail = "can only be modified in tandem with spec.parallelism";
        faults.invalid(&path.child("completions"), &spec["completions"], detail);
    }
    fixed("selector", faults);
    validate_template_change(spec, old, faults);
    for field in ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"]
    {
        fixed(field, faults);
    }
}

/// The template stays, but for where pods go and what they get while the job is suspended and has none.
fn validate_template_change(spec: &Value, old: &Value, faults: &mut Faults) {
    let (template, path) = (&spec["template"], Path::new("spec.template"));
    if !is_at_rest(old) {
        return valid::immutable(template, &old["spec"]["template"], &path, faults);
    }
    let mut allowed = old["spec"]["template"].clone();
    for (part, fields) in [
        ("metadata", ["annotations", "labels"].as_slice()),
        ("spec", ["nodeSelector", "tolerations", "schedulingGates"].as_slice()),
    ] {
        for field in fields {
            take(&mut allowed[part], &template[part], field);
        }
    }
    allow_node_affinity(&mut allowed["spec"], &template["spec"]);
    for list in ["containers", "initContainers"] {
        let sent = object::items(&template["spec"], &format!("/{list}"));
        let kept: Vec<_> = workload::items_mut(&mut allowed["spec"], list).collect();
        if kept.len() == sent.len() {
            for (kept, sent) in kept.into_iter().zip(sent).filter(|(kept, sent)| kept["name"] == sent["name"])
            {
                take(kept, sent, "resources");
            }
        }
    }
    valid::immutable(&template["spec"], &allowed["spec"], &path.child("spec"), faults);
}

/// Whether a job is suspended and has no pods left.
fn is_at_rest(job: &Value) -> bool {
    let status = &job["status"];
    job["spec"]["suspend"] == true
        && (status["startTime"].is_null() || has_condition(job, "Suspended"))
        && workload::number(status, "/active") == 0
}

fn allow_node_affinity(allowed: &mut Value, sent: &Value) {
    let (had, has) = (allowed["affinity"].is_object(), sent["affinity"].is_object());
    if had || has {
        if let Some(affinity) = workload::within(allowed, "affinity") {
            take(affinity, &sent["affinity"], "nodeAffinity");
        }
        if !has && allowed["affinity"] == json!({}) {
            take(allowed, sent, "affinity");
        }
    }
}

/// Makes a field what it is in another object.
fn take(into: &mut Value, from: &Value, field: &str) {
    if let (Some(into), Some(from)) = (into.as_object_mut(), from.as_object()) {
        object::restore(into, from, field);
    } else if let Some(into) = into.as_object_mut() {
        into.remove(field);
    }
}

/// Whether a condition holds.
fn has_condition(job: &Value, kind: &str) -> bool {
    let conditions = object::items(job, "/status/conditions");
    conditions.iter().any(|condition| condition["type"] == kind && condition["status"] == "True")
}

fn state(job: &Value) -> &'static str {
    let terminating = !job["metadata"]["deletionTimestamp"].is_null();
    let of = |condition: &str| has_condition(job, condition);
    match () {
        () if of("Complete") => "Complete",
        () if of("Failed") => "Failed",
        () if terminating => "Terminating",
        () if of("Suspended") => "Suspended",
        () if of("FailureTarget") => "FailureTarget",
        () if of("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

fn completions(job: &Value) -> String {
    let (succeeded, parallelism) =
        (workload::number(job, "/status/succeeded"), workload::number(job, "/spec/parallelism"));
    match job["spec"]["completions"].as_i64() {
        Some(completions) => format!("{succeeded}/{completions}"),
        None if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        None => format!("{succeeded}/1"),
    }
}

fn duration(job: &Value, now: Timestamp) -> String {
    let time = |field: &str| job["status"][field].as_str().and_then(|time| time.parse::<Timestamp>().ok());
    match (time("startTime"), time("completionTime")) {
        (None, _) => String::new(),
        (Some(start), end) => object::human_duration(end.unwrap_or(now).duration_since(start)),
    }
}

#[cfg(test)]
mod tests;
