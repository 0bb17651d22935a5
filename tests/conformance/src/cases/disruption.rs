//! Disruption budgets.

use crate::Case;

pub(super) fn cases() -> Vec<Case> {
    Vec::new()
}
