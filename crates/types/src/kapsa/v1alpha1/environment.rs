//! Environment: one running copy of a project. The operator writes it; people read it.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EnvVar, EnvironmentType, LocalReference};
use crate::condition::{self, Condition};

/// One running copy of a project. It is made by the operator from the Project.
#[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, PartialEq, Serialize)]
#[kube(
    group = "kapsa-project.io",
    version = "v1alpha1",
    kind = "Environment",
    plural = "environments",
    singular = "environment",
    shortname = "env",
    namespaced,
    status = "EnvironmentStatus",
    derive = "PartialEq",
    printcolumn(name = "Type", type_ = "string", json_path = ".spec.type"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "URL", type_ = "string", json_path = ".status.urls[0]"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    doc = "One running copy of a project. It is made by the operator from the Project."
)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentSpec {
    /// The Project it belongs to.
    pub project_ref: LocalReference,

    /// Whether it is meant to stay.
    #[serde(rename = "type")]
    pub type_: EnvironmentType,

    /// The branch it follows. Absent: the repository's branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,

    /// How it runs. Absent: one replica, no limits, no ports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,

    /// How it is reached from outside. Absent: as its defaults say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress: Option<Ingress>,

    /// ConfigMaps whose entries become environment variables. Empty or absent: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub config_refs: Vec<ConfigReference>,

    /// Secrets whose entries become environment variables. Empty or absent: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secret_refs: Vec<SecretEnvReference>,

    /// Environment variables with plain values. Empty or absent: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<EnvVar>,
}

/// How an environment runs.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Runtime {
    /// How many pods to run. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 0))]
    pub replicas: i32,

    /// CPU and memory of each pod's container. Absent: the cluster's defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<RuntimeResources>,

    /// Scaling by load instead of a fixed number. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<Autoscaling>,

    /// The ports the application listens on. Empty or absent: none, and nothing is served.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<ContainerPort>,
}

/// What a container asks for and what it may use at most, resource to quantity.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct RuntimeResources {
    /// What each pod may use at most, for example `cpu: 500m`. Empty or absent: no limit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, String>,

    /// What the scheduler sets aside for each pod. Empty or absent: as the limits, else nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<String, String>,
}

/// Scaling by load.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Autoscaling {
    /// Whether it is on. Default: false.
    #[serde(default)]
    pub enabled: bool,

    /// The lowest number of pods. Absent: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub min_replicas: Option<i32>,

    /// The highest number of pods. Absent: as minReplicas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_replicas: Option<i32>,

    /// The CPU use to aim for, in percent of what is requested. Absent: CPU does not count.
    #[serde(default, rename = "targetCPUUtilization", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub target_cpu_utilization: Option<i32>,

    /// The memory use to aim for, in percent of what is requested. Absent: memory does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub target_memory_utilization: Option<i32>,
}

/// A port the application listens on.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerPort {
    /// The port's name. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,

    /// The port's number, 1 to 65535.
    #[schemars(range(min = 1, max = 65535))]
    pub container_port: i32,

    /// TCP or UDP. Default: TCP.
    #[serde(default)]
    pub protocol: Protocol,
}

/// A transport protocol.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Protocol {
    /// TCP.
    #[default]
    Tcp,
    /// UDP.
    Udp,
}

/// How an environment is reached from outside.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Ingress {
    /// Whether it is. Default: true.
    #[serde(default = "yes")]
    pub enabled: bool,

    /// The host name. Absent: given by the DomainPool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,

    /// The path below which it is served. Default: `/`.
    #[serde(default = "root_path")]
    pub path: String,

    /// Whether and how it is served by TLS. Absent: as its defaults say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<IngressTls>,

    /// Annotations for the ingress controller. Empty or absent: none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// TLS of an environment.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IngressTls {
    /// Whether it is on. Default: true.
    #[serde(default = "yes")]
    pub enabled: bool,

    /// The Secret that holds or will hold the certificate. Absent: a name made from the environment's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<String>,
}

/// A ConfigMap whose entries become environment variables.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigReference {
    /// The ConfigMap, in the environment's namespace. Absent: the entry says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<LocalReference>,
}

/// A Secret whose entries become environment variables.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretEnvReference {
    /// The Secret, in the environment's namespace. Absent: the entry says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalReference>,
}

/// What is known about an Environment.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentStatus {
    /// The metadata.generation this status was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The state in detail: Ready, IngressReady, TLSReady.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "condition::list_schema")]
    pub conditions: Vec<Condition>,

    /// The state in one word. Programs should read the conditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<EnvironmentPhase>,

    /// The image it runs, with its digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,

    /// The objects it is made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<EnvironmentResources>,

    /// Where it is served.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<String>,

    /// When a preview's time is up. Absent on permanent environments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
}

/// The state of an Environment in one word.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum EnvironmentPhase {
    /// It waits for something it needs.
    Pending,
    /// Its image is being built.
    Building,
    /// It serves.
    Running,
    /// It cannot come up without somebody's help.
    Failed,
}

/// The objects an Environment is made of, by name.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentResources {
    /// The Deployment's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment_name: Option<String>,

    /// The Service's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_name: Option<String>,

    /// The Ingress's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress_name: Option<String>,
}

fn one() -> i32 {
    1
}

fn yes() -> bool {
    true
}

fn root_path() -> String {
    "/".to_owned()
}
