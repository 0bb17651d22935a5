//! What changed between two versions of an object, as sets of fields.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{
    element::Element,
    set::{Branch, FieldSet},
    shape::{Fields, Items, Place, Shape},
};

/// A change.
#[derive(Debug, Default)]
pub struct Comparison {
    /// Fields that are no longer there.
    pub removed: FieldSet,
    /// Fields that are new or have another value.
    pub changed: FieldSet,
}

impl Comparison {
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.changed.is_empty()
    }

    /// Leaves out these fields and what is below them.
    pub fn exclude(&mut self, fields: &FieldSet) {
        if !fields.is_empty() {
            self.removed = self.removed.recursive_difference(fields);
            self.changed = self.changed.recursive_difference(fields);
        }
    }
}

/// Compares two objects.
///
/// # Errors
/// When an item of a list has nothing that tells it from others; names the field.
pub fn compare(place: Place<'_>, old: &Value, new: &Value) -> Result<Comparison, String> {
    let Delta { removed, changed } = walk(place, Some(old), Some(new))?;
    Ok(Comparison { removed: removed.below, changed: changed.below })
}

/// A change at one place and below it.
#[derive(Default)]
struct Delta {
    removed: Branch,
    changed: Branch,
}

impl Delta {
    fn descend(&mut self, element: impl Fn() -> Element, below: Self) {
        if !below.removed.is_empty() {
            self.removed.below.insert(element(), below.removed);
        }
        if !below.changed.is_empty() {
            self.changed.below.insert(element(), below.changed);
        }
    }

    /// The value as a whole.
    fn whole(&mut self, old: Option<&Value>, new: Option<&Value>) {
        match (old, new) {
            (Some(old), Some(new)) => self.changed.member |= !equal(old, new),
            (Some(_), None) => self.removed.member = true,
            (None, _) => self.changed.member = true,
        }
    }
}

fn walk(place: Place<'_>, old: Option<&Value>, new: Option<&Value>) -> Result<Delta, String> {
    let mut delta = Delta::default();
    let shape = |value: Option<&Value>| value.map(|value| place.shape(value));
    let (before, after) = (shape(old), shape(new));
    let Some(last) = after.or(before) else { return Ok(delta) };
    // A value that turned from a list into an object, say, loses all its items and gains all its fields.
    if let (Some(before), Some(after)) = (before, after)
        && std::mem::discriminant(&before) != std::mem::discriminant(&after)
    {
        visit(before, old, new, &mut delta)?;
    }
    let whole = visit(last, old, new, &mut delta)?;
    if !whole {
        delta.changed.member |= old.is_none();
        delta.removed.member |= new.is_none();
    }
    Ok(delta)
}

/// Compares by one shape; tells whether the value was taken as a whole.
fn visit(
    shape: Shape<'_>,
    old: Option<&Value>,
    new: Option<&Value>,
    delta: &mut Delta,
) -> Result<bool, String> {
    match shape {
        Shape::Map(fields) => {
            let (before, after) = (old.and_then(Value::as_object), new.and_then(Value::as_object));
            let something = |map: Option<&Map<_, _>>| map.is_some_and(|map| !map.is_empty());
            if !fields.atomic && (something(before) || something(after)) {
                visit_fields(fields, before, after, delta)?;
                return Ok(false);
            }
        }
        Shape::List(items) => {
            let list = |value: Option<&'_ Value>| value.and_then(Value::as_array).map_or(0, Vec::len);
            if !items.atomic() && list(old) + list(new) > 0 {
                let before = old.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                let after = new.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                visit_items(items, before, after, delta)?;
                return Ok(false);
            }
        }
        Shape::Scalar => {}
    }
    delta.whole(old, new);
    Ok(true)
}

fn visit_fields(
    fields: Fields<'_>,
    old: Option<&Map<String, Value>>,
    new: Option<&Map<String, Value>>,
    delta: &mut Delta,
) -> Result<(), String> {
    // An object that is not there at all has no implied fields either.
    let implied = |side: Option<&Map<_, _>>, name: &str| side.and_then(|_| fields.implied(name));
    let mut visit = |name: &str, before: Option<&Value>, after: Option<&Value>| {
        let (place, _) = fields.field_or_deduced(name);
        let before = before.or_else(|| implied(old, name));
        let after = after.or_else(|| implied(new, name));
        let below = walk(place, before, after).map_err(|fault| format!(".{name}{fault}"))?;
        delta.descend(|| Element::field(name), below);
        Ok::<_, String>(())
    };
    // In the order of the names, which is that of the sets.
    let names: BTreeSet<&String> = [old, new].into_iter().flatten().flat_map(Map::keys).collect();
    for name in names {
        visit(name, old.and_then(|old| old.get(name)), new.and_then(|new| new.get(name)))?;
    }
    Ok(())
}

fn visit_items(items: Items<'_>, old: &[Value], new: &[Value], delta: &mut Delta) -> Result<(), String> {
    if old == new {
        return Ok(());
    }
    // Lists with repeated items may be there from before the schema forbade them.
    let mut pairs: BTreeMap<Element, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
    let element = |index, item| items.element(item).map_err(|fault| format!(": element {index}: {fault}"));
    for (index, item) in old.iter().enumerate() {
        pairs.entry(element(index, item)?).or_default().0.push(item);
    }
    for (index, item) in new.iter().enumerate() {
        pairs.entry(element(index, item)?).or_default().1.push(item);
    }
    for (element, (before, after)) in pairs {
        let compare = |before, after| {
            walk(items.item, before, after).map_err(|fault| format!("{}{fault}", element.shown()))
        };
        let below = match (before.as_slice(), after.as_slice()) {
            ([] | [_], [] | [_]) => compare(before.first().copied(), after.first().copied())?,
            // Repeated items are owned as one, and only as a whole.
            ([_, _, ..], [_, _, ..]) => {
                let mut below = Delta::default();
                below.changed.member = before != after;
                below
            }
            ([_, _, ..], after) => {
                let mut below = match after.first() {
                    Some(after) => compare(None, Some(after))?,
                    None => Delta::default(),
                };
                below.removed.member = true;
                below
            }
            (before, _) => {
                let mut below = match before.first() {
                    Some(before) => compare(Some(before), None)?,
                    None => Delta::default(),
                };
                below.changed.member = true;
                below
            }
        };
        delta.descend(|| element.clone(), below);
    }
    Ok(())
}

/// Equal as JSON, and numbers also if they are written differently.
fn equal(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Number(old), Value::Number(new)) => old == new || old.as_f64() == new.as_f64(),
        _ => old == new,
    }
}
