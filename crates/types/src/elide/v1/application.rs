//! Application: an image and a number of replicas, kept running.

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::{self, Condition};

/// An application: the image to run, how often, and how to replace it.
#[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, PartialEq, Serialize)]
#[kube(
    group = "cloudnative.elide.dev",
    version = "v1",
    kind = "Application",
    plural = "applications",
    singular = "application",
    shortname = "app",
    shortname = "apps",
    category = "all",
    namespaced,
    status = "ApplicationStatus",
    derive = "PartialEq",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.labelSelector"
    ),
    printcolumn(
        name = "Replicas",
        type_ = "integer",
        json_path = ".spec.replicas",
        description = "How many pods are wanted"
    ),
    printcolumn(
        name = "Ready",
        type_ = "integer",
        json_path = ".status.readyReplicas",
        description = "How many pods are ready"
    ),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(
        name = "Image",
        type_ = "string",
        json_path = ".spec.image",
        priority = 1,
        description = "The image asked for"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    doc = "An application: the image to run, how often, and how to replace it."
)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationSpec {
    /// How many pods to run. 0 stops the application and keeps its definition.
    #[schemars(range(min = 0))]
    pub replicas: i32,

    /// The container image, for example `nginx:1.29` or `ghcr.io/team/app@sha256:…`.
    #[schemars(length(min = 1))]
    pub image: String,

    /// How pods are replaced when the definition changes: RollingUpdate keeps serving while new pods
    /// come up, Recreate stops all old pods first. Default: RollingUpdate.
    #[serde(default)]
    pub strategy: Strategy,

    /// Settings for the application, name to value. Empty or absent: none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, String>,

    /// CPU and memory for each pod's container. Absent: the cluster's defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
}

/// How pods are replaced.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum Strategy {
    /// New pods come up while old ones still serve.
    #[default]
    RollingUpdate,
    /// All old pods stop before the first new one starts.
    Recreate,
}

/// What a container asks for and what it may use at most.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Resources {
    /// What the scheduler sets aside for each pod. Absent: as the limits, else nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<ResourceAmounts>,

    /// What each pod may use at most. Absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<ResourceAmounts>,
}

/// An amount of CPU and of memory.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct ResourceAmounts {
    /// CPU as a Kubernetes quantity: `500m` is half a core. Absent: not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,

    /// Memory as a Kubernetes quantity: `128Mi`. Absent: not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
}

/// What is known about an Application.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationStatus {
    /// The metadata.generation this status was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// How many pods exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,

    /// How many pods are ready to serve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,

    /// The pods' label selector as text, for `kubectl scale` and autoscalers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<String>,

    /// The state in one word. Programs should read the conditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<ApplicationPhase>,

    /// The state in detail: Ready, Progressing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "condition::list_schema")]
    pub conditions: Vec<Condition>,
}

/// The state of an Application in one word.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum ApplicationPhase {
    /// Not all wanted pods are there yet.
    Pending,
    /// All wanted pods serve the present definition.
    Running,
    /// It cannot come up without somebody's help.
    Failed,
    /// It ran once and ended well.
    Succeeded,
}
