//! The cluster in a box: a small, honest Kubernetes API in one process.

pub mod api;
pub mod schema;
pub mod store;
