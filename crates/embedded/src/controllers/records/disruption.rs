//! What controllers read of a disruption budget.

use anneal_kit::{light, record};
use k8s_openapi::{
    api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetStatus},
    apimachinery::pkg::{apis::meta::v1::ObjectMeta, util::intstr::IntOrString},
};
use serde::Deserialize;

use super::selector;
use crate::api::selector::LabelSelector;

/// A disruption budget.
#[derive(Clone, Debug, Deserialize)]
pub struct DisruptionBudget {
    #[serde(deserialize_with = "light")]
    pub metadata: ObjectMeta,
    #[serde(default)]
    pub spec: Spec,
    #[serde(default)]
    pub status: PodDisruptionBudgetStatus,
}
record!(DisruptionBudget of PodDisruptionBudget);

#[derive(Clone, Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    pub min_available: Option<IntOrString>,
    pub max_unavailable: Option<IntOrString>,
    #[serde(deserialize_with = "selector")]
    pub selector: LabelSelector,
}

impl Default for Spec {
    fn default() -> Self {
        Self { min_available: None, max_unavailable: None, selector: LabelSelector::nothing() }
    }
}
