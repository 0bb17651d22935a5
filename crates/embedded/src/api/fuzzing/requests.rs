//! What stands around a body: paths, queries, selectors, headers.

use std::collections::BTreeMap;

use super::lines;
use crate::api::{
    options::{ContinueToken, DeleteOptions, GetOptions, ListOptions, Query, Write, WriteOptions},
    path,
    selector::{FieldSelector, LabelSelector},
    wire::{Offers, PatchType, negotiate, negotiate_watch},
};

/// A label selector and a field selector, one in each line. Each can be written, and then means the same.
pub fn selector(data: &[u8]) {
    let Some([labels, fields]) = lines(data) else { return };
    if let Ok(selector) = LabelSelector::parse(labels) {
        let written = selector.shown();
        assert_eq!(LabelSelector::parse(&written).ok().as_ref(), Some(&selector), "{written}");
        assert_eq!(selector.is_everything(), written.is_empty());
        let set =
            |value: &str| BTreeMap::from(["a", "b", "in"].map(|key| (key.to_owned(), value.to_owned())));
        let chosen = ["", "a", "1", "-5"].map(|value| selector.matches(&set(value)));
        assert!(!selector.is_everything() || chosen == [true; 4]);
    }
    if let Ok(selector) = FieldSelector::parse(fields) {
        let written = selector.shown();
        assert_eq!(FieldSelector::parse(&written).ok().as_ref(), Some(&selector), "{written}");
        if let Some(name) = selector.exact("metadata.name") {
            assert!(selector == FieldSelector::of_name(name) || written.contains(','));
            assert!(!selector.matches(|_| Some("\u{0}")) || name == "\u{0}");
        }
        let _ = selector.check(&["status.phase"]);
    }
}

/// A path, a query, an Accept header, a Content-Type and the body of a delete, one in each line.
pub fn options(data: &[u8]) {
    let Some([location, query, accept, content_type, body]) = lines(data) else { return };
    if let Some(parsed) = path::parse(location) {
        assert!(!parsed.plural.is_empty() && !parsed.version.is_empty(), "{parsed:?}");
        assert!(parsed.subresource.is_empty() || !parsed.name.is_empty(), "{parsed:?}");
    }
    if let Ok(token) = ContinueToken::decode(query) {
        assert_eq!(ContinueToken::decode(&token.encode()).ok(), Some(token));
    }
    let query = Query::parse(query);
    let _ = (query.pretty(accept), query.include_object(), GetOptions::parse(&query));
    for options in [ListOptions::parse(&query), ListOptions::parse_watch(&query)].into_iter().flatten() {
        assert!(!(options.watch && options.next.is_some()) && options.limit != Some(0), "{options:?}");
        if let Some(token) = options.next {
            assert_eq!(ContinueToken::decode(&token.encode()).ok(), Some(token));
        }
    }
    for write in [Write::Create, Write::Update, Write::Patch, Write::Apply] {
        if let Ok(options) = WriteOptions::parse(&query, write) {
            assert!(options.manager(accept).len() <= 128);
            assert!(!options.force || write == Write::Apply);
        }
    }
    let _ = (negotiate(Some(accept), Offers::Objects), negotiate(Some(accept), Offers::Discovery));
    let _ = negotiate_watch(Some(accept)).map(|format| format.content_type());
    let _ = PatchType::of(Some(content_type), true);
    if let Ok(options) = DeleteOptions::parse(&query, Some(content_type), body.as_bytes()) {
        assert!(options.propagation.is_none() || options.orphan_dependents.is_none(), "{options:?}");
    }
}
