//! The cluster in a box: a small, honest Kubernetes API in one process.

pub mod api;
mod body;
mod cluster;
pub mod controllers;
pub mod fault_plan;
mod identity;
mod listener;
pub mod schema;
pub mod store;

pub use api::access::User;
pub use cluster::{Cluster, Data, Options, StartError};
pub use controllers::Selection;
pub use identity::write_private;
