//! Who owns which field: `managedFields` and server-side apply, by the rules of Kubernetes'
//! structured-merge-diff.
//!
//! A handler makes two calls. The first records ownership, on objects as the API shows them:
//! - create, update and the other patches: build and default the new object, then [`track_update`] with the
//!   live one (none on create), before the kind's own preparation carries over what may not change;
//! - apply: [`apply`] merges the configuration into the live object; then default the result.
//!   Defaults that an apply brings about belong to nobody; on other writes they belong to the writer.
//!
//! The second, [`settle`], comes after preparation and validation: if nothing but times of ownership differs
//! from the live object it restores them, so that a write that changes nothing is seen to change nothing.
//!
//! "As the API shows them": of a built-in kind, nulls and what an encoder leaves out (empty lists and maps) must
//! be gone from both objects, and what is always there (`resources: {}` of a container) must be there.
//! [`apply`] takes its configuration as it was sent.
//!
//! All is pure; depth is bounded by that of JSON bodies.

mod apply;
mod compare;
mod element;
mod last_applied;
mod managed;
mod merge;
mod named;
mod reconcile;
mod reset;
mod scale;
mod set;
mod settle;
mod shape;
#[cfg(test)]
mod tests;
mod update;
mod walk;

use std::sync::LazyLock;

use jiff::Timestamp;

pub use apply::apply;
pub use element::Element;
pub use reset::reset_fields;
pub use scale::track_scale;
pub use set::{Branch, FieldSet};
pub use settle::settle;
pub use update::track_update;

/// Who writes, where to and when.
#[derive(Clone, Copy, Debug)]
pub struct Writer<'a> {
    /// The field manager.
    pub manager: &'a str,
    /// The version the write was made in.
    pub api_version: &'a str,
    /// `status` and the like; none for the object itself.
    pub subresource: Option<&'a str>,
    pub time: Timestamp,
}

/// Fields that are the server's alone and that nobody else ever owns.
fn metadata_of_the_server() -> &'static FieldSet {
    static FIELDS: LazyLock<FieldSet> = LazyLock::new(|| {
        FieldSet::of_paths(&[
            &["apiVersion"],
            &["kind"],
            &["metadata"],
            &["metadata", "name"],
            &["metadata", "namespace"],
            &["metadata", "creationTimestamp"],
            &["metadata", "selfLink"],
            &["metadata", "uid"],
            &["metadata", "clusterName"],
            &["metadata", "generation"],
            &["metadata", "managedFields"],
            &["metadata", "resourceVersion"],
        ])
    });
    &FIELDS
}
