//! The Kubernetes API: one router for the TLS listener and for clients in this process.

pub mod behaviour;
pub mod builtin;
pub mod crd;
pub mod error;
pub mod fault;
pub mod fields;
pub mod json_path;
pub mod object;
pub mod options;
pub mod patch;
pub mod scale;
pub mod selector;
pub mod structural;
pub mod table;
pub mod valid;
pub mod wire;
