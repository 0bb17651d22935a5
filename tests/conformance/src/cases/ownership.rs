//! The garbage collector: owners and what is left of them.

use crate::Case;

pub(super) fn cases() -> Vec<Case> {
    Vec::new()
}
