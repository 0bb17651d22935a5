//! Version `v1alpha1` of `krkn.krkn-chaos.dev`.

mod scenario_run;
mod target;
mod target_provider;
mod target_request;

pub use scenario_run::*;
pub use target::*;
pub use target_provider::*;
pub use target_request::*;
