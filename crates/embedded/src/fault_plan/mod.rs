//! The fault seam: a layer between an in-process client and the server that fails calls and watch events by
//! plan, so that a controller can be swept through every point at which something may go wrong.
//!
//! A [`Plan`] is shared by all actors of a run; [`Plan::layer`] makes the layer for one of them, around the
//! service that its client uses. A reference run records the [`Point`]s that it passes ([`Plan::record`]); a
//! sweep then runs once for each point and fault ([`Plan::inject`], [`Plan::inject_event`]). A point is named
//! by actor, verb, resource, object and the how-many-th time, never by a number of the whole run, so that it
//! means the same in both.
//!
//! Waiting goes by the [`Clock`](anneal_kit::Clock), chance comes from the [`Rng`](anneal_kit::Rng): on a
//! current-thread runtime with paused time a run repeats itself.

mod answers;
mod call;
mod events;
mod layer;
mod plan;
mod when;

#[cfg(test)]
mod tests;

pub use call::{Call, call_of};
pub use layer::{FaultLayer, FaultService};
pub use plan::{EventFault, Fault, Plan};
pub use when::{Point, When};
