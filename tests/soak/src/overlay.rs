//! Putting objects together from small parts.

use serde_json::{Map, Value};

/// Fields that tell the items of lists apart, in all kinds that are written here.
const KEYS: &[&str] = &["name", "type", "port", "containerPort", "protocol", "id"];

/// Lays one value over another: objects field by field, lists item by item where items have keys.
pub fn lay(over: &Value, onto: &mut Value) {
    match (over, onto) {
        (Value::Object(over), Value::Object(onto)) => {
            for (name, value) in over {
                match onto.get_mut(name) {
                    Some(there) => lay(value, there),
                    None => drop(onto.insert(name.clone(), value.clone())),
                }
            }
        }
        (Value::Array(over), Value::Array(onto)) if over.iter().any(Value::is_object) => {
            for item in over {
                match onto.iter_mut().find(|there| is_same(item, there)) {
                    Some(there) => lay(item, there),
                    None => onto.push(item.clone()),
                }
            }
        }
        (over, onto) => *onto = over.clone(),
    }
}

fn is_same(one: &Value, other: &Value) -> bool {
    let both = KEYS.iter().filter(|key| one.get(**key).is_some() && other.get(**key).is_some());
    let mut same = false;
    for key in both {
        if one[*key] != other[*key] {
            return false;
        }
        same = true;
    }
    same
}

/// Pointers to all values that are not objects, a list's items included.
pub fn leaves(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect(value, "", &mut found);
    found
}

fn collect(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                let token = name.replace('~', "~0").replace('/', "~1");
                collect(value, &format!("{at}/{token}"), found);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                collect(item, &format!("{at}/{index}"), found);
            }
        }
        _ => found.push(at.to_owned()),
    }
}

/// Takes out what a pointer leads to.
pub fn remove(value: &mut Value, pointer: &str) {
    let Some((parent, token)) = pointer.rsplit_once('/') else { return };
    match value.pointer_mut(parent) {
        Some(Value::Object(fields)) => drop(fields.remove(&token.replace("~1", "/").replace("~0", "~"))),
        Some(Value::Array(items)) => {
            if let Some(index) = token.parse().ok().filter(|index| *index < items.len()) {
                items.remove(index);
            }
        }
        _ => {}
    }
}

/// An empty object.
pub fn nothing() -> Value {
    Value::Object(Map::new())
}
