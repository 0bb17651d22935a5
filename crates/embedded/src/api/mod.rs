//! The Kubernetes API: one router for the TLS listener and for clients in this process.
//!
//! ```text
//! handler ─► access_control       who calls, and may they?
//!    ├─► site                     discovery, schema, health
//!    ├─► reviews                  questions that are answered and not kept
//!    └─► verbs, subresource       ─► write, delete, list, watch ─► store
//!                                       │
//!                 resource (a kind in one version) ─► builtin/*, crd ─► structural, fields, patch
//! ```

pub mod access;
mod access_control;
mod admission;
mod answer;
pub mod behaviour;
pub mod bootstrap;
pub mod builtin;
mod chunks;
pub mod crd;
pub mod definitions;
mod delete;
pub mod discovery;
pub mod error;
mod eviction;
pub mod fault;
pub mod fields;
#[cfg(fuzzing)]
pub mod fuzzing;
mod handler;
pub mod json_path;
mod list;
mod metadata;
pub mod object;
pub mod openapi;
pub mod options;
pub mod patch;
mod path;
mod quantity;
mod resource;
mod reviews;
mod scale;
pub mod selector;
pub mod server;
mod site;
pub mod structural;
mod subresource;
pub mod table;
pub mod valid;
mod verbs;
mod watch;
pub mod wire;
mod write;

use std::sync::Arc;

use axum::{Router, extract::Request};

/// The one way in.
pub fn router(server: Arc<server::Server>) -> Router {
    Router::new().fallback(move |request: Request| handler::handle(server.clone(), request))
}
