//! What only a real node can show: logs, probes, restarts.

use crate::Case;

pub(super) fn cases() -> Vec<Case> {
    Vec::new()
}
