//! Records: what is read of an object, and nothing else.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use serde::{Deserialize, Deserializer};

/// What controllers read of an object's metadata: all but who owns which field, which is often most of it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Light {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
    deletion_grace_period_seconds: Option<i64>,
    labels: Option<std::collections::BTreeMap<String, String>>,
    annotations: Option<std::collections::BTreeMap<String, String>>,
    owner_references: Option<Vec<OwnerReference>>,
    finalizers: Option<Vec<String>>,
}

/// Reads metadata without `managedFields`.
///
/// # Errors
/// When it is no metadata.
pub fn light<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
    let light = Light::deserialize(deserializer)?;
    Ok(ObjectMeta {
        name: light.name,
        namespace: light.namespace,
        uid: light.uid,
        resource_version: light.resource_version,
        generation: light.generation,
        creation_timestamp: light.creation_timestamp,
        deletion_timestamp: light.deletion_timestamp,
        deletion_grace_period_seconds: light.deletion_grace_period_seconds,
        labels: light.labels,
        annotations: light.annotations,
        owner_references: light.owner_references,
        finalizers: light.finalizers,
        ..ObjectMeta::default()
    })
}

/// Makes a type with a field `metadata` a record of a kind.
///
/// ```ignore
/// #[derive(Clone, Debug, Deserialize)]
/// struct Lease {
///     #[serde(deserialize_with = "anneal_kit::light")]
///     metadata: ObjectMeta,
/// }
/// anneal_kit::record!(Lease of k8s_openapi::api::coordination::v1::Lease);
/// ```
#[macro_export]
macro_rules! record {
    ($record:ident of $kind:ty) => {
        impl $crate::kube::Resource for $record {
            type DynamicType = ();
            type Scope = <$kind as $crate::kube::Resource>::Scope;

            fn kind(_: &()) -> std::borrow::Cow<'_, str> {
                <$kind as $crate::kube::Resource>::kind(&())
            }
            fn group(_: &()) -> std::borrow::Cow<'_, str> {
                <$kind as $crate::kube::Resource>::group(&())
            }
            fn version(_: &()) -> std::borrow::Cow<'_, str> {
                <$kind as $crate::kube::Resource>::version(&())
            }
            fn plural(_: &()) -> std::borrow::Cow<'_, str> {
                <$kind as $crate::kube::Resource>::plural(&())
            }
            fn meta(&self) -> &$crate::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &self.metadata
            }
            fn meta_mut(
                &mut self,
            ) -> &mut $crate::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}
