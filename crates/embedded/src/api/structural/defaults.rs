//! Filling in what a custom resource leaves out, and dropping the nulls that say no more than that.

use serde_json::Value;

use crate::schema::Schema;

/// Sets what is absent, and what is null where null is not allowed, to the schema's defaults.
pub fn default(schema: Schema<'_>, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, property) in schema.properties() {
                if let Some(default) = &property.default {
                    let value = fields.entry(name).or_insert_with(|| default.clone());
                    replace_null(property, value);
                }
            }
            for (name, value) in fields {
                if let Some(schema) = schema.field(name) {
                    replace_null(schema, value);
                    default(schema, value);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = schema.items() else { return };
            for item in items {
                replace_null(schema, item);
                default(schema, item);
            }
        }
        _ => {}
    }
}

/// Drops fields that are null, where null is neither allowed nor has a default. This is part of reading an object,
/// not of filling it in: what an apply sets to null is refused.
pub fn drop_nulls(schema: Schema<'_>, value: &mut Value) {
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            let Some(schema) = schema.field(name) else { return true };
            if value.is_null() {
                return schema.nullable || schema.default.is_some();
            }
            drop_nulls(schema, value);
            true
        }),
        Value::Array(items) => {
            if let Some(schema) = schema.items() {
                items.iter_mut().for_each(|item| drop_nulls(schema, item));
            }
        }
        _ => {}
    }
}

fn replace_null(schema: Schema<'_>, value: &mut Value) {
    if let (true, false, Some(default)) = (value.is_null(), schema.nullable, &schema.default) {
        *value = default.clone();
    }
}
