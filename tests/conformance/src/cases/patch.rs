//! Patching: JSON, merge and strategic merge.

use crate::Case;

pub(super) fn cases() -> Vec<Case> {
    Vec::new()
}
