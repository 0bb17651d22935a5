//! `kapsa-project.io`: from git to an environment with a domain.

pub mod v1alpha1;

/// The API group.
pub const GROUP: &str = "kapsa-project.io";
