//! Services, Endpoints and EndpointSlices, with the test playing the node.

use crate::Case;

pub(super) fn cases() -> Vec<Case> {
    Vec::new()
}
