//! Sets in which the fields of structs that lead to members are members too.
//!
//! A set of fields tells structs by what is in them. To see whether a struct as a whole is still wanted,
//! it must be in the set itself.

use super::{
    element::Element,
    set::{Branch, FieldSet},
    shape::{Place, Shape},
};
use serde_json::Value;

/// The set with every declared field on the way to a member.
pub fn with_named_fields(place: Place<'_>, set: &FieldSet) -> FieldSet {
    let branches = set.iter().map(|(element, branch)| {
        let (below, named) = step(place, element);
        let leads = !branch.below.is_empty() && named;
        let below = match below {
            Some(place) if !branch.below.is_empty() => with_named_fields(place, &branch.below),
            _ => branch.below.clone(),
        };
        (element.clone(), Branch { member: branch.member || leads, below })
    });
    branches.collect()
}

/// The place of a step, and whether it is a declared field.
fn step<'a>(place: Place<'a>, element: &Element) -> (Option<Place<'a>>, bool) {
    match element.field_name() {
        Some(name) => match place.shape(&Value::Null) {
            Shape::Map(fields) => match fields.field(name) {
                Some((place, declared)) => (Some(place), declared),
                None => (None, false),
            },
            _ => (None, false),
        },
        None if element.is_key() => match place.shape(&Value::Array(Vec::new())) {
            Shape::List(items) => (Some(items.item), false),
            _ => (None, false),
        },
        None => (None, false),
    }
}
