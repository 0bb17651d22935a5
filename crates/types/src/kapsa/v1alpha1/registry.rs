//! Registry: a container registry an administrator lets projects push to.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::SecretReference;
use crate::condition::{self, Condition};

/// A container registry that projects push to and clusters pull from.
#[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, PartialEq, Serialize)]
#[kube(
    group = "kapsa-project.io",
    version = "v1alpha1",
    kind = "Registry",
    plural = "registries",
    singular = "registry",
    shortname = "reg",
    status = "RegistryStatus",
    derive = "PartialEq",
    printcolumn(name = "Type", type_ = "string", json_path = ".spec.type"),
    printcolumn(name = "Endpoint", type_ = "string", json_path = ".spec.endpoint"),
    printcolumn(name = "Verified", type_ = "boolean", json_path = ".status.verified"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    doc = "A container registry that projects push to and clusters pull from."
)]
#[serde(rename_all = "camelCase")]
pub struct RegistrySpec {
    /// What kind of registry it is: harbor, gitlab, docker, ecr, gcr or acr.
    #[serde(rename = "type")]
    pub type_: RegistryType,

    /// The registry's address, for example `https://harbor.example.com`.
    pub endpoint: String,

    /// How to sign in.
    pub auth: RegistryAuth,

    /// Settings that only some kinds of registry have, such as projectName or robotAccount. Empty or absent: none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "options_schema")]
    pub options: BTreeMap<String, Value>,

    /// The pull Secret for project namespaces. Absent: as its defaults say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_pull_secret: Option<ImagePullSecret>,
}

/// What kind of registry it is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RegistryType {
    /// Harbor.
    Harbor,
    /// GitLab's registry.
    Gitlab,
    /// Docker Hub, or any plain registry.
    Docker,
    /// Amazon ECR.
    Ecr,
    /// Google Container or Artifact Registry.
    Gcr,
    /// Azure Container Registry.
    Acr,
}

/// How to sign in to a registry.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RegistryAuth {
    /// The Secret: `username` and `password`, or a `.dockerconfigjson`.
    pub secret_ref: SecretReference,
}

/// The pull Secret for project namespaces.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImagePullSecret {
    /// The Secret's name in project namespaces. Absent: a name made from the Registry's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,

    /// Whether a copy is kept in each project namespace. Default: true.
    #[serde(default = "yes")]
    pub generate_per_namespace: bool,
}

/// What is known about a Registry.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RegistryStatus {
    /// The metadata.generation this status was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The state in detail: Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "condition::list_schema")]
    pub conditions: Vec<Condition>,

    /// Whether the credentials worked when they were last tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,

    /// When they were last tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_verified: Option<Time>,
}

fn yes() -> bool {
    true
}

/// Values of any type: the contract's schema says text, its documentation writes `robotAccount: true`.
fn options_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": { "x-kubernetes-preserve-unknown-fields": true }
    })
}
