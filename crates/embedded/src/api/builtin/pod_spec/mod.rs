//! The spec of a pod, which stands in pods and in the templates of everything that makes pods: its defaults, and
//! what may be wrong with it.
//!
//! What only holds for pods themselves (requests follow limits, what admission adds) is in `pod.rs`.

mod container;
mod default;
mod resources;
mod scheduling;
mod validate;
mod volume;
mod warnings;

pub(crate) use default::{default_spec, default_template};
pub(crate) use scheduling::TAINT_EFFECTS;
pub(crate) use validate::{validate_spec, validate_template};
pub(crate) use warnings::warnings;

#[cfg(test)]
mod tests;
