//! `cloudnative.elide.dev`: run an image.

pub mod v1;
