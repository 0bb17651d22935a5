//! `spec.podFailurePolicy`: which failures count, and which end a Job or an index at once.

use k8s_openapi::api::batch::v1::{PodFailurePolicyOnExitCodesRequirement, PodFailurePolicyRule};

use crate::controllers::records::{Job, Pod};

/// What a failed pod means.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Meaning {
    /// It counts towards the limits.
    Counts,
    /// It is as if it had not been.
    Ignored,
    /// Its index has failed.
    FailsIndex,
    /// The Job has failed; why, in words.
    FailsJob(String),
}

impl Meaning {
    /// Whether it counts as a failure at all.
    pub fn counts(&self) -> bool {
        *self != Self::Ignored
    }
}

/// What a failed pod of a Job means: what the first rule that matches says.
pub fn meaning(job: &Job, pod: &Pod) -> Meaning {
    let rules = job.spec.pod_failure_policy.iter().flat_map(|policy| &policy.rules);
    let matched = rules.enumerate().find_map(|(index, rule)| Some((index, rule, cause(rule, pod)?)));
    match matched {
        None => Meaning::Counts,
        Some((index, rule, cause)) => match rule.action.as_str() {
            "Ignore" => Meaning::Ignored,
            "FailIndex" => Meaning::FailsIndex,
            "FailJob" => Meaning::FailsJob(format!("{cause} matching {} rule at index {index}", rule.action)),
            _ => Meaning::Counts,
        },
    }
}

/// By what a rule matches a pod, in words.
fn cause(rule: &PodFailurePolicyRule, pod: &Pod) -> Option<String> {
    let key = anneal_kit::Key::of(pod);
    if let Some(codes) = &rule.on_exit_codes {
        let containers = pod.status.container_statuses.iter().chain(&pod.status.init_container_statuses);
        return containers.into_iter().find_map(|container| {
            let code = container.state.terminated.as_ref()?.exit_code;
            let named = codes.container_name.as_ref().is_none_or(|name| *name == container.name);
            let name = &container.name;
            (named && is_matched(code, codes))
                .then(|| format!("Container {name} for pod {key} failed with exit code {code}"))
        });
    }
    let patterns = rule.on_pod_conditions.as_ref()?;
    let condition = pod.status.conditions.iter().find(|condition| {
        patterns.iter().any(|pattern| pattern.type_ == condition.r#type && pattern.status == condition.status)
    })?;
    Some(format!("Pod {key} has condition {}", condition.r#type))
}

fn is_matched(code: i32, codes: &PodFailurePolicyOnExitCodesRequirement) -> bool {
    let listed = codes.values.contains(&code);
    code != 0 && if codes.operator == "In" { listed } else { codes.operator == "NotIn" && !listed }
}
