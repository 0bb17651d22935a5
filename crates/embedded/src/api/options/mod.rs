//! What a request asks for beside its object: query parameters and the body of a delete.
//!
//! Numbers, booleans and combinations are read, refused and worded as upstream does. A malformed parameter is a
//! 400; one that is well formed and makes no sense is a 422 that names it.

mod delete;
mod list;
mod query;
mod token;
mod write;

pub use delete::{DeleteOptions, Preconditions, Propagation};
pub use list::{GetOptions, ListOptions, VersionMatch};
pub use query::{IncludeObject, Query};
pub use token::{ContinueToken, EXPIRED_CONTINUE};
pub use write::{FieldValidation, Write, WriteOptions};

use super::{
    error::{About, ApiError, Result},
    fault::Faults,
};

/// The 422 that upstream answers for options, if anything is wrong with them.
fn refuse(kind: &str, faults: &Faults) -> Result<()> {
    if faults.is_empty() {
        return Ok(());
    }
    Err(ApiError::invalid(About { group: "meta.k8s.io", resource: kind, name: "" }, faults))
}

#[cfg(test)]
mod tests;
