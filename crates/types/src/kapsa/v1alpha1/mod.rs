//! Version `v1alpha1` of `kapsa-project.io`.

mod domain_pool;
mod environment;
mod project;
mod registry;

pub use domain_pool::*;
pub use environment::*;
pub use project::*;
pub use registry::*;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A Secret, by name and namespace.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct SecretReference {
    /// The Secret's name.
    pub name: String,

    /// The Secret's namespace. Absent: for a Project its own namespace, for a Registry the operator's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// An object in the same namespace, by name.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct LocalReference {
    /// The object's name.
    pub name: String,
}

/// An environment variable with a plain value. Secret values come by reference, never from here.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct EnvVar {
    /// The variable's name.
    pub name: String,

    /// The variable's value. May be empty.
    pub value: String,
}

/// Whether an environment is meant to stay.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EnvironmentType {
    /// Listed in the Project; lives until it is removed there.
    Permanent,
    /// Made for a branch; goes with the branch or when its time is up.
    Preview,
}
