//! Whether the defaults of a schema are values that the schema itself would accept.

use serde_json::Value;

use super::super::{
    fault::{Fault, Faults, Path},
    structural::{self, cel::Rules},
};
use crate::schema::Schema;

/// Names the defaults that would make every object wrong.
pub fn check(schema: Schema<'_>, path: &Path, rules: &Rules, faults: &mut Faults) {
    if let Some(default) = &schema.default {
        one(schema, default, &path.child("default"), rules, faults);
    }
    for (name, property) in schema.properties() {
        check(property, &path.child("properties").key(name), rules, faults);
    }
    if let Some(items) = schema.items() {
        check(items, &path.child("items"), rules, faults);
    }
    if let Some(additional) = schema.additional() {
        check(additional, &path.child("additionalProperties"), rules, faults);
    }
}

fn one(schema: Schema<'_>, default: &Value, path: &Path, rules: &Rules, faults: &mut Faults) {
    if !structural::is_pruned(schema, default) {
        faults.invalid(path, default, "must not have unknown fields");
    }
    let mut found = structural::check(schema, default);
    if found.is_empty() {
        // As a value that stays, and as one that is new.
        rules.check(schema, default, Some(default), &mut found);
        if found.is_empty() {
            rules.check(schema, default, None, &mut found);
        }
    }
    for fault in found.iter() {
        let field = match fault.field.as_str() {
            "" | "<nil>" => path.to_string(),
            inner if inner.starts_with('[') => format!("{path}{inner}"),
            inner => format!("{path}.{inner}"),
        };
        faults.add(Fault { field, ..fault.clone() });
    }
}
