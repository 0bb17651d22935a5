//! CronJob: Jobs at certain times. Stored, but nothing here makes the Jobs.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{forms::text, job, selector, workload};
use crate::api::{
    behaviour::{AGE, Behaviour, Column, NAME, Part, column},
    fault::{Faults, Path},
    object, valid,
};

mod schedule;

pub struct CronJob;

const COLUMNS: &[Column] = &[
    NAME,
    column("Schedule", "string", "The schedule in Cron format."),
    column("Timezone", "string", "The time zone of the schedule."),
    column("Suspend", "boolean", "Whether no more Jobs are made."),
    column("Active", "integer", "Number of Jobs that run."),
    column("Last Schedule", "string", "When a Job was made last."),
    AGE,
    workload::CONTAINERS,
    workload::IMAGES,
    workload::SELECTOR,
];

/// The names of Jobs have eleven characters more, and at most 63.
const MAX_NAME: usize = 52;

impl Behaviour for CronJob {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = workload::within(object, "spec") {
            object::fill(spec, "concurrencyPolicy", "Allow");
            object::default(spec, "suspend", false);
            object::default(spec, "successfulJobsHistoryLimit", 3);
            object::default(spec, "failedJobsHistoryLimit", 1);
            if let Some(template) = workload::within(spec, "jobTemplate") {
                workload::within(template, "metadata");
                if let Some(job) = workload::within(template, "spec") {
                    job::spec::default_failure_policy(job);
                    workload::default_template(job);
                }
            }
        }
        workload::default_status(object, &[]);
    }

    fn prepare_create(&self, object: &mut Value) {
        workload::reset_status(object, &[]);
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, part: Part) {
        workload::keep_other_part(new, old, part);
    }

    fn validate(&self, object: &Value, faults: &mut Faults) {
        let (spec, path) = (&object["spec"], Path::new("spec"));
        validate_schedule(text(spec, "schedule"), &path.child("schedule"), faults);
        valid::not_negative(&spec["startingDeadlineSeconds"], &path.child("startingDeadlineSeconds"), faults);
        if let Some(zone) = spec["timeZone"].as_str()
            && let Some(fault) = schedule::time_zone_fault(zone)
        {
            faults.invalid_text(&path.child("timeZone"), zone, fault);
        }
        let policies = ["Allow", "Forbid", "Replace"];
        valid::one_of(&spec["concurrencyPolicy"], &policies, &path.child("concurrencyPolicy"), faults);
        let (template, job_path) = (&spec["jobTemplate"]["spec"], path.child("jobTemplate.spec"));
        job::spec::validate(template, &job_path, faults);
        if !template["selector"].is_null() {
            let detail = "`selector` will be auto-generated";
            faults.invalid(&job_path.child("selector"), &template["selector"], detail);
        }
        if template["manualSelector"] == true {
            faults.not_supported(&job_path.child("manualSelector"), &json!(true), &["nil", "false"]);
        }
        let limits = ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"];
        workload::not_negative(spec, &limits, &path, faults);
        if object::name(object).len() > MAX_NAME {
            let detail = format!("must be no more than {MAX_NAME} characters");
            faults.invalid(&Path::new("metadata.name"), &object["metadata"]["name"], detail);
        }
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let name = workload::name_warning(object).filter(|_| old.is_none());
        std::iter::once(workload::inert("CronJobs")).chain(name).collect()
    }

    fn has_status(&self) -> bool {
        true
    }

    fn has_generation(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let (spec, status) = (&object["spec"], &object["status"]);
        let last = status["lastScheduleTime"].as_str();
        let suspend = spec["suspend"].as_bool().map_or("<unset>", |yes| if yes { "True" } else { "False" });
        let job = &spec["jobTemplate"]["spec"];
        let [containers, images] = workload::container_cells(&job["template"]);
        vec![
            object::name(object).into(),
            text(spec, "schedule").into(),
            spec["timeZone"].as_str().unwrap_or("<none>").into(),
            suspend.into(),
            object::items(status, "/active").len().into(),
            last.map_or_else(|| "<none>".to_owned(), |last| object::since(last, now)).into(),
            object::age(object, now).into(),
            containers,
            images,
            selector::cell(&job["selector"]).into(),
        ]
    }
}

fn validate_schedule(text: &str, path: &Path, faults: &mut Faults) {
    if text.is_empty() {
        faults.required(path, "");
    } else if text.contains("TZ") {
        let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        faults.invalid_text(path, text, detail);
    } else if let Err(error) = schedule::check(text) {
        faults.invalid_text(path, text, error);
    }
}
