//! The patches other than server-side apply: JSON (RFC 6902), merge (RFC 7396) and Kubernetes' strategic merge.
//!
//! Each is a function from the live object and a body to the new object, not yet defaulted or validated.
//! A patch that cannot be read is a 400; one that can be read but not carried out is a 422.

mod json;
mod strategic;
#[cfg(test)]
mod tests;

use http::StatusCode;
use serde_json::Value;

use super::error::ApiError;
use crate::schema::Schema;

/// How a patch is to be understood.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PatchKind {
    Json,
    Merge,
    Strategic,
}

/// Applies a patch. A strategic merge goes by the schema; without one every list is replaced.
///
/// # Errors
/// 400 for a body that is no such patch, 413 for one of too many operations, 422 for one that cannot be
/// carried out on this object.
pub fn apply(
    kind: PatchKind,
    schema: Option<Schema<'_>>,
    live: &Value,
    body: &Value,
) -> Result<Value, ApiError> {
    match kind {
        PatchKind::Json => json::apply(live, body),
        PatchKind::Merge | PatchKind::Strategic if !body.is_object() => {
            Err(ApiError::bad_request("error decoding patch: expected an object"))
        }
        PatchKind::Merge => {
            let mut new = live.clone();
            json_patch::merge(&mut new, body);
            Ok(new)
        }
        PatchKind::Strategic => strategic::apply(schema, live, body),
    }
}

/// A patch that cannot be carried out.
fn unprocessable(why: &str) -> ApiError {
    let message = format!("the server rejected our request due to an error in our request: {why}");
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message)
}
