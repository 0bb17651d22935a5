//! Sets of fields brought in line with a schema that has changed since they were recorded.
//!
//! Who owned anything inside a list or an object that is now taken as a whole, owns the whole. The other way
//! round nothing needs to change: the owner of the whole keeps it.

use serde_json::Value;

use super::{
    managed::Managers,
    set::{Branch, FieldSet},
    shape::{Place, Shape},
};
use crate::schema::Type;

/// Brings all owners' fields in line.
pub fn reconcile(place: Place<'_>, managers: &mut Managers) {
    for entry in &mut managers.0 {
        if let Some(fields) = in_line(place, &entry.fields) {
            entry.fields = fields;
        }
    }
}

/// The set in line with the schema; `None` if it is already.
fn in_line(place: Place<'_>, set: &FieldSet) -> Option<FieldSet> {
    let shape = shape(place);
    let next = |element: &super::element::Element| match (shape, element.field_name()) {
        (Shape::Map(fields), Some(name)) => fields.field(name).map(|(place, _)| place),
        (Shape::List(items), None) => Some(items.item),
        _ => None,
    };
    let mut changed = false;
    let branches: Vec<_> = set
        .iter()
        .map(|(element, branch)| {
            let below = next(element).filter(|_| !branch.below.is_empty());
            let new = match below {
                Some(place) if is_whole(place) => Some(Branch::leaf()),
                Some(place) => {
                    in_line(place, &branch.below).map(|below| Branch { member: branch.member, below })
                }
                None => None,
            };
            changed |= new.is_some();
            (element, branch, new)
        })
        .collect();
    // Copies only if there is something to change, which is once in the life of a schema.
    changed.then(|| {
        let copy = branches
            .into_iter()
            .map(|(element, old, new)| (element.clone(), new.unwrap_or_else(|| old.clone())));
        copy.collect()
    })
}

fn is_whole(place: Place<'_>) -> bool {
    match shape(place) {
        Shape::Map(fields) => fields.atomic && !fields.is_deduced(),
        Shape::List(items) => items.atomic(),
        Shape::Scalar => false,
    }
}

/// The shape without a value to go by: what can be anything may be an object.
fn shape(place: Place<'_>) -> Shape<'_> {
    match place.kind() {
        Type::Array => place.shape(&Value::Array(Vec::new())),
        _ => place.shape(&Value::Null),
    }
}
