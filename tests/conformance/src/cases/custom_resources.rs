//! Custom resources: schema, defaults, pruning, rules, subresources.

use crate::Case;

pub(super) fn cases() -> Vec<Case> {
    Vec::new()
}
