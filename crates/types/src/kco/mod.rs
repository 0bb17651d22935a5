//! `operator.kco.local`: watch an application's own state and act on it.

pub mod v1alpha1;

/// The API group.
pub const GROUP: &str = "operator.kco.local";
