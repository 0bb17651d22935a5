//! `krkn.krkn-chaos.dev`: chaos scenarios against target clusters.

pub mod v1alpha1;

/// The API group.
pub const GROUP: &str = "krkn.krkn-chaos.dev";
