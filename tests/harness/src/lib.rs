//! Servers for tests.
//!
//! A suite asks for a [`Server`], gives each test a namespace of its own ([`Server::temp_namespace`])
//! and talks to it through [`Http`], which shows what crossed the wire: status code, headers, body.
//! [`ControlPlane`] is upstream's API server, [`Anneal`] is ours; neither outlives the process that started it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code: a broken assumption should end the test")]

mod anneal;
mod control_plane;
mod http;
mod kubeconfig;
mod kubectl;
mod node;
mod server;
mod temp;
mod wait;
mod watch;

pub use anneal::{Anneal, Data};
pub use control_plane::{ControlPlane, kube_programs};
pub use http::{Http, PatchKind, Reply};
pub use kubectl::Kubectl;
pub use node::PlayedNode;
pub use server::{Identity, Namespace, Needs, Server, ServerVersion};
pub use temp::TempFolder;
pub use wait::{PATIENCE, eventually};
pub use watch::{Watch, WatchEvent};
