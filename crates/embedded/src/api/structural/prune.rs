//! Dropping what a custom resource's schema does not know.

use serde_json::Value;

use super::{OBJECT_META, conform::conform, place::Place};
use crate::schema::{Schema, builtin_tree};

/// Drops unknown fields of a custom resource and returns their paths, sorted. `metadata`, its own and that of
/// embedded resources, becomes what a decoder makes of it; the error is that decoder's.
pub fn prune(schema: Schema<'_>, object: &mut Value) -> Result<Vec<String>, String> {
    let mut pruner = Pruner { unknown: Vec::new() };
    pruner.prune(schema, object, Place::Root, true)?;
    pruner.unknown.sort_unstable();
    Ok(pruner.unknown)
}

/// Whether a value, such as a default, has only what its schema knows.
pub fn is_pruned(schema: Schema<'_>, value: &Value) -> bool {
    let (mut pruner, mut copy) = (Pruner { unknown: Vec::new() }, value.clone());
    let result = pruner.prune(schema, &mut copy, Place::Root, schema.embedded_resource);
    result.is_ok() && pruner.unknown.is_empty()
}

struct Pruner {
    unknown: Vec<String>,
}

impl Pruner {
    fn prune(
        &mut self,
        schema: Schema<'_>,
        value: &mut Value,
        place: Place<'_>,
        resource: bool,
    ) -> Result<(), String> {
        match value {
            Value::Object(fields) => {
                let mut result = Ok(());
                fields.retain(|name, value| {
                    if result.is_err() || (resource && (name == "apiVersion" || name == "kind")) {
                        return true;
                    }
                    if resource && name == "metadata" {
                        result = self.metadata(value, place);
                        return true;
                    }
                    let place = Place::Field(&place, name);
                    match schema.field(name) {
                        Some(field) => {
                            result = self.prune(field, value, place, field.embedded_resource);
                            true
                        }
                        None if schema.preserve_unknown => true,
                        None => {
                            self.unknown.push(place.dotted());
                            false
                        }
                    }
                });
                result
            }
            Value::Array(items) => {
                let Some(schema) = schema.items() else { return Ok(()) };
                let mut items = items.iter_mut().enumerate();
                items.try_for_each(|(index, item)| {
                    self.prune(schema, item, Place::Item(&place, index), schema.embedded_resource)
                })
            }
            _ => Ok(()),
        }
    }

    fn metadata(&mut self, metadata: &mut Value, place: Place<'_>) -> Result<(), String> {
        let Some(schema) = builtin_tree().named(OBJECT_META) else { return Ok(()) };
        let prefix = Place::Field(&place, "metadata").dotted();
        let unknown = conform(schema, metadata).map_err(|error| match place {
            Place::Root => error,
            _ => format!("{prefix}: Invalid value: {metadata}: {error}"),
        })?;
        self.unknown.extend(unknown.into_iter().map(|path| format!("{prefix}.{path}")));
        Ok(())
    }
}
