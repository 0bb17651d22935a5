//! The published schema, `/openapi/v3`.
//!
//! kubectl reads it before it validates, applies and explains. A document is made when it is asked for and not
//! kept: it is a function of the bundle, of what is served and of the schemas that definitions publish. Only the
//! hashes of the built-in documents stay. Of `/openapi/v2` there is but the frame: [`v2`].

mod paths;
mod schemas;
pub mod v2;

use std::{
    collections::BTreeMap,
    sync::{LazyLock, Mutex, PoisonError},
};

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::discovery::{Served, Version, etag};
use crate::schema::bundled;

/// The schema that a custom kind publishes, by group, version and kind, as its definition has it.
pub type Published<'a> = &'a dyn Fn(&str, &str, &str) -> Option<Value>;

/// How an answer may be kept.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Caching {
    /// The client asked for this very content, which never changes: `public, immutable`.
    Forever,
    /// The client asked for whatever it is now: `no-cache, private`.
    Never,
    /// The client asked for content that is no more; this is where to look (301).
    Moved(String),
}

/// `/openapi/v3`: where the document of each version is, by the hash of its content.
pub fn index(served: &Served, published: Published<'_>) -> Value {
    let mut paths = Map::new();
    for group in served.groups() {
        for version in &group.versions {
            let path = path(&group.name, &version.name);
            let url = url(&path, &hash(&group.name, version, published));
            paths.insert(path, json!({ "serverRelativeURL": url }));
        }
    }
    json!({ "paths": paths })
}

/// `/openapi/v3/api/v1` and the like; `None` if the version is not served.
pub fn document(served: &Served, group: &str, version: &str, published: Published<'_>) -> Option<Bytes> {
    let version = served.version(group, version)?;
    Some(encode(group, version, published))
}

/// Splits what follows `/openapi/v3/` into group and version.
pub fn parse_path(path: &str) -> Option<(&str, &str)> {
    match path.split('/').collect::<Vec<_>>()[..] {
        ["api", version] => Some(("", version)),
        ["apis", group, version] => Some((group, version)),
        _ => None,
    }
}

/// How a document may be kept, given its [`etag`] and the `hash` parameter of the request.
pub fn caching(group: &str, version: &str, etag: &str, asked: Option<&str>) -> Caching {
    let hash = etag.trim_matches('"');
    match asked {
        None | Some("") => Caching::Never,
        Some(asked) if asked == hash => Caching::Forever,
        Some(_) => Caching::Moved(url(&path(group, version), hash)),
    }
}

fn path(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

fn url(path: &str, hash: &str) -> String {
    format!("/openapi/v3/{path}?hash={hash}")
}

fn hash(group: &str, version: &Version, published: Published<'_>) -> String {
    static BUILTIN: LazyLock<Mutex<BTreeMap<String, String>>> = LazyLock::new(Mutex::default);
    let make = || etag(&encode(group, version, published)).trim_matches('"').to_owned();
    if version.resources.iter().any(|resource| resource.custom) {
        return make();
    }
    let mut known = BUILTIN.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(path(group, &version.name)).or_insert_with(make).clone()
}

fn encode(group: &str, version: &Version, published: Published<'_>) -> Bytes {
    let kubernetes = bundled().version.trim_start_matches('v');
    let document = json!({
        "openapi": "3.0.0",
        "info": { "title": "Kubernetes", "version": kubernetes },
        "paths": paths::of_version(group, version),
        "components": { "schemas": schemas::of_version(group, version, published) },
    });
    document.to_string().into_bytes().into()
}

#[cfg(test)]
mod tests;
