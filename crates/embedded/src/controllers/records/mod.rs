//! What the controllers read of each kind.
//!
//! A record is as small as its readers allow: there are thousands of them. What is only passed on stays text.

mod pod;

use anneal_kit::{light, record};
use k8s_openapi::{api, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use serde::Deserialize;

pub use pod::Pod;

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

/// A namespace.
#[derive(Clone, Debug, Deserialize)]
pub struct Namespace {
    #[serde(deserialize_with = "light")]
    pub metadata: ObjectMeta,
}
record!(Namespace of api::core::v1::Namespace);

impl Namespace {
    pub fn is_ending(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }
}

/// The ConfigMap `kube-root-ca.crt` of a namespace.
#[derive(Clone, Debug, Deserialize)]
pub struct RootCertificate {
    #[serde(deserialize_with = "light")]
    pub metadata: ObjectMeta,
    #[serde(default)]
    pub data: std::collections::BTreeMap<String, String>,
}
record!(RootCertificate of api::core::v1::ConfigMap);
