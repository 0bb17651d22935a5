//! What controllers read of Deployments and ReplicaSets.

use std::collections::BTreeMap;

use anneal_kit::{light, record};
use jiff::Timestamp;
use k8s_openapi::{
    api::apps::v1::{DeploymentStatus, ReplicaSetStatus},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use serde::Deserialize;
use serde_json::Value;

use super::selector;
use crate::api::selector::LabelSelector;

/// A Deployment.
#[derive(Clone, Debug, Deserialize)]
pub struct Deployment {
    #[serde(deserialize_with = "light")]
    pub metadata: ObjectMeta,
    pub spec: DeploymentSpec,
    #[serde(default)]
    pub status: DeploymentStatus,
}
record!(Deployment of k8s_openapi::api::apps::v1::Deployment);

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentSpec {
    #[serde(default = "one")]
    pub replicas: i32,
    #[serde(default)]
    pub min_ready_seconds: i32,
    #[serde(default)]
    pub paused: bool,
    #[serde(default)]
    pub strategy: Strategy,
    /// None, or the largest number there is: it may take for ever.
    pub progress_deadline_seconds: Option<i32>,
    /// None, or the largest number there is: all are kept.
    pub revision_history_limit: Option<i32>,
    /// As its ReplicaSets get it, but for the hash.
    #[serde(default)]
    pub selector: Value,
    #[serde(default)]
    pub template: Value,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Strategy {
    /// `RollingUpdate` or `Recreate`.
    pub r#type: String,
    pub rolling_update: RollingUpdate,
}

/// Numbers of pods, or shares of the wanted ones: `3` or `"25%"`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RollingUpdate {
    pub max_surge: Value,
    pub max_unavailable: Value,
}

/// A ReplicaSet.
#[derive(Clone, Debug, Deserialize)]
pub struct ReplicaSet {
    #[serde(deserialize_with = "light")]
    pub metadata: ObjectMeta,
    pub spec: ReplicaSetSpec,
    #[serde(default)]
    pub status: ReplicaSetStatus,
}
record!(ReplicaSet of k8s_openapi::api::apps::v1::ReplicaSet);

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaSetSpec {
    #[serde(default = "one")]
    pub replicas: i32,
    #[serde(default)]
    pub min_ready_seconds: i32,
    #[serde(default = "LabelSelector::nothing", deserialize_with = "selector")]
    pub selector: LabelSelector,
    #[serde(default)]
    pub template: Value,
}

fn one() -> i32 {
    1
}

static NONE: BTreeMap<String, String> = BTreeMap::new();

impl Deployment {
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    pub fn annotations(&self) -> &BTreeMap<String, String> {
        self.metadata.annotations.as_ref().unwrap_or(&NONE)
    }

    /// Which ReplicaSets may be its own.
    pub fn selector(&self) -> LabelSelector {
        let selector = LabelSelector::of_spec(&self.spec.selector).ok();
        // One that selects everything would take everything over.
        selector.filter(|selector| !selector.is_everything()).unwrap_or_else(LabelSelector::nothing)
    }

    pub fn is_ending(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    pub fn is_rolling(&self) -> bool {
        self.spec.strategy.r#type != "Recreate"
    }

    /// How many seconds a rollout may go without progress.
    pub fn deadline(&self) -> Option<i32> {
        self.spec.progress_deadline_seconds.filter(|seconds| *seconds != i32::MAX)
    }

    /// How many old ReplicaSets are kept.
    pub fn history_limit(&self) -> Option<i32> {
        self.spec.revision_history_limit.filter(|limit| *limit != i32::MAX)
    }
}

impl ReplicaSet {
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    pub fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }

    pub fn annotations(&self) -> &BTreeMap<String, String> {
        self.metadata.annotations.as_ref().unwrap_or(&NONE)
    }

    pub fn created(&self) -> Timestamp {
        self.metadata.creation_timestamp.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0)
    }

    /// Who made it and looks after it.
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
    }

    pub fn is_ending(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    pub fn available(&self) -> i32 {
        self.status.available_replicas.unwrap_or_default()
    }

    /// Whether its status is about what is asked of it now.
    pub fn is_observed(&self) -> bool {
        self.status.observed_generation.unwrap_or_default() >= self.metadata.generation.unwrap_or_default()
    }
}

/// A StatefulSet, of which nothing is read but how many pods it wants.
#[derive(Clone, Debug, Deserialize)]
pub struct StatefulSet {
    #[serde(deserialize_with = "light")]
    pub metadata: ObjectMeta,
    pub spec: StatefulSetSpec,
}
record!(StatefulSet of k8s_openapi::api::apps::v1::StatefulSet);

#[derive(Clone, Debug, Deserialize)]
pub struct StatefulSetSpec {
    #[serde(default = "one")]
    pub replicas: i32,
}
