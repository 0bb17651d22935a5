//! Definitions of custom resources: whether they are allowed, what becomes of their names, and what they serve.
//!
//! [`validate`] judges a definition, [`establish`] computes its status, and [`CustomKind::compile`] makes the
//! kind that requests are answered with. All of it is pure: who calls it keeps definitions apart and in order.

mod columns;
mod defaults;
mod establish;
mod field_path;
mod keywords;
mod kind;
mod limits;
mod publish;
mod structural;
mod validate;

pub use establish::{establish, stored_versions};
pub use kind::{CustomKind, CustomVersion, tree_of};
pub use publish::publish;
pub use validate::{default, validate, validate_change};

#[cfg(test)]
mod tests;
