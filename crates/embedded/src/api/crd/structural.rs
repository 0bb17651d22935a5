//! Whether a schema is structural: every value has a type, in one place, and junctions only add conditions.

use serde_json::Value;

use super::{
    super::fault::{Faults, Path},
    limits::Patterns,
};

#[derive(Clone, Copy, Eq, PartialEq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Names what keeps a schema from being structural.
pub fn check(schema: &Value, path: &Path, patterns: &mut Patterns, faults: &mut Faults) {
    let mut walk = Walk { patterns, faults };
    walk.schema(schema, Level::Root, path);
    complete(schema, schema, path, path, walk.faults);
}

struct Walk<'w> {
    patterns: &'w mut Patterns,
    faults: &'w mut Faults,
}

impl Walk<'_> {
    fn schema(&mut self, schema: &Value, level: Level, path: &Path) {
        let kind = schema["type"].as_str().unwrap_or_default();
        if kind == "array" && schema["items"].is_null() {
            self.faults.required(&path.child("items"), "must be specified");
        }
        if schema["items"].is_object() {
            self.schema(&schema["items"], Level::Item, &path.child("items"));
        }
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            self.schema(property, Level::Field, &path.child("properties").key(name));
        }
        let additional = &schema["additionalProperties"];
        if !additional.is_null() && *additional != false {
            if level == Level::Root {
                self.faults.forbidden(&path.child("additionalProperties"), "must not be used at the root");
            }
            if additional.is_object() {
                self.schema(additional, Level::Field, &path.child("additionalProperties"));
            }
        }
        self.extensions(schema, path);
        self.conditions(schema, path, is_int_or_string(schema), is_int_or_string(&schema["allOf"][0]));
        self.kind(schema, kind, level, path);
        self.meta(schema, level, path);
    }

    fn extensions(&mut self, schema: &Value, path: &Path) {
        if schema["x-kubernetes-int-or-string"] != true {
            return;
        }
        for field in ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"] {
            if schema[field] == true {
                let detail = "must be false if x-kubernetes-int-or-string is true";
                self.faults.invalid(&path.child(field), &schema[field], detail);
            }
        }
    }

    fn kind(&mut self, schema: &Value, kind: &str, level: Level, path: &Path) {
        let at = path.child("type");
        let embedded = schema["x-kubernetes-embedded-resource"] == true;
        let free = schema["x-kubernetes-int-or-string"] == true
            || schema["x-kubernetes-preserve-unknown-fields"] == true;
        if embedded && kind != "object" {
            let detail = "must be object if x-kubernetes-embedded-resource is true";
            match kind {
                "" => self.faults.required(&at, detail),
                _ => self.faults.invalid_text(&at, kind, detail),
            }
        } else if kind.is_empty() && !free {
            self.faults.required(
                &at,
                match level {
                    Level::Root => "must not be empty at the root",
                    Level::Item => "must not be empty for specified array items",
                    Level::Field => "must not be empty for specified object fields",
                },
            );
        }
        if embedded && !schema["additionalProperties"].is_null() {
            let detail = "must not be used if x-kubernetes-embedded-resource is set";
            self.faults.forbidden(&path.child("additionalProperties"), detail);
        }
        if level == Level::Root && !kind.is_empty() && kind != "object" {
            self.faults.invalid_text(&at, kind, "must be object at the root");
        }
        let has_properties =
            schema["properties"].as_object().is_some_and(|properties| !properties.is_empty());
        if embedded && schema["x-kubernetes-preserve-unknown-fields"] != true && !has_properties {
            let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                          x-kubernetes-preserve-unknown-fields";
            self.faults.required(&path.child("properties"), detail);
        }
    }

    /// What a schema may say about kind, apiVersion and metadata where they are those of an object.
    fn meta(&mut self, schema: &Value, level: Level, path: &Path) {
        let properties = &schema["properties"];
        let is_resource = level == Level::Root || schema["x-kubernetes-embedded-resource"] == true;
        if !is_resource {
            return;
        }
        for (field, wanted) in [("kind", "string"), ("apiVersion", "string"), ("metadata", "object")] {
            if let Some(property) = properties.get(field)
                && property["type"] != wanted
            {
                let at = path.child("properties").key(field).child("type");
                let kind = property["type"].as_str().unwrap_or_default();
                self.faults.invalid_text(&at, kind, format!("must be {wanted}"));
            }
        }
        if level == Level::Root && properties.get("metadata").is_some_and(|metadata| !only_names(metadata)) {
            self.faults.forbidden(
                &path.child("properties").key("metadata"),
                "must not specify anything other than name and generateName, but metadata is implicitly specified",
            );
        }
    }

    /// The conditions a schema adds: junctions and a pattern.
    fn conditions(&mut self, schema: &Value, path: &Path, skip_any_of: bool, skip_first_all_of: bool) {
        let branches = |field: &str| schema[field].as_array().into_iter().flatten().enumerate();
        if !skip_any_of {
            for (index, branch) in branches("anyOf") {
                self.nested(branch, &path.child("anyOf").index(index), false);
            }
        }
        for (index, branch) in branches("allOf") {
            self.nested(branch, &path.child("allOf").index(index), skip_first_all_of && index == 0);
        }
        for (index, branch) in branches("oneOf") {
            self.nested(branch, &path.child("oneOf").index(index), false);
        }
        if schema["not"].is_object() {
            self.nested(&schema["not"], &path.child("not"), false);
        }
        if let Some(pattern) = schema["pattern"].as_str().filter(|pattern| !pattern.is_empty())
            && let Err(error) = self.patterns.compile(pattern)
        {
            let detail = format!("must be a valid regular expression, but isn't: {error}");
            self.faults.invalid_text(&path.child("pattern"), pattern, detail);
        }
    }

    /// A branch of a junction: it may restrict values, not describe them.
    fn nested(&mut self, schema: &Value, path: &Path, skip_any_of: bool) {
        self.conditions(schema, path, skip_any_of, false);
        if schema["items"].is_object() {
            self.nested(&schema["items"], &path.child("items"), false);
        }
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            self.nested(property, &path.child("properties").key(name), false);
        }
        for (field, detail) in FORBIDDEN_INSIDE {
            if is_set(&schema[*field]) {
                self.faults.forbidden(&path.child(field), detail);
            }
        }
        if schema["properties"].get("metadata").is_some() {
            let at = path.child("properties").key("metadata");
            self.faults.forbidden(&at, "must not be specified in a nested context");
        }
    }
}

const FORBIDDEN_INSIDE: &[(&str, &str)] = &[
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
];

fn is_set(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}

/// `anyOf: [{type: integer}, {type: string}]`, which goes with `x-kubernetes-int-or-string`.
fn is_int_or_string(schema: &Value) -> bool {
    let only = |branch: &Value, kind: &str| {
        branch["type"] == kind && branch.as_object().is_some_and(|fields| fields.len() == 1)
    };
    matches!(schema["anyOf"].as_array().map(Vec::as_slice), Some([a, b]) if only(a, "integer") && only(b, "string"))
}

/// Whether a schema of `metadata` says something of the name and generateName alone.
fn only_names(metadata: &Value) -> bool {
    let Some(fields) = metadata.as_object() else { return true };
    let names = metadata["properties"].as_object();
    fields.keys().all(|field| ["type", "properties", "description", "default"].contains(&field.as_str()))
        && names.is_none_or(|names| names.keys().all(|name| name == "name" || name == "generateName"))
}

/// Whatever a junction speaks of must be described outside of it.
fn complete(nested: &Value, schema: &Value, schema_path: &Path, path: &Path, faults: &mut Faults) {
    let branches = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|field| {
        let branches = nested[field].as_array().into_iter().flatten().enumerate();
        branches.map(move |(index, branch)| (branch, path.child(field).index(index)))
    });
    let not = nested["not"].is_object().then(|| (&nested["not"], path.child("not")));
    for (branch, path) in branches.chain(not) {
        complete(branch, schema, schema_path, &path, faults);
        if branch["items"].is_object() {
            let (schema_path, path) = (schema_path.child("items"), path.child("items"));
            complete_child(&branch["items"], &schema["items"], &schema_path, &path, faults);
        }
        for (name, property) in branch["properties"].as_object().into_iter().flatten() {
            let (schema_path, path) =
                (schema_path.child("properties").key(name), path.child("properties").key(name));
            complete_child(property, &schema["properties"][name], &schema_path, &path, faults);
        }
    }
}

fn complete_child(nested: &Value, schema: &Value, schema_path: &Path, path: &Path, faults: &mut Faults) {
    if schema.is_object() {
        complete(nested, schema, schema_path, path, faults);
    } else {
        faults.required(schema_path, format!("because it is defined in {path}"));
    }
}
