//! Options any write takes: dryRun and fieldValidation.

use crate::Case;

pub(super) fn cases() -> Vec<Case> {
    Vec::new()
}
