//! Which words a schema may use, and where: types, list and map types, defaults, rules.

use serde_json::{Value, json};

use super::{
    super::fault::{Faults, Path},
    field_path,
};

/// What is above a schema counts for what it may say.
#[derive(Clone, Default)]
pub struct Context {
    root: bool,
    inside_meta: bool,
    /// Why there may be no default here.
    no_default: Option<String>,
}

impl Context {
    /// Of a version's schema.
    pub fn root() -> Self {
        Self { root: true, ..Self::default() }
    }
}

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Names the words that are not allowed.
pub fn check(schema: &Value, path: &Path, context: &Context, faults: &mut Faults) {
    own(schema, path, context, faults);
    let inner = Context { root: false, ..context.clone() };
    let additional = &schema["additionalProperties"];
    if !additional.is_null() {
        let at = path.child("additionalProperties");
        let has_properties =
            schema["properties"].as_object().is_some_and(|properties| !properties.is_empty());
        if has_properties && *additional != true {
            faults.forbidden(&at, "additionalProperties and properties are mutual exclusive");
        }
        if additional.is_object() {
            let mut inner = inner.clone();
            if context.inside_meta {
                inner.no_default = Some("inside additionalProperties applying to object metadata".to_owned());
            }
            check(additional, &at, &inner, faults);
        }
    }
    let resource = context.root || schema["x-kubernetes-embedded-resource"] == true;
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let mut inner = inner.clone();
        if resource && ["metadata", "kind", "apiVersion"].contains(&name.as_str()) {
            inner.inside_meta = true;
            if context.root {
                inner.no_default = Some(format!("in top-level {name}"));
            }
        }
        check(property, &path.child("properties").key(name), &inner, faults);
    }
    for field in ["allOf", "anyOf", "oneOf"] {
        for (index, branch) in schema[field].as_array().into_iter().flatten().enumerate() {
            check(branch, &path.child(field).index(index), &inner, faults);
        }
    }
    for field in ["not", "items"] {
        if schema[field].is_object() {
            check(&schema[field], &path.child(field), &inner, faults);
        }
    }
}

fn own(schema: &Value, path: &Path, context: &Context, faults: &mut Faults) {
    let kind = schema["type"].as_str().unwrap_or_default();
    if !kind.is_empty() && !TYPES.contains(&kind) {
        faults.not_supported(&path.child("type"), &kind.into(), &TYPES);
    }
    if kind == "null" {
        let detail = "type cannot be set to null, use nullable as an alternative";
        faults.forbidden(&path.child("type"), detail);
    }
    if let (false, Some(reason)) = (schema["default"].is_null(), &context.no_default) {
        faults.forbidden(&path.child("default"), format!("must not be set {reason}"));
    }
    for field in ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] {
        let unset = match &schema[field] {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Object(fields) => fields.is_empty() && field != "additionalItems",
            _ => false,
        };
        if !unset {
            faults.forbidden(&path.child(field), format!("{field} is not supported"));
        }
    }
    if schema["items"].is_array() {
        faults.forbidden(&path.child("items"), "items must be a schema object and not an array");
    }
    if context.inside_meta && schema["x-kubernetes-embedded-resource"] == true {
        let at = path.child("x-kubernetes-embedded-resource");
        faults.forbidden(&at, "must not be used inside of resource meta");
    }
    if schema["uniqueItems"] == true {
        faults.forbidden(
            &path.child("uniqueItems"),
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        );
    }
    if schema["x-kubernetes-preserve-unknown-fields"] == false {
        let at = path.child("x-kubernetes-preserve-unknown-fields");
        faults.invalid(&at, &json!(false), "must be true or undefined");
    }
    if context.root && schema["nullable"] == true {
        faults.forbidden(&path.child("nullable"), "nullable cannot be true at the root");
    }
    map_type(schema, kind, path, faults);
    list_type(schema, kind, path, faults);
    rules(schema, path, faults);
}

fn map_type(schema: &Value, kind: &str, path: &Path, faults: &mut Faults) {
    let word = "x-kubernetes-map-type";
    let Some(value) = schema[word].as_str() else { return };
    needs_type(kind, "object", word, path, faults);
    if value != "atomic" && value != "granular" {
        faults.not_supported(&path.child(word), &schema[word], &["atomic", "granular"]);
    }
}

fn needs_type(kind: &str, wanted: &str, word: &str, path: &Path, faults: &mut Faults) {
    let detail = format!("must be {wanted} if {word} is specified");
    match kind {
        "" => faults.required(&path.child("type"), detail),
        kind if kind != wanted => faults.invalid_text(&path.child("type"), kind, detail),
        _ => {}
    }
}

fn list_type(schema: &Value, kind: &str, path: &Path, faults: &mut Faults) {
    const TYPE: &str = "x-kubernetes-list-type";
    const KEYS: &str = "x-kubernetes-list-map-keys";
    let list = schema[TYPE].as_str();
    let keys = schema[KEYS].as_array().map_or(&[][..], Vec::as_slice);
    if !keys.is_empty() && list != Some("map") {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        match list {
            None => faults.required(&path.child(TYPE), detail),
            Some(other) => faults.invalid_text(&path.child(TYPE), other, detail),
        }
    }
    let Some(list) = list else { return };
    needs_type(kind, "array", TYPE, path, faults);
    if !["atomic", "set", "map"].contains(&list) {
        faults.not_supported(&path.child(TYPE), &list.into(), &["atomic", "set", "map"]);
    }
    let (items, items_path) = (&schema["items"], path.child("items"));
    if list == "set" {
        let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
        if items["type"] == "array" && items[TYPE].as_str().is_some_and(|inner| inner != "atomic") {
            faults.invalid(&items_path.child(TYPE), &items[TYPE], detail);
        }
        if items["type"] == "object" && items["x-kubernetes-map-type"] != "atomic" {
            faults.invalid(
                &items_path.child("x-kubernetes-map-type"),
                &items["x-kubernetes-map-type"],
                detail,
            );
        }
    }
    if list == "map" {
        if keys.is_empty() {
            faults.required(&path.child(KEYS), "must not be empty if x-kubernetes-list-type is map");
        }
        match items {
            Value::Null => {
                faults.required(&items_path, "must have a schema if x-kubernetes-list-type is map");
            }
            items if items["type"] != "object" => faults.invalid(
                &items_path.child("type"),
                &items["type"],
                "must be object if parent array's x-kubernetes-list-type is map",
            ),
            items => map_keys(items, keys, &items_path, &path.child(KEYS), faults),
        }
    }
    if ["set", "map"].contains(&list) && items["nullable"] == true {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list}");
        faults.forbidden(&items_path.child("nullable"), detail);
    }
}

fn map_keys(items: &Value, keys: &[Value], items_path: &Path, keys_path: &Path, faults: &mut Faults) {
    // More than any list needs; each is looked for among all others.
    const MAX: usize = 100;
    if keys.len() > MAX {
        return faults.too_many(keys_path, keys.len() as u64, MAX as u64);
    }
    for (index, key) in keys.iter().enumerate() {
        if keys[..index].contains(key) {
            faults.invalid(keys_path, &json!(keys), "must not contain duplicate entries");
        }
        let name = key.as_str().unwrap_or_default();
        let Some(property) = items["properties"].get(name) else {
            faults.invalid(keys_path, &json!(keys), "entries must all be names of item properties");
            continue;
        };
        let path = items_path.child("properties").key(name);
        if property["type"] == "array" || property["type"] == "object" {
            let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
            faults.invalid(&path.child("type"), &property["type"], detail);
        }
        let is_required = items["required"].as_array().is_some_and(|required| required.contains(key));
        if !is_required && property["default"].is_null() {
            faults.required(
                &path.child("default"),
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            );
        }
        if property["nullable"] == true {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            faults.forbidden(&path.child("nullable"), detail);
        }
    }
}

/// Reasons that a rule may give.
pub const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// The words around a rule; whether it compiles is asked later.
fn rules(schema: &Value, path: &Path, faults: &mut Faults) {
    for (index, rule) in schema["x-kubernetes-validations"].as_array().into_iter().flatten().enumerate() {
        let path = path.child("x-kubernetes-validations").index(index);
        let text = |field: &str| rule[field].as_str().unwrap_or_default();
        let blank = |field: &str| !text(field).is_empty() && text(field).trim().is_empty();
        let broken = |field: &str| text(field).trim().contains(['\n', '\r']);
        if text("rule").trim().is_empty() {
            faults.required(&path.child("rule"), "rule is not specified");
        } else if blank("message") {
            faults.invalid(&path.child("message"), &rule["message"], "must be non-empty if specified");
        } else if broken("message") {
            faults.invalid(&path.child("message"), &rule["message"], "must not contain line breaks");
        } else if broken("rule") && text("message").trim().is_empty() {
            faults.required(&path.child("message"), "message must be specified if rule contains line breaks");
        }
        if blank("messageExpression") {
            let detail = "messageExpression must be non-empty if specified";
            faults.required(&path.child("messageExpression"), detail);
        }
        if !text("reason").is_empty() && !REASONS.contains(&text("reason")) {
            faults.not_supported(&path.child("reason"), &rule["reason"], &REASONS);
        }
        let at = path.child("fieldPath");
        if blank("fieldPath") {
            faults.invalid(&at, &rule["fieldPath"], "must be non-empty if specified");
        } else if broken("fieldPath") {
            faults.invalid(&at, &rule["fieldPath"], "must not contain line breaks");
        } else if field_path::find(schema, text("fieldPath"), true).is_err() {
            faults.invalid(&at, &rule["fieldPath"], "must be a valid path");
        }
    }
}
