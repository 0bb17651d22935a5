//! What controllers read of a namespace.

use anneal_kit::{light, record};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde::{Deserialize, Serialize};

/// A namespace.
#[derive(Clone, Debug, Deserialize)]
pub struct Namespace {
    #[serde(deserialize_with = "light")]
    pub metadata: ObjectMeta,
    #[serde(default)]
    pub spec: Spec,
    #[serde(default)]
    pub status: Status,
}
record!(Namespace of k8s_openapi::api::core::v1::Namespace);

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Spec {
    /// What must happen before it goes; `kubernetes` stands for its contents.
    pub finalizers: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Status {
    pub conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    pub r#type: String,
    pub status: String,
    #[serde(default)]
    pub reason: String,
    #[serde(default)]
    pub message: String,
    #[serde(default)]
    pub last_transition_time: Option<Time>,
}

impl Namespace {
    pub fn is_ending(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }
}
