//! `anneal demo-app`: a small GraphQL application with controllable state, for examples and tests.
//!
//! It answers as the daemon of a Mina node does, quirks included, so that what watches it here can watch the real one.
//! `/control` sets its state, lets it go through timed phases and makes it misbehave. There is no authentication: it
//! is to be played with, not to be exposed.

mod fault;
mod graphql;
mod http_api;
mod node;
mod server;

pub use fault::{Fault, Plan};
pub use node::{Phase, Start};
pub use server::{App, Options};
