//! Where a page of a list ended, as clients carry it to the next one.
//!
//! The form is upstream's, so that tools that look inside find what they know. It holds nothing secret and
//! grants nothing: whoever changes it asks for another part of a list they may read anyway.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

use crate::api::error::{ApiError, Result};

/// The next page begins after this object.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ContinueToken {
    /// The version that all pages show; none is the latest, after that of the first page is gone.
    pub revision: Option<u64>,
    /// Empty for kinds without namespaces.
    pub namespace: String,
    pub name: String,
}

#[derive(Deserialize, Serialize)]
struct Encoded<'a> {
    #[serde(default)]
    v: &'a str,
    #[serde(default)]
    rv: i64,
    #[serde(default)]
    start: String,
}

const VERSION: &str = "meta.k8s.io/v1";
/// Longer than any namespace and name can make it.
const MAX_LENGTH: usize = 4096;

impl ContinueToken {
    pub fn encode(&self) -> String {
        let start = match (self.namespace.as_str(), self.name.as_str()) {
            ("", name) => format!("{name}\0"),
            (namespace, name) => format!("{namespace}/{name}\0"),
        };
        let rv = self.revision.map_or(-1, |revision| i64::try_from(revision).unwrap_or(i64::MAX));
        let json = serde_json::to_vec(&Encoded { v: VERSION, rv, start });
        URL_SAFE_NO_PAD.encode(json.unwrap_or_default())
    }

    pub fn decode(text: &str) -> Result<Self> {
        Self::read(text).map_err(|why| ApiError::bad_request(format!("invalid continue token: {why}")))
    }

    fn read(text: &str) -> Result<Self, String> {
        const INVALID: &str = "continue key is not valid";
        if text.len() > MAX_LENGTH {
            return Err(INVALID.to_owned());
        }
        let json = URL_SAFE_NO_PAD.decode(text).map_err(|error| format!("{INVALID}: {error}"))?;
        let token: Encoded<'_> =
            serde_json::from_slice(&json).map_err(|error| format!("{INVALID}: {error}"))?;
        if token.v != VERSION {
            return Err(format!("{INVALID}: server does not recognize this encoded version {}", token.v));
        }
        let revision = match token.rv {
            0 => {
                return Err(format!(
                    "{INVALID}: incorrect encoded start resourceVersion (version {VERSION})"
                ));
            }
            rv => u64::try_from(rv).ok(),
        };
        if token.start.is_empty() {
            return Err(format!("{INVALID}: encoded start key empty (version {VERSION})"));
        }
        let key = token.start.strip_suffix('\0').unwrap_or(&token.start);
        let key = key.strip_prefix('/').unwrap_or(key);
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        if [namespace, name].iter().any(|part| matches!(*part, "." | ".."))
            || name.is_empty()
            || name.contains('/')
        {
            return Err(format!("{INVALID}: {}", token.start));
        }
        Ok(Self { revision, namespace: namespace.to_owned(), name: name.to_owned() })
    }
}

/// What to tell a client whose page is of a version that is gone; the token goes into the Status' metadata.
pub const EXPIRED_CONTINUE: &str = "The provided continue parameter is too old to display a consistent list result. \
    You can start a new list without the continue parameter, or use the continue token in this response to retrieve \
    the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that \
    were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";
