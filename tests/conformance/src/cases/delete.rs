//! Deleting: finalizers, preconditions, grace and collections.

use crate::Case;

pub(super) fn cases() -> Vec<Case> {
    Vec::new()
}
