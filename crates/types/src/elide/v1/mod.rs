//! Version `v1` of `cloudnative.elide.dev`.

mod application;

pub use application::*;
