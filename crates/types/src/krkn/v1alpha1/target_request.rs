//! KrknTargetRequest: a question to all providers, and the clusters they answered with.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A question to all active providers: which clusters can be targeted?
#[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, PartialEq, Serialize)]
#[kube(
    group = "krkn.krkn-chaos.dev",
    version = "v1alpha1",
    kind = "KrknTargetRequest",
    plural = "krkntargetrequests",
    singular = "krkntargetrequest",
    shortname = "ktr",
    namespaced,
    status = "KrknTargetRequestStatus",
    derive = "PartialEq",
    printcolumn(name = "Status", type_ = "string", json_path = ".status.status"),
    printcolumn(name = "UUID", type_ = "string", json_path = ".spec.uuid"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    doc = "A question to all active providers: which clusters can be targeted?"
)]
pub struct KrknTargetRequestSpec {
    /// The request's id. The object, and the Secret with the clusters' kubeconfigs, bear it as their name.
    pub uuid: String,
}

/// The providers' answers so far.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KrknTargetRequestStatus {
    /// `Completed` once every active provider has answered, anything else before. Absent: nobody has looked yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,

    /// The clusters that can be targeted, by the provider that knows them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub target_data: BTreeMap<String, Vec<ClusterTarget>>,

    /// When the first provider looked at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Time>,

    /// When it was completed. Absent: not yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed: Option<Time>,
}

/// A cluster that can be targeted.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClusterTarget {
    /// The cluster's name.
    pub cluster_name: String,

    /// The address of the cluster's API server.
    pub cluster_api_url: String,
}
