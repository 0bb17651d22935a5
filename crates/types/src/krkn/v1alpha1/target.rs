//! KrknOperatorTarget: a cluster registered by hand.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A cluster registered by hand, with the Secret that opens it.
#[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, PartialEq, Serialize)]
#[kube(
    group = "krkn.krkn-chaos.dev",
    version = "v1alpha1",
    kind = "KrknOperatorTarget",
    plural = "krknoperatortargets",
    singular = "krknoperatortarget",
    shortname = "kot",
    namespaced,
    status = "KrknOperatorTargetStatus",
    derive = "PartialEq",
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.clusterName"),
    printcolumn(name = "API URL", type_ = "string", json_path = ".spec.clusterAPIURL"),
    printcolumn(name = "Type", type_ = "string", json_path = ".spec.secretType"),
    printcolumn(name = "Ready", type_ = "boolean", json_path = ".status.ready"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    doc = "A cluster registered by hand, with the Secret that opens it."
)]
#[serde(rename_all = "camelCase")]
pub struct KrknOperatorTargetSpec {
    /// The target's id.
    pub uuid: String,

    /// The cluster's name.
    pub cluster_name: String,

    /// The address of the cluster's API server. Absent: taken from the kubeconfig.
    #[serde(default, rename = "clusterAPIURL", skip_serializing_if = "Option::is_none")]
    pub cluster_api_url: Option<String>,

    /// What the Secret was made from: a kubeconfig, a token, or user name and password.
    pub secret_type: SecretType,

    /// The name of the Secret with the kubeconfig, in the same namespace.
    #[serde(rename = "secretUUID")]
    pub secret_uuid: String,

    /// The certificates that sign the cluster's own, PEM in base64. Absent: those of the kubeconfig.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<String>,

    /// Whether the cluster's certificate goes unchecked. It counts only without caBundle. Default: false.
    #[serde(default, rename = "insecureSkipTLSVerify")]
    pub insecure_skip_tls_verify: bool,
}

/// What a target's Secret was made from.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SecretType {
    /// A kubeconfig.
    Kubeconfig,
    /// A bearer token.
    Token,
    /// User name and password.
    Credentials,
}

/// What is known about a KrknOperatorTarget.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KrknOperatorTargetStatus {
    // The contract defaults it to true; a target is not ready because nobody has looked.
    /// Whether the target can be used. Absent: not known yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,

    /// When that was last found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<Time>,
}
