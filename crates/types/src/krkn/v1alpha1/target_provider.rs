//! KrknOperatorTargetProvider: an operator that knows clusters, and its heartbeat.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An operator that knows clusters and answers target requests.
#[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, PartialEq, Serialize)]
#[kube(
    group = "krkn.krkn-chaos.dev",
    version = "v1alpha1",
    kind = "KrknOperatorTargetProvider",
    plural = "krknoperatortargetproviders",
    singular = "krknoperatortargetprovider",
    shortname = "kotp",
    namespaced,
    status = "KrknOperatorTargetProviderStatus",
    derive = "PartialEq",
    printcolumn(name = "Operator", type_ = "string", json_path = ".spec.operator-name"),
    printcolumn(name = "Active", type_ = "boolean", json_path = ".spec.active"),
    printcolumn(name = "Last Heartbeat", type_ = "date", json_path = ".status.timestamp"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    doc = "An operator that knows clusters and answers target requests."
)]
#[serde(rename_all = "kebab-case")]
pub struct KrknOperatorTargetProviderSpec {
    /// The operator's name. Target requests list its clusters under it.
    pub operator_name: String,

    /// Whether requests wait for its answer. Default: true.
    #[serde(default = "yes")]
    pub active: bool,
}

/// The provider's sign of life.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct KrknOperatorTargetProviderStatus {
    /// Its last heartbeat. Absent: it has never been there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Time>,
}

fn yes() -> bool {
    true
}
