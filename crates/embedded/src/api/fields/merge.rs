//! An applied configuration merged into the live object.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::{
    element::Element,
    shape::{Fields, Items, Place, Shape},
};

/// Merges field by field and item by item; where both have a value, the applied one counts.
///
/// # Errors
/// When an item of a list has nothing that tells it from others, or is applied twice; names the field.
pub fn merge(place: Place<'_>, live: &Value, applied: &Value) -> Result<Value, String> {
    let merged = walk(place, Some(live), Some(applied))?;
    Ok(merged.unwrap_or_else(|| Value::Object(Map::new())))
}

fn walk(place: Place<'_>, live: Option<&Value>, applied: Option<&Value>) -> Result<Option<Value>, String> {
    let Some(last) = applied.or(live) else { return Ok(None) };
    match place.shape(last) {
        Shape::Map(fields) if !fields.atomic => {
            let (live, applied) = (live.and_then(Value::as_object), applied.and_then(Value::as_object));
            let something = |map: Option<&Map<_, _>>| map.is_some_and(|map| !map.is_empty());
            if something(live) || something(applied) {
                return merge_fields(fields, live, applied);
            }
        }
        Shape::List(items) if !items.atomic() => {
            let list = |value: Option<&'_ Value>| value.and_then(Value::as_array).map_or(0, Vec::len);
            if list(live) + list(applied) > 0 {
                let live = live.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                let applied = applied.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                return merge_items(items, live, applied);
            }
        }
        _ => {}
    }
    Ok(Some(last.clone()))
}

fn merge_fields(
    fields: Fields<'_>,
    live: Option<&Map<String, Value>>,
    applied: Option<&Map<String, Value>>,
) -> Result<Option<Value>, String> {
    let mut merged = Map::new();
    let mut visit = |name: &String, live: Option<&Value>, applied: Option<&Value>| {
        let (place, _) = fields.field_or_deduced(name);
        let value = walk(place, live, applied).map_err(|fault| format!(".{name}{fault}"))?;
        if let Some(value) = value {
            merged.insert(name.clone(), value);
        }
        Ok::<_, String>(())
    };
    for (name, value) in live.into_iter().flatten() {
        visit(name, Some(value), applied.and_then(|applied| applied.get(name)))?;
    }
    for (name, value) in applied.into_iter().flatten() {
        if live.is_none_or(|live| !live.contains_key(name)) {
            visit(name, None, Some(value))?;
        }
    }
    Ok((!merged.is_empty()).then_some(Value::Object(merged)))
}

/// A list told item by item, in its order.
struct Indexed<'v> {
    order: Vec<Element>,
    /// Items by their step; one that is there more than once counts as null.
    items: HashMap<Element, &'v Value>,
}

impl<'v> Indexed<'v> {
    fn new(items: Items<'_>, list: &'v [Value], may_repeat: bool) -> Result<Self, String> {
        let mut indexed = Self { order: Vec::with_capacity(list.len()), items: HashMap::new() };
        for (index, item) in list.iter().enumerate() {
            let element = items.element(item).map_err(|fault| format!(": element {index}: {fault}"))?;
            let repeated = indexed.items.contains_key(&element);
            if repeated && !may_repeat {
                return Err(format!(": duplicate entries for key {}", element.shown()));
            }
            indexed.items.insert(element.clone(), if repeated { &Value::Null } else { item });
            indexed.order.push(element);
        }
        Ok(indexed)
    }

    fn has(&self, element: &Element) -> bool {
        self.items.contains_key(element)
    }
}

/// Merges two lists so that each keeps its order as far as it can: what both have comes in the order of
/// the applied list, and what only one has stays beside its neighbours there.
fn merge_items(items: Items<'_>, live: &[Value], applied: &[Value]) -> Result<Option<Value>, String> {
    let applied = Indexed::new(items, applied, false)?;
    let (values, live) = (live, Indexed::new(items, live, true)?);
    let mut out = Vec::with_capacity(values.len().max(applied.order.len()));
    let mut emit = |element: &Element, live: Option<&Value>, applied: Option<&Value>| {
        let value = walk(items.item, live, applied).map_err(|fault| format!("{}{fault}", element.shown()))?;
        out.extend(value);
        Ok::<_, String>(())
    };
    let mut shared = applied.order.iter().filter(|element| live.has(element));
    let mut next_shared = shared.next();
    let mut done = HashSet::new();
    let (mut left, mut right) = (0, 0);
    while left < live.order.len() || right < applied.order.len() {
        if let (Some(mine), Some(theirs)) = (live.order.get(left), applied.order.get(right)) {
            if mine == theirs {
                emit(mine, live.items.get(mine).copied(), applied.items.get(mine).copied())?;
                done.insert(mine);
                (left, right) = (left + 1, right + 1);
                next_shared = shared.next();
                continue;
            }
            if applied.has(mine) && next_shared.is_some_and(|next| next != mine) {
                // Shared, but its turn is later: the applied order counts.
                left += 1;
                continue;
            }
        }
        if let Some(mine) = live.order.get(left) {
            if !applied.has(mine) {
                emit(mine, values.get(left), None)?;
                left += 1;
                continue;
            } else if done.contains(mine) {
                left += 1;
            }
        }
        if let Some(theirs) = applied.order.get(right) {
            emit(theirs, live.items.get(theirs).copied(), applied.items.get(theirs).copied())?;
            done.insert(theirs);
            right += 1;
            if next_shared == Some(theirs) {
                next_shared = shared.next();
            }
        }
    }
    Ok((!out.is_empty()).then_some(Value::Array(out)))
}
