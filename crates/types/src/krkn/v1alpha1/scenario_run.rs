//! KrknScenarioRun: a scenario, the clusters it runs against, and how it went on each.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::condition::{self, Condition};

/// A chaos scenario run against one or more clusters: one pod per cluster.
#[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, PartialEq, Serialize)]
#[kube(
    group = "krkn.krkn-chaos.dev",
    version = "v1alpha1",
    kind = "KrknScenarioRun",
    plural = "krknscenarioruns",
    singular = "krknscenariorun",
    shortname = "ksr",
    namespaced,
    status = "KrknScenarioRunStatus",
    derive = "PartialEq",
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Targets", type_ = "integer", json_path = ".status.totalTargets"),
    printcolumn(name = "Succeeded", type_ = "integer", json_path = ".status.successfulJobs"),
    printcolumn(name = "Failed", type_ = "integer", json_path = ".status.failedJobs"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    doc = "A chaos scenario run against one or more clusters: one pod per cluster."
)]
// The rules stand on the whole spec and not on each field: the message of a field's rule repeats its value.
#[x_kube(
    validation = Rule::new("(!has(self.token) || self.token == '') && (!has(self.username) || self.username == '') && (!has(self.password) || self.password == '')")
        .message("token, username and password are not stored here in clear text: put them into a Secret of type kubernetes.io/dockerconfigjson in this namespace and name it in spec.registryName"),
    validation = Rule::new("!has(self.registryURL) || !self.registryURL.contains('@')")
        .message("registryURL is host and port without credentials: put those into a Secret of type kubernetes.io/dockerconfigjson in this namespace and name it in spec.registryName")
)]
#[serde(rename_all = "camelCase")]
pub struct KrknScenarioRunSpec {
    /// The KrknTargetRequest that found the clusters.
    #[schemars(length(min = 1))]
    pub target_request_id: String,

    /// Who asked for the run. Absent: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_user_id: Option<String>,

    /// A name for people. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_run_name: Option<String>,

    /// The clusters to run against, by the provider that knows them: at least one provider, and of each at least
    /// one cluster.
    #[schemars(schema_with = "target_clusters_schema")]
    pub target_clusters: BTreeMap<String, Vec<String>>,

    /// The scenario's name.
    #[schemars(length(min = 1))]
    pub scenario_name: String,

    /// The scenario's image.
    #[schemars(length(min = 1))]
    pub scenario_image: String,

    /// Where the target's kubeconfig is mounted in the pod. Default: `/home/krkn/.kube/config`.
    #[serde(default = "kubeconfig_path")]
    pub kubeconfig_path: String,

    /// Files for the pod. Empty or absent: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileMount>,

    /// Environment variables of the pod, which are the scenario's parameters. Empty or absent: the scenario's defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,

    /// The private registry the image comes from, as host and port. Absent: a public one.
    #[serde(default, rename = "registryURL", skip_serializing_if = "Option::is_none")]
    pub registry_url: Option<String>,

    /// The repository inside the private registry. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario_repository: Option<String>,

    /// Refused: name a Secret in registryName instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,

    /// Refused: name a Secret in registryName instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,

    /// Refused: name a Secret in registryName instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,

    /// The Secret with the private registry's credentials, of type kubernetes.io/dockerconfigjson, in the same
    /// namespace. Absent: no credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry_name: Option<String>,

    /// How often a failed job is run again. Default: 3.
    #[serde(default = "three")]
    #[schemars(range(min = 0))]
    pub max_retries: i32,

    /// Whether the wait before each new try doubles or stays. Default: exponential.
    #[serde(default)]
    pub retry_backoff: RetryBackoff,

    /// The wait before the first new try, as a duration such as `90s` or `1m30s`. Default: 10s.
    #[serde(default = "ten_seconds")]
    #[schemars(regex(pattern = r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$"))]
    pub retry_delay: String,
}

/// A file for the scenario's pod.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileMount {
    /// The file's name.
    pub name: String,

    /// The file's content in base64.
    pub content: String,

    /// Where the file is mounted in the pod, as an absolute path.
    pub mount_path: String,

    /// Where the content came from, if it was a stored file. Absent: it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_id: Option<String>,
}

/// How the wait before new tries grows.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RetryBackoff {
    /// It doubles each time.
    #[default]
    Exponential,
    /// It stays the same.
    Fixed,
}

/// How a run goes.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KrknScenarioRunStatus {
    /// The metadata.generation this status was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The state of the whole run in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<RunPhase>,

    /// How many clusters it runs against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_targets: Option<i32>,

    /// How many jobs ended well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successful_jobs: Option<i32>,

    /// How many jobs failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_jobs: Option<i32>,

    /// How many jobs run now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_jobs: Option<i32>,

    /// The job on each cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["providerName".into(), "clusterName".into()]))]
    pub cluster_jobs: Vec<ClusterJob>,

    /// How well each cluster withstood it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resiliency_scores: Vec<ClusterScore>,

    /// The state in detail: Succeeded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "condition::list_schema")]
    pub conditions: Vec<Condition>,
}

/// The state of a run in one word.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum RunPhase {
    /// No job has started.
    Pending,
    /// At least one job is under way.
    Running,
    /// All jobs ended well.
    Succeeded,
    /// Some jobs ended well, some failed.
    PartiallyFailed,
    /// All jobs failed.
    Failed,
}

/// The job on one cluster.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterJob {
    /// The provider that knows the cluster.
    pub provider_name: String,

    /// The cluster's name.
    pub cluster_name: String,

    /// The address of the cluster's API server. Absent: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_api_url: Option<String>,

    /// The job's id.
    pub job_id: String,

    /// The job's pod. Absent: not created yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_name: Option<String>,

    /// The image the pod runs. Absent: not created yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_image: Option<String>,

    /// The job's state in one word.
    pub phase: JobPhase,

    /// When the job started. Absent: not yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,

    /// When the job ended. Absent: not yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<Time>,

    /// What a person should know about it. Absent: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,

    /// How often it was run again. Absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_count: Option<i32>,

    /// How often it may be run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<i32>,

    /// Whether somebody asked to stop it. Absent: nobody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_requested: Option<bool>,

    /// When it was last run again. Absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_retry_time: Option<Time>,

    /// Why it failed, as one CamelCase word such as OOMKilled. Absent: it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
}

/// The state of a job in one word.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum JobPhase {
    /// Its pod has not started.
    Pending,
    /// Its pod runs.
    Running,
    /// It ended well.
    Succeeded,
    /// It failed.
    Failed,
    /// It failed and will be run again.
    Retrying,
    /// Somebody stopped it.
    Cancelled,
    /// It failed as often as it may.
    MaxRetriesExceeded,
}

/// How well a cluster withstood the scenario.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterScore {
    /// The cluster's name.
    pub cluster_name: String,

    /// 0 (not at all) to 100 (fully).
    pub score: f64,
}

fn target_clusters_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "minProperties": 1,
        "additionalProperties": { "type": "array", "minItems": 1, "items": { "type": "string", "minLength": 1 } }
    })
}

fn kubeconfig_path() -> String {
    "/home/krkn/.kube/config".to_owned()
}

fn three() -> i32 {
    3
}

fn ten_seconds() -> String {
    "10s".to_owned()
}
