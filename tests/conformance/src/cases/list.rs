//! Listing: paging, selectors and versions.

use crate::Case;

pub(super) fn cases() -> Vec<Case> {
    Vec::new()
}
