//! An object as the store keeps it: encoded once, shown to many.
//!
//! A record is the JSON object that clients see, without `apiVersion` and `kind` (the API puts them in
//! front, so that the same bytes serve every version of a kind). Every record begins alike, with the
//! resource version as the first field of the metadata: it is known only when the object is committed, and
//! this is how it gets in without encoding the object again.

use std::{collections::BTreeMap, sync::OnceLock, time::Duration};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

/// What every record begins with; the digits of its revision follow.
const HEAD: &str = r#"{"metadata":{"resourceVersion":""#;
/// Where the metadata begin.
const METADATA: usize = r#"{"metadata":"#.len();

/// An object on its way into the store: encoded, but without its revision.
#[derive(Clone, Debug)]
pub struct Draft {
    /// What follows the digits of the revision.
    rest: Bytes,
    expires_after: Option<Duration>,
}

/// A stored object.
#[derive(Debug)]
pub struct Record {
    revision: u64,
    /// When the store deletes it, in milliseconds of Unix time.
    expires: Option<i64>,
    json: Bytes,
    labelled: OnceLock<Box<Labelled>>,
}

/// The part of an object that selectors look at.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Labelled {
    name: String,
    namespace: String,
    labels: Option<BTreeMap<String, String>>,
}

static NO_LABELS: BTreeMap<String, String> = BTreeMap::new();

impl Draft {
    /// Encodes an object. Its `apiVersion`, `kind` and `metadata.resourceVersion` are left out.
    pub fn encode(object: &Value) -> Self {
        let mut rest = Vec::with_capacity(1024);
        rest.push(b'"');
        write_fields(&mut rest, &object["metadata"], &["resourceVersion"]);
        rest.push(b'}');
        write_fields(&mut rest, object, &["apiVersion", "kind", "metadata"]);
        rest.push(b'}');
        rest.shrink_to_fit();
        Self { rest: Bytes::from(rest), expires_after: None }
    }

    /// Lets the store delete the object when this time has passed since the commit. A later commit without
    /// it keeps the object for good.
    pub fn expires_after(mut self, duration: Duration) -> Self {
        self.expires_after = Some(duration);
        self
    }

    /// Whether committing it would change nothing but the revision.
    pub fn same_as(&self, record: &Record) -> bool {
        let digits = record.revision.checked_ilog10().map_or(1, |log| log as usize + 1);
        record.json.get(HEAD.len() + digits..) == Some(&self.rest[..])
    }

    /// The bytes that a record of it takes, but for the digits.
    pub(super) fn size(&self) -> usize {
        HEAD.len() + self.rest.len()
    }

    /// Makes a record of it, at a revision and a time in milliseconds.
    pub(super) fn commit(&self, revision: u64, now: i64) -> Record {
        // A time that cannot be told never comes.
        let expires = self
            .expires_after
            .and_then(|duration| now.checked_add(i64::try_from(duration.as_millis()).ok()?));
        Record::new(revision, expires, &self.rest)
    }
}

/// Appends each field of an object with a comma before it, for there is always one in front.
fn write_fields(to: &mut Vec<u8>, object: &Value, without: &[&str]) {
    let Value::Object(fields) = object else { return };
    for (name, value) in fields.iter().filter(|(name, _)| !without.contains(&name.as_str())) {
        // Writing a JSON value whose keys are texts to memory has no way to fail.
        to.push(b',');
        let _ = serde_json::to_writer(&mut *to, name);
        to.push(b':');
        let _ = serde_json::to_writer(&mut *to, value);
    }
}

fn splice(revision: u64, rest: &[u8]) -> Bytes {
    let digits = revision.to_string();
    let mut json = Vec::with_capacity(HEAD.len() + digits.len() + rest.len());
    json.extend_from_slice(HEAD.as_bytes());
    json.extend_from_slice(digits.as_bytes());
    json.extend_from_slice(rest);
    Bytes::from(json)
}

impl Record {
    pub(super) fn new(revision: u64, expires: Option<i64>, rest: &[u8]) -> Self {
        Self { revision, expires, json: splice(revision, rest), labelled: OnceLock::new() }
    }

    /// The revision of the commit that made it: its resource version.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The whole JSON object, without `apiVersion` and `kind`.
    pub fn json(&self) -> &Bytes {
        &self.json
    }

    /// The same object with another resource version, as a watch shows one that has left its selector.
    pub fn at_revision(&self, revision: u64) -> Bytes {
        splice(revision, self.rest())
    }

    /// The object for changing it.
    pub fn value(&self) -> Value {
        // The store has encoded these bytes itself.
        serde_json::from_slice(&self.json).unwrap_or_default()
    }

    pub fn name(&self) -> &str {
        &self.labelled().name
    }

    pub fn namespace(&self) -> &str {
        &self.labelled().namespace
    }

    pub fn labels(&self) -> &BTreeMap<String, String> {
        self.labelled().labels.as_ref().unwrap_or(&NO_LABELS)
    }

    /// The same object to be stored again, for good.
    pub fn to_draft(&self) -> Draft {
        Draft { rest: self.json.slice(self.json.len() - self.rest().len()..), expires_after: None }
    }

    pub(super) fn expires(&self) -> Option<i64> {
        self.expires
    }

    /// What follows the digits of the revision.
    pub(super) fn rest(&self) -> &[u8] {
        let digits = self.revision.checked_ilog10().unwrap_or(0) as usize + 1;
        &self.json[HEAD.len() + digits..]
    }

    /// Parsed by the first who asks, for all: a hundred watches with selectors share it.
    fn labelled(&self) -> &Labelled {
        self.labelled.get_or_init(|| {
            // The metadata come first, so the rest of the object is not even looked at.
            let mut json = serde_json::Deserializer::from_slice(&self.json[METADATA..]);
            Box::new(Labelled::deserialize(&mut json).unwrap_or_default())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_record_shows_the_object_with_its_revision() {
        let object = json!({
            "apiVersion": "v1", "kind": "Pod", "data": {"metadata": 1}, "spec": null,
            "metadata": {"name": "a\"b", "resourceVersion": "99", "labels": {"x": "y"}, "uid": "u"},
        });
        let record = Draft::encode(&object).commit(1234, 0);
        let expected = json!({
            "data": {"metadata": 1}, "spec": null,
            "metadata": {"name": "a\"b", "resourceVersion": "1234", "labels": {"x": "y"}, "uid": "u"},
        });
        assert_eq!(record.value(), expected);
        assert_eq!(record.name(), "a\"b");
        assert_eq!(record.labels()["x"], "y");
        assert_eq!(record.at_revision(1234), record.json());
        let other: Value = serde_json::from_slice(&record.at_revision(7)).unwrap();
        assert_eq!(other["metadata"]["resourceVersion"], "7");
        assert_eq!(record.to_draft().commit(1234, 0).json(), record.json());
    }

    #[test]
    fn an_object_without_metadata_gets_a_revision_all_the_same() {
        for object in [json!({}), json!(null), json!({"metadata": []})] {
            let record = Draft::encode(&object).commit(1, 0);
            assert_eq!(record.value(), json!({"metadata": {"resourceVersion": "1"}}));
            assert!(record.labels().is_empty());
        }
    }
}
