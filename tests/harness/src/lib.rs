//! Servers for tests.
//!
//! A suite asks for a [`Server`], gives each test a namespace of its own ([`Server::temp_namespace`])
//! and talks to it through [`Http`], which shows what crossed the wire: status code, headers, body.
//! [`ControlPlane`] is upstream's API server; it cannot outlive the process that started it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code: a broken assumption should end the test")]

mod control_plane;
mod http;
mod kubectl;
mod node;
mod server;
mod wait;
mod watch;

pub use control_plane::ControlPlane;
pub use http::{Http, PatchKind, Reply};
pub use kubectl::Kubectl;
pub use node::PlayedNode;
pub use server::{Identity, Namespace, Needs, Server, ServerVersion};
pub use wait::{PATIENCE, eventually};
pub use watch::{Watch, WatchEvent};
