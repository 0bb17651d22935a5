//! Options of reads: get, list and watch.

use super::{ContinueToken, Query, refuse};
use crate::api::{
    error::{ApiError, Result},
    fault::{Faults, Path},
    selector::{FieldSelector, LabelSelector},
};

/// How the version of a list relates to the one asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum VersionMatch {
    Exact,
    NotOlderThan,
}

/// What a list or a watch asks for.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    pub labels: LabelSelector,
    /// The caller must still [`check`](FieldSelector::check) it against what the kind knows.
    pub fields: FieldSelector,
    pub watch: bool,
    pub bookmarks: bool,
    /// None is the latest, 0 whichever is at hand.
    pub version: Option<u64>,
    pub version_match: Option<VersionMatch>,
    /// Seconds until a watch ends, if it says so; none or 0 leave it to the server.
    pub timeout: Option<u64>,
    /// Objects on a page, if it is to come in pages.
    pub limit: Option<u64>,
    /// Where the page before ended.
    pub next: Option<ContinueToken>,
    /// Whether a watch begins with what is there. Always told for a watch without a version, or of version 0.
    pub initial_events: Option<bool>,
}

/// What a get asks for.
#[derive(Clone, Copy, Debug, Default)]
pub struct GetOptions {
    /// None is the latest, 0 whichever is at hand.
    pub version: Option<u64>,
}

impl GetOptions {
    pub fn parse(query: &Query) -> Result<Self> {
        Ok(Self { version: query.version()? })
    }
}

impl ListOptions {
    pub fn parse(query: &Query) -> Result<Self> {
        Self::read(query, query.flag("watch"))
    }

    /// For paths that are watches whatever the query says (`/api/v1/watch/…`).
    pub fn parse_watch(query: &Query) -> Result<Self> {
        Self::read(query, true)
    }

    fn read(query: &Query, watch: bool) -> Result<Self> {
        // Numbers below zero mean no bound, as no number does.
        let count = |name| Ok(query.number(name)?.and_then(|number| u64::try_from(number).ok()));
        let (timeout, limit) = (count("timeoutSeconds")?, count("limit")?.filter(|limit| *limit > 0));
        let labels = LabelSelector::parse(query.text("labelSelector"))?;
        let fields = FieldSelector::parse(query.text("fieldSelector"))?;
        let (asked, mut wish) = (query.text("resourceVersionMatch"), query.switch("sendInitialEvents"));
        let legacy = matches!(query.text("resourceVersion"), "" | "0");
        let mut version_match = asked;
        if watch && legacy && wish.is_none() && asked.is_empty() {
            (wish, version_match) = (Some(true), "NotOlderThan");
        }
        let faults = if watch {
            watch_faults(query, version_match, wish)
        } else {
            list_faults(query, version_match, wish)
        };
        refuse("ListOptions", &faults)?;
        Ok(Self {
            labels,
            fields,
            watch,
            bookmarks: query.flag("allowWatchBookmarks"),
            version: query.version()?,
            version_match: match version_match {
                "Exact" => Some(VersionMatch::Exact),
                "NotOlderThan" => Some(VersionMatch::NotOlderThan),
                _ => None,
            },
            timeout,
            limit,
            next: if watch { None } else { next(query)? },
            initial_events: wish,
        })
    }
}

/// Where to go on. The version is that of the token, so there may be no other.
fn next(query: &Query) -> Result<Option<ContinueToken>> {
    let text = query.text("continue");
    if text.is_empty() {
        return Ok(None);
    }
    let token = ContinueToken::decode(text)?;
    if !matches!(query.text("resourceVersion"), "" | "0") {
        let message = "specifying resource version is not allowed when using continue";
        return Err(ApiError::bad_request(message));
    }
    Ok(Some(token))
}

fn list_faults(query: &Query, version_match: &str, initial_events: Option<bool>) -> Faults {
    let mut faults = Faults::default();
    let path = Path::new("resourceVersionMatch");
    if !version_match.is_empty() {
        if query.text("resourceVersion").is_empty() {
            faults.forbidden(&path, "resourceVersionMatch is forbidden unless resourceVersion is provided");
        }
        if !query.text("continue").is_empty() {
            faults.forbidden(&path, "resourceVersionMatch is forbidden when continue is provided");
        }
        if !matches!(version_match, "Exact" | "NotOlderThan") {
            faults.not_supported(&path, &version_match.into(), &["Exact", "NotOlderThan", ""]);
        }
        if version_match == "Exact" && query.text("resourceVersion") == "0" {
            faults.forbidden(&path, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
        }
    }
    if initial_events.is_some() {
        faults.forbidden(&Path::new("sendInitialEvents"), "sendInitialEvents is forbidden for list");
    }
    faults
}

fn watch_faults(query: &Query, version_match: &str, initial_events: Option<bool>) -> Faults {
    let mut faults = Faults::default();
    let path = Path::new("resourceVersionMatch");
    if initial_events.is_some() && version_match != "NotOlderThan" {
        faults.forbidden(&path, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    }
    if !version_match.is_empty() {
        if initial_events.is_none() {
            let detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            faults.forbidden(&path, detail);
        }
        if version_match != "NotOlderThan" {
            faults.not_supported(&path, &version_match.into(), &["NotOlderThan"]);
        }
        if !query.text("continue").is_empty() {
            faults.forbidden(&path, "resourceVersionMatch is forbidden when continue is provided");
        }
    }
    faults
}
