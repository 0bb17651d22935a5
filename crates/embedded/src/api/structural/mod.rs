//! What a schema asks of a value: types, defaults, pruning, bounds, rules.
//!
//! Built-in kinds go through [`conform`], which does what decoding into upstream's structs does. Custom
//! resources go through [`default`], [`prune`] and [`validate`], in that order. All of it is pure, and none
//! of it goes deeper than the value does.

pub mod cel;
mod conform;
mod defaults;
mod embedded;
pub mod field_path;
pub mod formats;
mod lists;
mod place;
mod pointers;
mod prune;
mod uri;
mod validate;

pub use conform::{conform, fill_zeros};
pub use defaults::{default, drop_nulls};
pub use prune::{is_pruned, prune};
pub use validate::{check, validate};

/// The definition of `metadata`.
pub const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
