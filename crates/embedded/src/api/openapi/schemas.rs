//! The schemas of a version: those of its kinds, and all that they refer to.

use serde_json::{Map, Value, json};

use super::Published;
use crate::{
    api::discovery::{Resource, Version, api_version},
    schema::bundled,
};

pub(super) const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// The name of a kind's definition. Those of custom kinds are made of their group, backwards.
pub(super) fn definition(group: &str, version: &str, kind: &str) -> String {
    match bundled().definition_of(&api_version(group, version), kind) {
        Some(name) => name.to_owned(),
        None => {
            let backwards: Vec<_> = group.rsplit('.').collect();
            format!("{}.{version}.{kind}", backwards.join("."))
        }
    }
}

pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// The definitions by name.
pub(super) fn of_version(group: &str, version: &Version, published: Published<'_>) -> Map<String, Value> {
    let mut schemas = Map::new();
    let mut wanted = vec![DELETE_OPTIONS.to_owned()];
    for resource in &version.resources {
        if resource.custom {
            let name = definition(group, &version.name, &resource.kind);
            let schema = published(group, &version.name, &resource.kind);
            schemas.insert(name, custom(group, &version.name, resource, schema));
            wanted.push(OBJECT_META.to_owned());
        } else {
            wanted.push(definition(group, &version.name, &resource.kind));
        }
        let others = resource.subresources.iter().filter_map(|subresource| subresource.other);
        wanted.extend(others.map(|(group, version, kind)| definition(group, version, kind)));
    }
    add_bundled(&mut schemas, wanted);
    add_kinds(&mut schemas);
    schemas
}

/// Adds definitions of the bundle, and those that they refer to.
fn add_bundled(schemas: &mut Map<String, Value>, mut wanted: Vec<String>) {
    while let Some(name) = wanted.pop() {
        if schemas.contains_key(&name) {
            continue;
        }
        if let Some(schema) = bundled().definition(&name) {
            find_references(schema, &mut wanted);
            schemas.insert(name, schema.clone());
        }
    }
}

fn find_references(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            let name = fields.get("$ref").and_then(Value::as_str).and_then(|name| name.rsplit('/').next());
            found.extend(name.map(str::to_owned));
            fields.values().for_each(|inner| find_references(inner, found));
        }
        Value::Array(items) => items.iter().for_each(|inner| find_references(inner, found)),
        _ => {}
    }
}

/// Tells of each definition in the bundle which kinds it is of.
fn add_kinds(schemas: &mut Map<String, Value>) {
    for (api_version, kind) in bundled().kinds() {
        let name = bundled().definition_of(api_version, kind).unwrap_or_default();
        let Some(fields) = schemas.get_mut(name).and_then(Value::as_object_mut) else { continue };
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let entry = fields.entry("x-kubernetes-group-version-kind").or_insert_with(|| json!([]));
        if let Some(kinds) = entry.as_array_mut() {
            kinds.push(json!({ "group": group, "version": version, "kind": kind }));
        }
    }
}

/// The schema that a definition publishes, with what every object has.
fn custom(group: &str, version: &str, resource: &Resource, published: Option<Value>) -> Value {
    let anything = || json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let mut schema = published.filter(Value::is_object).unwrap_or_else(anything);
    if !schema["properties"].is_object() {
        schema["properties"] = json!({});
    }
    let properties = &mut schema["properties"];
    properties["apiVersion"] = json!({ "type": "string" });
    properties["kind"] = json!({ "type": "string" });
    properties["metadata"] = reference(OBJECT_META);
    schema["x-kubernetes-group-version-kind"] =
        json!([{ "group": group, "version": version, "kind": resource.kind }]);
    schema
}
