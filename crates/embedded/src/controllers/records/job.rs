//! What controllers read of a Job.

use anneal_kit::{light, record};
use k8s_openapi::{
    api::batch::v1::{self, JobCondition, JobStatus, PodFailurePolicy, SuccessPolicy},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use serde::Deserialize;
use serde_json::Value;

use super::selector;
use crate::api::selector::LabelSelector;

/// In whose hands a Job is that does not say.
const OURSELVES: &str = "kubernetes.io/job-controller";

/// A Job.
#[derive(Clone, Debug, Deserialize)]
pub struct Job {
    #[serde(deserialize_with = "light")]
    pub metadata: ObjectMeta,
    pub spec: Spec,
    #[serde(default)]
    pub status: JobStatus,
}
record!(Job of v1::Job);

#[derive(Clone, Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    /// How many pods at once.
    pub parallelism: i32,
    /// How many are to succeed; any one if it is not said.
    pub completions: Option<i32>,
    pub completion_mode: String,
    pub backoff_limit: i32,
    pub backoff_limit_per_index: Option<i32>,
    pub max_failed_indexes: Option<i32>,
    pub active_deadline_seconds: Option<i64>,
    pub ttl_seconds_after_finished: Option<i64>,
    pub suspend: bool,
    pub manual_selector: bool,
    pub managed_by: Option<String>,
    pub pod_replacement_policy: String,
    pub pod_failure_policy: Option<PodFailurePolicy>,
    pub success_policy: Option<SuccessPolicy>,
    #[serde(deserialize_with = "selector")]
    pub selector: LabelSelector,
    /// What its pods are made of.
    pub template: Value,
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            parallelism: 1,
            completions: None,
            completion_mode: String::new(),
            backoff_limit: 6,
            backoff_limit_per_index: None,
            max_failed_indexes: None,
            active_deadline_seconds: None,
            ttl_seconds_after_finished: None,
            suspend: false,
            manual_selector: false,
            managed_by: None,
            pod_replacement_policy: String::new(),
            pod_failure_policy: None,
            success_policy: None,
            selector: LabelSelector::nothing(),
            template: Value::Null,
        }
    }
}

impl Job {
    pub fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }

    pub fn is_ending(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// The condition of this type, if it holds.
    pub fn holding(&self, kind: &str) -> Option<&JobCondition> {
        let mut conditions = self.status.conditions.iter().flatten();
        conditions.find(|condition| condition.type_ == kind && condition.status == "True")
    }

    /// How it ended, if it has: its last word.
    pub fn finished(&self) -> Option<&JobCondition> {
        self.holding("Complete").or_else(|| self.holding("Failed"))
    }

    /// Whether another controller looks after it.
    pub fn is_foreign(&self) -> bool {
        self.spec.managed_by.as_deref().is_some_and(|manager| manager != OURSELVES)
    }

    /// How many indexes it has, if its pods have indexes.
    pub fn indexes(&self) -> Option<u32> {
        let completions = self.spec.completions.unwrap_or_default();
        (self.spec.completion_mode == "Indexed").then(|| u32::try_from(completions).unwrap_or_default())
    }

    /// Whether a pod is replaced only once it has ended, not when it begins to end.
    pub fn waits_for_ends(&self) -> bool {
        self.spec.pod_replacement_policy == "Failed" || self.spec.pod_failure_policy.is_some()
    }
}
