//! Reading collections: selections, pages and the past.

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use serde_json::json;

use super::{
    error::{ApiError, Result},
    options::{ContinueToken, ListOptions, VersionMatch},
    resource::Resource,
    selector::{FieldSelector, LabelSelector},
    server::Server,
};
use crate::store::{Key, Range, Record};

/// How long a reader waits for a version that is not there yet.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often it looks.
const GLANCE: Duration = Duration::from_millis(50);

/// Which objects of a kind a client wants to see.
pub struct Selection {
    labels: LabelSelector,
    fields: FieldSelector,
}

impl Selection {
    /// # Errors
    /// When a field cannot be selected by.
    pub fn new(resource: &Resource, options: &ListOptions) -> Result<Self> {
        if !options.fields.is_everything() {
            let known = resource.fields(&json!({}));
            let own =
                known.iter().map(|(name, _)| name.as_str()).filter(|name| !name.starts_with("metadata."));
            options.fields.check(&own.collect::<Vec<_>>())?;
        }
        Ok(Self { labels: options.labels.clone(), fields: options.fields.clone() })
    }

    pub fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything()
    }

    pub fn matches(&self, resource: &Resource, record: &Record) -> bool {
        if !self.labels.is_everything() && !self.labels.matches(record.labels()) {
            return false;
        }
        if self.fields.is_everything() {
            return true;
        }
        // By far the most frequent: one object, by its name.
        if self.fields.exact("metadata.name").is_some_and(|name| name != record.name()) {
            return false;
        }
        let fields = resource.fields(&resource.read(record));
        self.fields
            .matches(|field| fields.iter().find(|(name, _)| name == field).map(|(_, value)| value.as_str()))
    }
}

/// A page of a list.
pub struct Listed {
    pub revision: u64,
    pub records: Vec<Arc<Record>>,
    /// Where the next page begins, if there is one.
    pub next: Option<ContinueToken>,
    /// How many are left, where that is known.
    pub remaining: Option<usize>,
}

/// Lists a namespace, or all of them.
pub async fn list(
    server: &Server,
    resource: &Resource,
    namespace: Option<&str>,
    options: &ListOptions,
) -> Result<Listed> {
    let selection = Selection::new(resource, options)?;
    let version = options.version.unwrap_or_default();
    let at = match (&options.next, options.version_match) {
        (Some(token), _) => token.revision,
        (None, Some(VersionMatch::Exact)) => Some(version),
        (None, _) => None,
    };
    wait_for(server, at.unwrap_or(version)).await?;
    let after = options.next.as_ref().map(|token| (token.namespace.as_str(), token.name.as_str()));
    // Version 0 is served as a whole, as from upstream's cache.
    let limit = if options.version == Some(0) { None } else { options.limit };
    let limit = usize::try_from(limit.unwrap_or_default()).unwrap_or_default();
    // A selection is made over all that is left, so its end is known only by looking.
    let fetched = if selection.is_everything() { limit } else { 0 };
    let range = Range { collection: &resource.collection, namespace, after, limit: fetched };
    let page = server.store.list(&range, at).map_err(|_| {
        ApiError::expired(
            "The provided continue parameter or resourceVersion is too old to display a consistent list result. \
             You can start a new list without it.",
        )
    })?;
    let mut matching = page.records.into_iter().filter(|(_, record)| selection.matches(resource, record));
    let records: Vec<(Key, Arc<Record>)> =
        matching.by_ref().take(if limit == 0 { usize::MAX } else { limit }).collect();
    let more = page.remaining > 0 || matching.next().is_some();
    let next = records.last().filter(|_| more).map(|(key, _)| ContinueToken {
        revision: Some(page.revision),
        namespace: key.namespace.to_string(),
        name: key.name.to_string(),
    });
    let remaining = (more && selection.is_everything()).then_some(page.remaining);
    let records = records.into_iter().map(|(_, record)| record).collect();
    Ok(Listed { revision: page.revision, records, next, remaining })
}

/// Waits a little for a version of the future.
///
/// # Errors
/// When it does not come.
pub async fn wait_for(server: &Server, version: u64) -> Result<()> {
    if version <= server.store.revision() {
        return Ok(());
    }
    // It is rare, and never by our own doing: looking now and then will do.
    let deadline = server.clock.instant() + PATIENCE;
    while server.clock.instant() < deadline {
        server.clock.sleep(GLANCE).await;
        if version <= server.store.revision() {
            return Ok(());
        }
    }
    let current = server.store.revision();
    let message = format!("Timeout: Too large resource version: {version}, current: {current}");
    let mut error = ApiError::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message);
    let cause = json!({ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" });
    error.details = json!({ "causes": [cause] });
    error.retry_after = Some(1);
    Err(error)
}
