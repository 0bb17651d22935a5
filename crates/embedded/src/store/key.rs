//! What an object is stored under, and which of them a list covers.

use std::{ops::Bound, sync::Arc};

/// The place of an object: its collection (`pods`, `deployments.apps`), its namespace (empty for
/// cluster-wide ones) and its name. Keys are ordered in this order, as lists and continue tokens are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub collection: Arc<str>,
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

impl Key {
    pub fn new(
        collection: impl Into<Arc<str>>,
        namespace: impl Into<Arc<str>>,
        name: impl Into<Arc<str>>,
    ) -> Self {
        Self { collection: collection.into(), namespace: namespace.into(), name: name.into() }
    }
}

/// A part of a collection, in the order of keys.
#[derive(Clone, Copy, Debug)]
pub struct Range<'a> {
    pub collection: &'a str,
    /// Only this namespace.
    pub namespace: Option<&'a str>,
    /// Only what comes after this namespace and name: where the page before ended.
    pub after: Option<(&'a str, &'a str)>,
    /// At most this many, 0 for all.
    pub limit: usize,
}

impl<'a> Range<'a> {
    /// The whole of a collection.
    pub fn all(collection: &'a str) -> Self {
        Self { collection, namespace: None, after: None, limit: 0 }
    }

    /// All of a collection that is in one namespace.
    pub fn namespace(collection: &'a str, namespace: &'a str) -> Self {
        Self { namespace: Some(namespace), ..Self::all(collection) }
    }

    /// Where to begin. A continue token of another namespace does not lead out of this one.
    pub(super) fn start(&self) -> Bound<Key> {
        let first = self.namespace.unwrap_or_default();
        match self.after {
            Some((namespace, name)) if namespace >= first => {
                Bound::Excluded(Key::new(self.collection, namespace, name))
            }
            _ => Bound::Included(Key::new(self.collection, first, "")),
        }
    }

    /// Whether a key at or behind the start is part of this range.
    pub(super) fn reaches(&self, key: &Key) -> bool {
        self.namespace.is_none_or(|namespace| *key.namespace == *namespace)
    }
}
