//! Version `v1alpha1` of `operator.kco.local`.

mod target_app;

pub(crate) use target_app::require_trigger_value;
pub use target_app::*;
