//! What controllers and users rely on in a Kubernetes API, as cases that run on any server.
//!
//! A case is an `async fn` whose name is the sentence it proves. It gets a [`Case`] context with a
//! namespace of its own, and says what it needs of the server; where the server lacks that, the case
//! is skipped by name. The suite is silent about how a server does things: it is written against
//! upstream's API server, and any other server must not be told apart from it.
//!
//! `kubectl` looks at our own kinds as people do. `saboteur` breaks a good server on purpose, to show that the suite would notice.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code: a broken assumption should end the case")]

mod case;
pub mod cases;
mod definitions;
mod fixtures;
mod kinds;
pub mod kubectl;
mod manifests;
pub mod saboteur;

pub use case::{Case, Cx};
pub use kinds::{Kind, Objects};
