//! What controllers read of Services and of what lists their pods.

use std::collections::BTreeMap;

use anneal_kit::{light, record};
use k8s_openapi::{
    api,
    apimachinery::pkg::{apis::meta::v1::ObjectMeta, util::intstr::IntOrString},
};
use serde::Deserialize;
use serde_json::Value;

/// A Service.
#[derive(Clone, Debug, Deserialize)]
pub struct Service {
    #[serde(deserialize_with = "light")]
    pub metadata: ObjectMeta,
    #[serde(default)]
    pub spec: ServiceSpec,
}
record!(Service of api::core::v1::Service);

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ServiceSpec {
    pub r#type: String,
    #[serde(rename = "clusterIP")]
    pub cluster_ip: String,
    /// None if somebody else says where it leads.
    pub selector: Option<BTreeMap<String, String>>,
    pub ports: Vec<ServicePort>,
    pub publish_not_ready_addresses: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ServicePort {
    pub name: String,
    pub port: u16,
    pub target_port: Option<IntOrString>,
    pub protocol: String,
    pub app_protocol: Option<String>,
}

impl Service {
    /// The pods it leads to, by their labels; none if it does not choose them itself.
    pub fn selector(&self) -> Option<&BTreeMap<String, String>> {
        let selector = self.spec.selector.as_ref().filter(|selector| !selector.is_empty());
        selector.filter(|_| self.spec.r#type != "ExternalName")
    }

    pub fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        self.selector()
            .is_some_and(|selector| selector.iter().all(|(key, value)| labels.get(key) == Some(value)))
    }

    pub fn is_headless(&self) -> bool {
        self.spec.cluster_ip == "None"
    }

    pub fn is_ending(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }
}

/// Endpoints.
#[derive(Clone, Debug, Deserialize)]
pub struct Endpoints {
    #[serde(deserialize_with = "light")]
    pub metadata: ObjectMeta,
    #[serde(default)]
    pub subsets: Value,
}
record!(Endpoints of api::core::v1::Endpoints);

/// An EndpointSlice.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndpointSlice {
    #[serde(deserialize_with = "light")]
    pub metadata: ObjectMeta,
    pub address_type: String,
    #[serde(default)]
    pub endpoints: Value,
    #[serde(default)]
    pub ports: Value,
}
record!(EndpointSlice of api::discovery::v1::EndpointSlice);
