//! What controllers read of the definition of a custom kind.

use anneal_kit::{light, record};
use k8s_openapi::{
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use serde::Deserialize;

/// The definition of a custom kind.
#[derive(Clone, Debug, Deserialize)]
pub struct Definition {
    #[serde(deserialize_with = "light")]
    pub metadata: ObjectMeta,
    pub spec: Spec,
}
record!(Definition of CustomResourceDefinition);

#[derive(Clone, Debug, Deserialize)]
pub struct Spec {
    pub group: String,
    pub names: Names,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Names {
    pub kind: String,
}
