//! `cloudnative.elide.dev`: run an image.

pub mod v1;

/// The API group.
pub const GROUP: &str = "cloudnative.elide.dev";
