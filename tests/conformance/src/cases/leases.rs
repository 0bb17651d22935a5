//! Leases, on which leader election stands.

use crate::Case;

pub(super) fn cases() -> Vec<Case> {
    Vec::new()
}
