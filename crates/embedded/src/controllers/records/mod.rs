//! What the controllers read of each kind.
//!
//! A record is as small as its readers allow: there are thousands of them. What is only passed on stays text.

mod definition;
mod disruption;
mod job;
mod namespace;
mod network;
mod pod;
mod workloads;

use std::collections::BTreeMap;

use anneal_kit::{light, record};
use k8s_openapi::{api, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::api::selector::LabelSelector;

pub use definition::Definition;
pub use disruption::{DisruptionBudget, Spec as DisruptionSpec};
pub use job::Job;
pub use namespace::{Condition as NamespaceCondition, Namespace};
pub use network::{EndpointSlice, Endpoints, Service, ServicePort};
pub use pod::Pod;
pub use workloads::{Deployment, ReplicaSet, StatefulSet};

/// A kind of which nothing but its metadata is read.
macro_rules! bare {
    ($(#[$doc:meta])* $name:ident of $kind:ty) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Deserialize)]
        pub struct $name {
            #[serde(deserialize_with = "light")]
            pub metadata: ObjectMeta,
        }
        record!($name of $kind);
    };
}

bare!(
    /// A service account.
    ServiceAccount of api::core::v1::ServiceAccount
);

bare!(
    /// A node.
    Node of api::core::v1::Node
);

/// Reads a label selector as specs have it, once. The server takes no malformed one; such a one selects nothing.
fn selector<'de, D: Deserializer<'de>>(deserializer: D) -> Result<LabelSelector, D::Error> {
    let selector = Value::deserialize(deserializer)?;
    Ok(LabelSelector::of_spec(&selector).unwrap_or_else(|_| LabelSelector::nothing()))
}

/// The ConfigMap `kube-root-ca.crt` of a namespace.
#[derive(Clone, Debug, Deserialize)]
pub struct RootCertificate {
    #[serde(deserialize_with = "light")]
    pub metadata: ObjectMeta,
    #[serde(default)]
    pub data: BTreeMap<String, String>,
}
record!(RootCertificate of api::core::v1::ConfigMap);

/// A cluster role, as far as gathering rules goes by it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterRole {
    #[serde(deserialize_with = "light")]
    pub metadata: ObjectMeta,
    /// None if it does not gather.
    pub aggregation_rule: Option<Value>,
    pub rules: Option<Vec<Value>>,
}
record!(ClusterRole of api::rbac::v1::ClusterRole);

impl ClusterRole {
    pub fn labels(&self) -> &BTreeMap<String, String> {
        self.metadata.labels.as_ref().unwrap_or(&NO_LABELS)
    }
}

static NO_LABELS: BTreeMap<String, String> = BTreeMap::new();
