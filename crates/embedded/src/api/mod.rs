//! The Kubernetes API: one router for the TLS listener and for clients in this process.

pub mod access;
pub mod behaviour;
pub mod builtin;
pub mod crd;
pub mod discovery;
pub mod error;
pub mod fault;
pub mod fields;
pub mod json_path;
pub mod object;
pub mod openapi;
pub mod options;
pub mod patch;
pub mod scale;
pub mod selector;
pub mod structural;
pub mod table;
pub mod valid;
pub mod wire;
