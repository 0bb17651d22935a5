//! The rules of a Job's spec, which a CronJob's template has too.

use serde_json::{Value, json};

use super::super::{ingress_class::domain_prefixed_path, pod_spec, workload};
use crate::api::{
    fault::{Fault, Faults, Path},
    object, valid,
};

/// Bounds of indexed jobs, so that lists of indexes stay small enough to store.
const MAX_PARALLELISM: i64 = 100_000;
const MAX_FAILED_INDEXES: i64 = 100_000;
const MANY_COMPLETIONS: i64 = 100_000;
const MAX_PARALLELISM_OF_MANY: i64 = 10_000;
const MAX_FAILED_INDEXES_OF_MANY: i64 = 10_000;
/// Bounds of policies.
const MAX_RULES: usize = 20;
const MAX_EXIT_CODES: usize = 255;
const MAX_CONDITIONS: usize = 20;
const MAX_INDEXES: usize = 64 * 1024;

const ACTIONS: &[&str] = &["Count", "FailIndex", "FailJob", "Ignore"];

/// A condition in a failure policy means the condition is true.
pub fn default_failure_policy(spec: &mut Value) {
    let Some(policy) = spec.get_mut("podFailurePolicy") else { return };
    for rule in workload::items_mut(policy, "rules") {
        for condition in workload::items_mut(rule, "onPodConditions") {
            object::default(condition, "status", "True");
        }
    }
}

/// What is wrong with a spec, its selector aside.
pub fn validate(spec: &Value, path: &Path, faults: &mut Faults) {
    let limits = [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ];
    workload::not_negative(spec, &limits, path, faults);
    if !spec["maxFailedIndexes"].is_null() && spec["backoffLimitPerIndex"].is_null() {
        faults.required(&path.child("backoffLimitPerIndex"), "when maxFailedIndexes is specified");
    }
    validate_manager(&spec["managedBy"], &path.child("managedBy"), faults);
    valid::one_of(&spec["completionMode"], &["NonIndexed", "Indexed"], &path.child("completionMode"), faults);
    if spec["completionMode"] == "Indexed" {
        validate_indexed(spec, path, faults);
    } else {
        for field in ["backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"] {
            if !spec[field].is_null() {
                faults.invalid(&path.child(field), &spec[field], "requires indexed completion mode");
            }
        }
    }
    validate_failure_policy(spec, &path.child("podFailurePolicy"), faults);
    let replacements: &[&str] =
        if spec["podFailurePolicy"].is_null() { &["Failed", "TerminatingOrFailed"] } else { &["Failed"] };
    valid::one_of(&spec["podReplacementPolicy"], replacements, &path.child("podReplacementPolicy"), faults);
    pod_spec::validate_template(&spec["template"], &path.child("template"), faults);
    validate_restart_policy(spec, &path.child("template.spec.restartPolicy"), faults);
}

/// A controller other than the built-in one: a name with a domain before it.
fn validate_manager(manager: &Value, path: &Path, faults: &mut Faults) {
    let Some(text) = manager.as_str() else { return };
    domain_prefixed_path(text, path, faults);
    if text.len() > 63 {
        faults.too_long(path, 63);
    }
}

fn validate_indexed(spec: &Value, path: &Path, faults: &mut Faults) {
    let number = |field: &str| spec[field].as_i64();
    let mut bound = |field: &str, max: i64, detail: String| {
        if number(field).is_some_and(|number| number > max) {
            faults.invalid(&path.child(field), &spec[field], detail);
        }
    };
    let mode = "when completion mode is Indexed";
    bound("parallelism", MAX_PARALLELISM, format!("must be less than or equal to {MAX_PARALLELISM} {mode}"));
    if let Some(completions) = number("completions") {
        bound("maxFailedIndexes", completions, "must be less than or equal to completions".to_owned());
    }
    bound(
        "maxFailedIndexes",
        MAX_FAILED_INDEXES,
        format!("must be less than or equal to {MAX_FAILED_INDEXES}"),
    );
    let many = number("completions").is_some_and(|completions| completions > MANY_COMPLETIONS);
    if many && !spec["backoffLimitPerIndex"].is_null() {
        let when =
            format!("when completions are above {MANY_COMPLETIONS} and used with backoff limit per index");
        for (field, max) in
            [("parallelism", MAX_PARALLELISM_OF_MANY), ("maxFailedIndexes", MAX_FAILED_INDEXES_OF_MANY)]
        {
            bound(field, max, format!("must be less than or equal to {max} {when}"));
        }
        if spec["maxFailedIndexes"].is_null() {
            let detail = format!("must be specified when completions is above {MANY_COMPLETIONS}");
            faults.required(&path.child("maxFailedIndexes"), detail);
        }
    }
    if spec["completions"].is_null() {
        faults.required(&path.child("completions"), mode);
    }
    validate_success_policy(spec, &path.child("successPolicy"), faults);
}

/// Pods of a job must be able to end.
fn validate_restart_policy(spec: &Value, path: &Path, faults: &mut Faults) {
    let policy = &spec["template"]["spec"]["restartPolicy"];
    match policy.as_str().unwrap_or_default() {
        "" | "Always" => faults.required(path, "valid values: \"OnFailure\", \"Never\""),
        "Never" => {}
        "OnFailure" if spec["podFailurePolicy"].is_null() => {}
        "OnFailure" => {
            faults.invalid(path, policy, "only \"Never\" is supported when podFailurePolicy is specified");
        }
        _ => faults.not_supported(path, policy, &["OnFailure", "Never"]),
    }
}

fn validate_failure_policy(spec: &Value, path: &Path, faults: &mut Faults) {
    let (rules, path) = (object::items(spec, "/podFailurePolicy/rules"), path.child("rules"));
    if rules.len() > MAX_RULES {
        return faults.too_many(&path, rules.len() as u64, MAX_RULES as u64);
    }
    for (index, rule) in rules.iter().enumerate() {
        let path = path.index(index);
        match rule["action"].as_str().unwrap_or_default() {
            "" => faults.required(&path.child("action"), format!("valid values: {}", quoted(ACTIONS))),
            "FailIndex" if spec["backoffLimitPerIndex"].is_null() => {
                let detail = "requires the backoffLimitPerIndex to be set";
                faults.invalid(&path.child("action"), &rule["action"], detail);
            }
            _ => valid::one_of(&rule["action"], ACTIONS, &path.child("action"), faults),
        }
        let (codes, conditions) = (&rule["onExitCodes"], object::items(rule, "/onPodConditions"));
        if !codes.is_null() {
            validate_exit_codes(codes, spec, &path.child("onExitCodes"), faults);
        }
        validate_conditions(conditions, &path.child("onPodConditions"), faults);
        match (codes.is_null(), conditions.is_empty()) {
            (false, false) => {
                invalid(&path, "specifying both OnExitCodes and OnPodConditions is not supported", faults);
            }
            (true, true) => {
                invalid(&path, "specifying one of OnExitCodes and OnPodConditions is required", faults);
            }
            _ => {}
        }
    }
}

fn validate_exit_codes(codes: &Value, spec: &Value, path: &Path, faults: &mut Faults) {
    let operator = path.child("operator");
    match codes["operator"].as_str().unwrap_or_default() {
        "" => faults.required(&operator, format!("valid values: {}", quoted(&["In", "NotIn"]))),
        _ => valid::one_of(&codes["operator"], &["In", "NotIn"], &operator, faults),
    }
    if let Some(container) = codes["containerName"].as_str() {
        let pod = &spec["template"]["spec"];
        let named = |list: &str| object::items(pod, list).iter().any(|one| one["name"] == container);
        if !named("/containers") && !named("/initContainers") {
            let detail = "must be one of the container or initContainer names in the pod template";
            faults.invalid_text(&path.child("containerName"), container, detail);
        }
    }
    let (values, path) = (object::items(codes, "/values"), path.child("values"));
    if values.is_empty() {
        return faults.invalid(&path, &json!([]), "at least one value is required");
    }
    if values.len() > MAX_EXIT_CODES {
        return faults.too_many(&path, values.len() as u64, MAX_EXIT_CODES as u64);
    }
    for (index, value) in values.iter().enumerate() {
        if codes["operator"] == "In" && *value == 0 {
            faults.invalid(&path.index(index), value, "must not be 0 for the In operator");
        }
        if values[..index].contains(value) {
            faults.duplicate(&path.index(index), value);
        }
    }
    if !values.iter().map(Value::as_i64).is_sorted() {
        faults.invalid(&path, &codes["values"], "must be ordered");
    }
}

fn validate_conditions(conditions: &[Value], path: &Path, faults: &mut Faults) {
    if conditions.len() > MAX_CONDITIONS {
        return faults.too_many(path, conditions.len() as u64, MAX_CONDITIONS as u64);
    }
    for (index, condition) in conditions.iter().enumerate() {
        let path = path.index(index);
        let kind = condition["type"].as_str().unwrap_or_default();
        if let Some(fault) = valid::qualified_name(kind) {
            faults.invalid_text(&path.child("type"), kind, fault);
        }
        valid::one_of(&condition["status"], &["False", "True", "Unknown"], &path.child("status"), faults);
    }
}

fn validate_success_policy(spec: &Value, path: &Path, faults: &mut Faults) {
    if spec["successPolicy"].is_null() {
        return;
    }
    let (rules, path) = (object::items(spec, "/successPolicy/rules"), path.child("rules"));
    let completions = workload::number(spec, "/completions");
    if rules.is_empty() {
        faults.required(&path, "at least one rules must be specified when the successPolicy is specified");
    }
    if rules.len() > MAX_RULES {
        return faults.too_many(&path, rules.len() as u64, MAX_RULES as u64);
    }
    for (index, rule) in rules.iter().enumerate() {
        validate_success_rule(rule, completions, &path.index(index), faults);
    }
}

fn validate_success_rule(rule: &Value, completions: i64, path: &Path, faults: &mut Faults) {
    let mut total = None;
    if rule["succeededCount"].is_null() && rule["succeededIndexes"].is_null() {
        faults.required(path, "at least one of succeededCount or succeededIndexes must be specified");
    }
    if let Some(indexes) = rule["succeededIndexes"].as_str() {
        let path = path.child("succeededIndexes");
        if indexes.len() > MAX_INDEXES {
            faults.too_long(&path, MAX_INDEXES as u64);
        }
        match count_indexes(indexes, completions) {
            Ok(count) => total = Some(count),
            Err(error) => {
                faults.invalid_text(&path, indexes, format!("error parsing succeededIndexes: {error}"))
            }
        }
    }
    let (count, path) = (&rule["succeededCount"], path.child("succeededCount"));
    valid::not_negative(count, &path, faults);
    for (max, what) in [
        (Some(completions), "the number of specified completions"),
        (total, "the number of indexes in the specified succeededIndexes field"),
    ] {
        if let (Some(number), Some(max)) = (count.as_i64(), max)
            && number > max
        {
            faults.invalid(&path, count, format!("must be less than or equal to {max} ({what})"));
        }
    }
}

/// How many indexes a list such as `1,3-5,7` has.
pub fn count_indexes(indexes: &str, completions: i64) -> Result<i64, String> {
    let (mut total, mut last) = (0, None);
    for interval in indexes.split(',').filter(|_| !indexes.is_empty()) {
        let (from, to) = interval_of(interval, completions)?;
        if let Some(last) = last
            && last >= from
        {
            return Err(format!("non-increasing order, previous: {last}, current: {from}"));
        }
        total += to - from + 1;
        last = Some(to);
    }
    Ok(total)
}

fn interval_of(interval: &str, completions: i64) -> Result<(i64, i64), String> {
    let index = |text: &str| match text.parse::<i32>() {
        Err(_) => Err(format!("cannot convert string to integer for index: {text:?}")),
        Ok(index) if i64::from(index) >= completions => Err(format!("too large index: {text:?}")),
        Ok(index) => Ok(i64::from(index)),
    };
    match interval.split('-').collect::<Vec<_>>().as_slice() {
        [only] => index(only).map(|index| (index, index)),
        [from, to] => match (index(from)?, index(to)?) {
            (from, to) if from >= to => Err(format!("non-increasing order, previous: {from}, current: {to}")),
            interval => Ok(interval),
        },
        _ => Err(format!(
            "the fragment {interval:?} violates the requirement that an index interval can have at most two parts \
             separated by '-'"
        )),
    }
}

/// A fault that shows no value.
pub fn invalid(path: &Path, detail: &str, faults: &mut Faults) {
    faults.add(Fault {
        field: path.to_string(),
        reason: "FieldValueInvalid",
        message: format!("Invalid value: {detail}"),
    });
}

fn quoted(values: &[&str]) -> String {
    let quoted: Vec<_> = values.iter().map(|value| format!("{value:?}")).collect();
    format!("[{}]", quoted.join(" "))
}
