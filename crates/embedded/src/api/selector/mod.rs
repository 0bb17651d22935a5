//! Selectors: which objects a list, a watch or a controller is about.
//!
//! [`LabelSelector`] is what `labelSelector=` says and what specs hold as `matchLabels` and
//! `matchExpressions`; [`FieldSelector`] is what `fieldSelector=` says. Both are parsed as upstream does, down to
//! the words of a refusal. Work is linear in the input, whose length the request line and the body bound.

mod field;
mod label;

pub use field::FieldSelector;
pub use label::LabelSelector;
