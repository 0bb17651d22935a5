//! A schema as an answer to `__schema` and `__type`: a tree of values like any other.

use serde_json::{Value, json};

use super::schema::{Field, Reference, Schema, Type};

/// What `__schema` is.
pub fn schema(schema: &Schema) -> Value {
    let types: Vec<_> = schema.types.keys().filter_map(|name| named(schema, name)).collect();
    json!({
        "queryType": named(schema, &schema.query), "mutationType": null, "subscriptionType": null,
        "types": types, "directives": [directive("include"), directive("skip")],
    })
}

/// What `__type(name: …)` is.
pub fn named(schema: &Schema, name: &str) -> Option<Value> {
    let kind = schema.types.get(name)?;
    let (sort, fields, values) = match kind {
        Type::Scalar => ("SCALAR", Value::Null, Value::Null),
        Type::Enum(values) => {
            let value = |name: &String| json!({ "name": name, "description": null, "isDeprecated": false, "deprecationReason": null });
            ("ENUM", Value::Null, values.iter().map(value).collect())
        }
        Type::Object(fields) => {
            ("OBJECT", fields.iter().map(|own| field(schema, own)).collect(), Value::Null)
        }
    };
    let interfaces = if sort == "OBJECT" { json!([]) } else { Value::Null };
    Some(json!({
        "kind": sort, "name": name, "description": null, "fields": fields, "enumValues": values,
        "inputFields": null, "interfaces": interfaces, "possibleTypes": null, "ofType": null,
    }))
}

fn field(schema: &Schema, field: &Field) -> Value {
    let arguments: Vec<_> = field.arguments.iter().map(|(name, kind)| input(schema, name, kind)).collect();
    json!({
        "name": field.name, "description": null, "args": arguments, "type": reference(schema, &field.kind),
        "isDeprecated": false, "deprecationReason": null,
    })
}

fn input(schema: &Schema, name: &str, kind: &Reference) -> Value {
    json!({ "name": name, "description": null, "type": reference(schema, kind), "defaultValue": null })
}

fn reference(schema: &Schema, kind: &Reference) -> Value {
    let wrapped = |sort: &str, inner: &Reference| json!({ "kind": sort, "name": null, "ofType": reference(schema, inner) });
    match kind {
        Reference::NonNull(inner) => wrapped("NON_NULL", inner),
        Reference::List(inner) => wrapped("LIST", inner),
        Reference::Named(name) => {
            let sort = match schema.types.get(name) {
                Some(Type::Object(_)) => "OBJECT",
                Some(Type::Enum(_)) => "ENUM",
                Some(Type::Scalar) | None => "SCALAR",
            };
            json!({ "kind": sort, "name": name, "ofType": null })
        }
    }
}

fn directive(name: &str) -> Value {
    let kind = json!({ "kind": "NON_NULL", "name": null, "ofType": { "kind": "SCALAR", "name": "Boolean", "ofType": null } });
    json!({
        "name": name, "description": null, "locations": ["FIELD", "FRAGMENT_SPREAD", "INLINE_FRAGMENT"],
        "args": [{ "name": "if", "description": null, "type": kind, "defaultValue": null }],
    })
}
