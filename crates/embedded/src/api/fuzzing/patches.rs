//! Patches: the first line is the live object, the second the patch.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{any, depth, json, lines, schema_of};
use crate::api::patch::{PatchKind, apply};

/// The deepest object that a JSON patch may make.
const MAX_DEPTH: usize = 128;

/// A JSON patch, if the second line is a list; else a merge patch.
pub fn patch(data: &[u8]) {
    let Some([live, body]) = lines(data) else { return };
    let (Some(live), Some(body)) = (json(live), json(body)) else { return };
    let patched = |kind, live: &Value, body: &Value| apply(kind, None, live, body).ok();
    if let Some(new) = patched(PatchKind::Json, &live, &body) {
        assert!(depth(&new) <= MAX_DEPTH, "{new}");
        assert_eq!(
            patched(PatchKind::Json, &live, &body).as_ref(),
            Some(&new),
            "the same patch, another result"
        );
        let difference = json!(json_patch::diff(&live, &new));
        assert_eq!(patched(PatchKind::Json, &live, &difference), Some(new), "{difference}");
    }
    if let Some(new) = patched(PatchKind::Merge, &live, &body) {
        assert_eq!(
            patched(PatchKind::Merge, &new, &body).as_ref(),
            Some(&new),
            "merging again changed something"
        );
        if new.is_object() && !any(&new, &Value::is_null) {
            assert_eq!(
                patched(PatchKind::Merge, &new, &new).as_ref(),
                Some(&new),
                "an object merged with itself"
            );
        }
    }
}

/// A strategic merge patch.
pub fn strategic(data: &[u8]) {
    let Some([live, body]) = lines(data) else { return };
    let (Some(live), Some(body)) = (json(live), json(body)) else { return };
    let schema = schema_of(&live);
    let patched = |live: &Value| apply(PatchKind::Strategic, Some(schema), live, &body).ok();
    let Some(new) = patched(&live) else { return };
    assert_eq!(patched(&live).as_ref(), Some(&new), "the same patch, another result");
    // What directives and nulls do in a list depends on whether there is one already; of two items for the same one
    // the second counts at first, and then the first. Items without a key can be set, but not be merged.
    if !any(&body, &|value| value.is_null() || has_directive(value) || has_twins(value))
        && let Some(again) = patched(&new)
    {
        assert_eq!(again, new, "patching again changed something");
    }
}

fn has_directive(value: &Value) -> bool {
    value.as_object().is_some_and(|fields| fields.keys().any(|name| name.starts_with('$')))
}

/// Whether two items of a list have the same value in a field, which may be the one that tells them apart.
fn has_twins(value: &Value) -> bool {
    let mut seen = HashSet::new();
    let items = value.as_array().into_iter().flatten().filter_map(Value::as_object).flatten();
    items.map(|(name, value)| (name, value.to_string())).any(|field| !seen.insert(field))
}
