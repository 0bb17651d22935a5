//! Strategic merge: objects field by field, lists by the merge key the schema names, with directives.
//!
//! `$patch: replace|delete` in an object or an item, `$retainKeys` beside fields, `$setElementOrder/x` and
//! `$deleteFromPrimitiveList/x` beside the list `x`. Where no order is given, the patch's items come first.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::unprocessable;
use crate::{
    api::error::ApiError,
    schema::{PatchStrategy, Schema},
};

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const ELEMENT_ORDER: &str = "$setElementOrder";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";

type Object = Map<String, Value>;

/// Merges a patch, which must be an object.
///
/// # Errors
/// See [`super::apply`].
pub fn apply(schema: Option<Schema<'_>>, live: &Value, patch: &Value) -> Result<Value, ApiError> {
    let (live, patch) = (live.as_object().cloned().unwrap_or_default(), patch.as_object().cloned());
    merge_objects(schema, live, patch.unwrap_or_default()).map(Value::Object)
}

fn merge_objects(schema: Option<Schema<'_>>, live: Object, mut patch: Object) -> Result<Object, ApiError> {
    match patch.get(DIRECTIVE).map(|directive| directive.as_str().unwrap_or_default()) {
        Some("replace") => {
            patch.remove(DIRECTIVE);
            return Ok(patch);
        }
        Some("delete") => return Ok(Object::new()),
        Some(other) => return Err(unknown_directive(other)),
        None => {}
    }
    let mut live = live;
    retain_keys(&mut live, &mut patch)?;
    merge_ordered_lists(schema, &mut live, &mut patch)?;
    for (name, value) in patch {
        let listed = match name.strip_prefix(DELETE_FROM_LIST) {
            Some(rest) => Some(rest.strip_prefix('/').ok_or_else(|| bad_format("primitive list"))?),
            None => None,
        };
        merge_field(schema, &mut live, listed.unwrap_or(&name), value, listed.is_some())?;
    }
    Ok(live)
}

/// One field of a patch; `delete` if its value are the items to take out of a list of scalars.
fn merge_field(
    schema: Option<Schema<'_>>,
    live: &mut Object,
    name: &str,
    value: Value,
    delete: bool,
) -> Result<(), ApiError> {
    if value.is_null() {
        live.remove(name);
        return Ok(());
    }
    let field = schema.and_then(|schema| schema.field(name));
    match (live.get_mut(name), value) {
        (Some(Value::Object(there)), Value::Object(patch)) => {
            *there = merge_objects(field, std::mem::take(there), patch)?;
        }
        (Some(Value::Array(there)), Value::Array(gone)) if delete => {
            same_types(there, &gone)?;
            let gone: HashSet<_> = gone.iter().map(Value::to_string).collect();
            there.retain(|item| !gone.contains(&item.to_string()));
        }
        (Some(Value::Array(there)), Value::Array(patch)) => {
            *there = merge_lists(field, std::mem::take(there), patch)?;
        }
        (_, _) if delete => {}
        (_, value) => match cleaned(value) {
            Some(value) => drop(live.insert(name.to_owned(), value)),
            None => drop(live.remove(name)),
        },
    }
    Ok(())
}

/// Drops what `$retainKeys` does not name, which must include all that the patch sets.
fn retain_keys(live: &mut Object, patch: &mut Object) -> Result<(), ApiError> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let Value::Array(keys) = keys else { return Err(bad_format("retainKeys")) };
    let keys: HashSet<&str> = keys.iter().filter_map(Value::as_str).collect();
    let is_directive = |name: &str| name.starts_with(DELETE_FROM_LIST) || name.starts_with(ELEMENT_ORDER);
    let is_set = |(name, value): (&String, &Value)| !value.is_null() && !is_directive(name);
    if patch.iter().any(|(name, value)| is_set((name, value)) && !keys.contains(name.as_str())) {
        return Err(bad_format("retainKeys"));
    }
    live.retain(|name, _| keys.contains(name.as_str()));
    Ok(())
}

/// Merges the lists whose order a patch gives, and takes them out of the patch.
fn merge_ordered_lists(
    schema: Option<Schema<'_>>,
    live: &mut Object,
    patch: &mut Object,
) -> Result<(), ApiError> {
    let directives: Vec<String> =
        patch.keys().filter(|name| name.starts_with(ELEMENT_ORDER)).cloned().collect();
    for directive in directives {
        let Some(Value::Array(order)) = patch.remove(&directive) else {
            return Err(bad_format("setElementOrder list"));
        };
        let name = directive.strip_prefix(ELEMENT_ORDER).and_then(|rest| rest.strip_prefix('/'));
        let name = name.ok_or_else(|| bad_format("setElementOrder list"))?;
        let field = schema.and_then(|schema| schema.field(name));
        let key = strategy(field.as_ref()).and_then(|strategy| strategy.merge_key.clone());
        let there = take_list(live, name)?;
        let items = take_list(patch, name)?;
        follows(items.as_deref().unwrap_or_default(), &order, key.as_deref())?;
        let merged = match (there.clone(), items) {
            (None, None) => continue,
            (Some(there), None) => there,
            (None, Some(items)) => match cleaned(Value::Array(items)) {
                Some(Value::Array(items)) => items,
                _ => continue,
            },
            (Some(there), Some(items)) => merge_lists(field, there, items)?,
        };
        let ordered = arrange(merged, &order, &there.unwrap_or_default(), key.as_deref())?;
        live.insert(name.to_owned(), Value::Array(ordered));
    }
    Ok(())
}

fn take_list(object: &mut Object, name: &str) -> Result<Option<Vec<Value>>, ApiError> {
    match object.remove(name) {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(_) => Err(unprocessable(&format!("expected a list at {name}"))),
    }
}

/// The items of a patch must come in the order that it gives, and all be named there.
fn follows(items: &[Value], order: &[Value], key: Option<&str>) -> Result<(), ApiError> {
    if items.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut order = order.iter();
    for item in items.iter().filter(|item| item.get(DIRECTIVE).is_none()) {
        let wanted = identity(item, key)?;
        let found = loop {
            match order.next() {
                Some(next) if identity(next, key)? == wanted => break true,
                Some(_) => {}
                None => break false,
            }
        };
        if !found {
            return Err(unprocessable(
                "the order of the patch's list does not match its $setElementOrder list",
            ));
        }
    }
    Ok(())
}

/// Merges two lists as the schema says: item by item, or by taking the patch's.
fn merge_lists(
    schema: Option<Schema<'_>>,
    live: Vec<Value>,
    patch: Vec<Value>,
) -> Result<Vec<Value>, ApiError> {
    let Some(strategy) = strategy(schema.as_ref()).filter(|strategy| strategy.merge) else {
        return Ok(patch);
    };
    if live.is_empty() && patch.is_empty() {
        return Ok(live);
    }
    if !same_types(&live, &patch)? {
        let mut seen = HashSet::new();
        let both = live.iter().chain(&patch).filter(|item| seen.insert(item.to_string())).cloned().collect();
        return arrange(both, &patch, &live, None);
    }
    let Some(key) = strategy.merge_key.as_deref() else {
        return Err(unprocessable("cannot merge lists without merge key"));
    };
    let items = schema.as_ref().and_then(|schema| schema.items());
    let (live, patch) = apply_directives(live, patch, key)?;
    let order = live.clone();
    let merged = merge_keyed(items, live, &patch, key)?;
    arrange(merged, &patch, &order, Some(key))
}

/// Carries out the directives among the items of a patch: the live list and the patch that remain.
fn apply_directives(
    mut live: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), ApiError> {
    let mut rest = Vec::with_capacity(patch.len());
    let mut gone = HashSet::new();
    let mut replace = false;
    for item in patch {
        match item.get(DIRECTIVE).map(|directive| directive.as_str().unwrap_or_default()) {
            None => rest.push(item),
            Some("delete") => drop(gone.insert(identity(&item, Some(key))?)),
            Some("replace") => replace = true,
            Some("merge") => return Err(unprocessable("merging lists cannot yet be specified in the patch")),
            Some(other) => return Err(unknown_directive(other)),
        }
    }
    if replace {
        return Ok((rest, Vec::new()));
    }
    if !gone.is_empty() {
        live.retain(|item| !identity(item, Some(key)).is_ok_and(|identity| gone.contains(&identity)));
    }
    Ok((live, rest))
}

fn merge_keyed(
    schema: Option<Schema<'_>>,
    mut live: Vec<Value>,
    patch: &[Value],
    key: &str,
) -> Result<Vec<Value>, ApiError> {
    let mut places: HashMap<String, usize> = HashMap::new();
    for (at, item) in live.iter().enumerate() {
        if let Ok(identity) = identity(item, Some(key)) {
            places.entry(identity).or_insert(at);
        }
    }
    for item in patch {
        let identity = identity(item, Some(key))?;
        let Some(&at) = places.get(&identity) else {
            places.insert(identity, live.len());
            live.extend(cleaned(item.clone()));
            continue;
        };
        if let (Value::Object(there), Value::Object(item)) = (live[at].take(), item) {
            live[at] = Value::Object(merge_objects(schema, there, item.clone())?);
        }
    }
    Ok(live)
}

/// Puts the items that `first` names into its order, the others into that of the live list, and then both
/// together: an item of the live list comes before one that follows it there.
fn arrange(
    items: Vec<Value>,
    first: &[Value],
    live: &[Value],
    key: Option<&str>,
) -> Result<Vec<Value>, ApiError> {
    let (first, live) = (positions(first, key)?, positions(live, key)?);
    let mut named = Vec::new();
    let mut others = Vec::new();
    for item in items {
        let identity = identity(&item, key)?;
        match first.get(&identity) {
            Some(&at) => named.push((at, identity, item)),
            None => others.push((live.get(&identity).copied().unwrap_or(usize::MAX), identity, item)),
        }
    }
    named.sort_by_key(|(at, ..)| *at);
    others.sort_by_key(|(at, ..)| *at);
    let mut arranged = Vec::with_capacity(named.len() + others.len());
    let (mut named, mut others) = (named.into_iter().peekable(), others.into_iter().peekable());
    loop {
        let before = match (others.peek(), named.peek()) {
            (None, None) => return Ok(arranged),
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some((at, ..)), Some((_, identity, _))) => live.get(identity).is_some_and(|other| at < other),
        };
        let next = if before { others.next() } else { named.next() };
        arranged.extend(next.map(|(_, _, item)| item));
    }
}

fn positions(list: &[Value], key: Option<&str>) -> Result<HashMap<String, usize>, ApiError> {
    let mut positions = HashMap::new();
    for (at, item) in list.iter().enumerate() {
        positions.entry(identity(item, key)?).or_insert(at);
    }
    Ok(positions)
}

/// What tells an item from others: its merge key, or itself if it is a scalar.
fn identity(item: &Value, key: Option<&str>) -> Result<String, ApiError> {
    match key {
        None => Ok(item.to_string()),
        Some(key) => match item.as_object().map(|fields| fields.get(key)) {
            Some(Some(value)) => Ok(value.to_string()),
            Some(None) => {
                Err(unprocessable(&format!("an item of a list does not contain declared merge key: {key}")))
            }
            None => Err(unprocessable(&format!("expected items with the merge key {key}"))),
        },
    }
}

/// Whether the items of two lists are objects; they must all be of one type.
fn same_types(one: &[Value], other: &[Value]) -> Result<bool, ApiError> {
    let mut items = one.iter().chain(other);
    let Some(first) = items.next() else { return Ok(false) };
    if first.is_array() {
        return Err(unprocessable("lists of lists are not supported"));
    }
    if items.any(|item| std::mem::discriminant(item) != std::mem::discriminant(first)) {
        return Err(unprocessable("list element types are not identical"));
    }
    Ok(first.is_object())
}

/// A new value without nulls and directives; `None` if it is nothing but a directive.
fn cleaned(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => None,
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(_, value)| !value.is_null());
            let kept = kept.filter_map(|(name, value)| Some((name, cleaned(value)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(cleaned).collect())),
        scalar => Some(scalar),
    }
}

fn strategy<'s>(schema: Option<&'s Schema<'_>>) -> Option<&'s PatchStrategy> {
    schema.map(|schema| &schema.patch)
}

fn bad_format(of: &str) -> ApiError {
    ApiError::bad_request(format!("invalid patch format of {of}"))
}

fn unknown_directive(directive: &str) -> ApiError {
    unprocessable(&format!("unknown patch type: {directive:?}"))
}
