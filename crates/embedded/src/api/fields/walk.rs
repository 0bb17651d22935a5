//! Walks over one object: which fields it sets, whether it fits its schema, and it without some fields.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{
    element::Element,
    set::{Branch, FieldSet},
    shape::{Fields, Items, Place, Shape},
};
use crate::schema::Type;

/// The fields that an object sets. Fields of a struct are told by what is in them; entries of a map, items of
/// a list and empty objects also stand for themselves.
pub fn field_set(place: Place<'_>, value: &Value) -> FieldSet {
    branch(place, value).below
}

fn branch(place: Place<'_>, value: &Value) -> Branch {
    let (member, below) = match (place.shape(value), value) {
        (Shape::Map(fields), _) if fields.atomic => (true, FieldSet::default()),
        (Shape::List(items), _) if items.atomic() => (true, FieldSet::default()),
        (Shape::Map(fields), Value::Object(object)) => (false, set_of_fields(fields, object)),
        (Shape::List(items), Value::Array(list)) => (false, set_of_items(items, list)),
        (Shape::Map(_) | Shape::List(_), _) => (false, FieldSet::default()),
        (Shape::Scalar, _) => (true, FieldSet::default()),
    };
    Branch { member, below }
}

fn set_of_fields(fields: Fields<'_>, object: &Map<String, Value>) -> FieldSet {
    let branches = object.iter().map(|(name, value)| {
        let (place, declared) = fields.field_or_deduced(name);
        let mut branch = branch(place, value);
        branch.member |= !declared || value.is_null() || value.as_object().is_some_and(Map::is_empty);
        (Element::field(name), branch)
    });
    branches.collect()
}

fn set_of_items(items: Items<'_>, list: &[Value]) -> FieldSet {
    let mut seen = BTreeSet::new();
    let mut repeated = BTreeSet::new();
    // What cannot be told apart was refused before, or is older than the schema: nobody can own it.
    let elements: Vec<_> = list.iter().map(|item| items.element(item).ok()).collect();
    for element in elements.iter().flatten() {
        if !seen.insert(element) {
            repeated.insert(element);
        }
    }
    let branches = list.iter().zip(&elements).filter_map(|(item, element)| {
        let element = element.as_ref()?;
        let mut branch =
            if repeated.contains(element) { Branch::default() } else { branch(items.item, item) };
        branch.member = true;
        Some((element.clone(), branch))
    });
    branches.collect()
}

/// The object without some fields. An object or a list that loses its last one is gone too, but is told apart
/// from what was to go: whoever owns such a thing goes on owning it.
pub fn without(place: Place<'_>, value: &Value, gone: &FieldSet) -> (Value, FieldSet) {
    let mut emptied = Branch::default();
    let kept = prune(place, value, gone, &mut emptied);
    (kept.unwrap_or_else(|| Value::Object(Map::new())), emptied.below)
}

fn prune(place: Place<'_>, value: &Value, gone: &FieldSet, emptied: &mut Branch) -> Option<Value> {
    let kept = match (place.shape(value), value) {
        (Shape::Map(fields), Value::Object(object)) if !fields.atomic => {
            Value::Object(prune_fields(fields, object, gone, &mut emptied.below))
        }
        (Shape::List(items), Value::Array(list)) if !items.atomic() => {
            Value::Array(prune_items(items, list, gone, &mut emptied.below))
        }
        (Shape::Scalar, _) => return Some(value.clone()),
        // It is owned as a whole: there is nothing below it to take.
        _ => Value::Null,
    };
    let is_left = match &kept {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    emptied.member |= !is_left;
    is_left.then_some(kept)
}

fn prune_fields(
    fields: Fields<'_>,
    object: &Map<String, Value>,
    gone: &FieldSet,
    emptied: &mut FieldSet,
) -> Map<String, Value> {
    let mut kept = Map::new();
    for (name, value) in object {
        let left = match gone.field(name) {
            Some(branch) if branch.member => None,
            Some(branch) => {
                let (place, _) = fields.field_or_deduced(name);
                let mut below = Branch::default();
                let left = prune(place, value, &branch.below, &mut below);
                emptied.insert(Element::field(name), below);
                // Upstream leaves a null behind. Built-in kinds lose it when they are decoded; in a custom resource
                // it is seen, or refused.
                left.or(Some(Value::Null))
            }
            None => Some(value.clone()),
        };
        if let Some(value) = left {
            kept.insert(name.clone(), value);
        }
    }
    kept
}

fn prune_items(items: Items<'_>, list: &[Value], gone: &FieldSet, emptied: &mut FieldSet) -> Vec<Value> {
    let mut kept = Vec::with_capacity(list.len());
    let mut left = Vec::new();
    for item in list {
        let element = items.element(item).ok();
        match element.as_ref().and_then(|element| gone.get(element)) {
            Some(branch) if branch.member => {}
            Some(branch) => {
                let mut below = Branch::default();
                kept.extend(prune(items.item, item, &branch.below, &mut below));
                left.extend(element.map(|element| (element, below)));
            }
            None => kept.push(item.clone()),
        }
    }
    *emptied = left.into_iter().collect();
    kept
}

/// Nobody reads more faults, and a hostile object could have a million.
const ENOUGH: usize = 20;

/// What keeps an object from being applied: fields that do not exist, values of the wrong type, items of lists
/// that cannot be told apart.
pub fn faults(place: Place<'_>, value: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    check(place, value, &mut String::new(), &mut faults);
    faults
}

/// `path` is longer only while something below it is looked at: a copy for each field of an object with a long name
/// would cost the product of both.
fn check(place: Place<'_>, value: &Value, path: &mut String, faults: &mut Vec<String>) {
    if value.is_null() || faults.len() >= ENOUGH {
        return;
    }
    match (place.shape(value), value) {
        (Shape::Map(fields), Value::Object(object)) => {
            for (name, value) in object {
                if faults.len() >= ENOUGH {
                    return;
                }
                let above = path.len();
                path.push('.');
                path.push_str(name);
                match fields.field(name) {
                    Some((place, _)) => check(place, value, path, faults),
                    None => faults.push(format!("{path}: field not declared in schema")),
                }
                path.truncate(above);
            }
        }
        (Shape::List(items), Value::Array(list)) => check_items(items, list, path, faults),
        (Shape::Map(_), value) => faults.push(wrong(path, "map", value)),
        (Shape::List(_), value) => faults.push(wrong(path, "list", value)),
        (Shape::Scalar, value) => {
            let (expected, fits) = match place.kind() {
                Type::Integer | Type::Number => ("numeric (int or float)", value.is_number()),
                Type::Boolean => ("boolean", value.is_boolean()),
                Type::String if is_text(place) => ("string", value.is_string()),
                _ => ("any scalar", !value.is_object() && !value.is_array()),
            };
            if !fits {
                faults.push(wrong(path, expected, value));
            }
        }
    }
}

/// Times and the like are texts of a format, which server-side apply does not look at.
fn is_text(place: Place<'_>) -> bool {
    match place {
        Place::Known { schema, .. } => matches!(schema.format.as_deref(), None | Some("" | "byte")),
        _ => true,
    }
}

fn check_items(items: Items<'_>, list: &[Value], path: &mut String, faults: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    let above = path.len();
    for (index, item) in list.iter().enumerate() {
        if items.atomic() {
            path.push_str(&format!("[{index}]"));
            check(items.item, item, path, faults);
            path.truncate(above);
            continue;
        }
        match items.element(item) {
            Ok(element) => {
                let shown = element.shown();
                path.push_str(&shown);
                check(items.item, item, path, faults);
                path.truncate(above);
                if !seen.insert(element) {
                    faults.push(format!("{path}: duplicate entries for key {shown}"));
                }
            }
            Err(fault) => {
                faults.push(format!("{path}: element {index}: {fault}"));
                return;
            }
        }
    }
}

fn wrong(path: &str, expected: &str, value: &Value) -> String {
    let got = match value {
        Value::Object(_) => "a map".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        scalar => scalar.to_string().chars().take(100).collect(),
    };
    format!("{path}: expected {expected}, got {got}")
}
