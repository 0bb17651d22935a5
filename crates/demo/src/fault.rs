//! What can go wrong on request.

use serde::{Deserialize, Serialize};

/// A way to answer badly.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Fault {
    /// No answer ever comes.
    Hang {},
    /// 500.
    Error {},
    /// The right answer, after a while.
    Slow { millis: u32 },
    /// Half of a JSON document.
    Malformed {},
    /// Data beside errors.
    Partial {},
    /// 401.
    Unauthorized {},
    /// The connection is reset.
    Reset {},
    /// An answer of 100 MB.
    Huge {},
    /// Somewhere else, by 302.
    Redirect { to: String },
    /// Questions about the schema are refused.
    NoIntrospection {},
}

/// A fault, whom it hits, and for how long.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Plan {
    pub fault: Fault,
    /// For so many requests; none: until it is taken away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// Whether probes are hit too, and not only queries.
    #[serde(default)]
    pub probes: bool,
}
