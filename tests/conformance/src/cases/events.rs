//! Events in both their groups.

use crate::Case;

pub(super) fn cases() -> Vec<Case> {
    Vec::new()
}
