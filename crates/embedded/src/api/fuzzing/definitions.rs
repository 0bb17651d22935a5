//! Definitions of custom resources, and the rules in their schemas.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::{
    NOW, json as read,
    kinds::{builtin, created},
    lines,
};
use crate::{
    api::{
        crd::{CustomKind, establish, publish},
        fault::{Faults, Path},
        resource::Resource,
        structural::{cel::Rules, validate},
    },
    schema::Tree,
};

/// A definition, and an object that it may define, one in each line. A definition that is allowed can be served, and
/// its objects can be stored.
pub fn definition(data: &[u8]) {
    let Some([definition, object]) = lines(data) else { return };
    let (Some(crd), Some(object)) = (read(definition), read(object)) else { return };
    let resource = builtin("apiextensions.k8s.io/v1", "CustomResourceDefinition").expect("it must be served");
    let Some(mut crd) = created(&resource, crd, true) else { return };
    crd["status"] = establish(&crd, [], NOW);
    let kind = CustomKind::compile(&crd).expect("a definition that is allowed must be served");
    for resource in Resource::of_custom(&kind, 1, false) {
        assert!(publish(&crd, &resource.version).is_some_and(|schema| schema.is_object()));
        let mut object = object.clone();
        if !object.is_object() {
            return;
        }
        (object["apiVersion"], object["kind"]) =
            (resource.api_version.clone().into(), resource.kind.clone().into());
        created(&resource, object, !definition.contains("oldSelf"));
    }
}

/// A schema with something of everything that rules can speak of.
static SPEC: LazyLock<Value> = LazyLock::new(|| {
    let text = json!({ "type": "string" });
    json!({
        "size": { "type": "integer" },
        "float": { "type": "number" },
        "on": { "type": "boolean" },
        "name": text,
        "short": { "type": "string", "maxLength": 20 },
        "nullable": { "type": "string", "nullable": true },
        "names": { "type": "array", "items": text },
        "few": { "type": "array", "maxItems": 10, "items": { "type": "string", "maxLength": 20 } },
        "numbers": { "type": "array", "maxItems": 10, "items": { "type": "integer" } },
        "set": { "type": "array", "maxItems": 10, "x-kubernetes-list-type": "set", "items": { "type": "integer" } },
        "ports": {
            "type": "array", "maxItems": 10, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": { "type": "object", "properties": { "name": text, "port": { "type": "integer" } } }
        },
        "map": { "type": "object", "additionalProperties": { "type": "integer" } },
        "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": { "k": text } },
        "port": { "x-kubernetes-int-or-string": true },
        "time": { "type": "string", "format": "date-time" },
        "wait": { "type": "string", "format": "duration" },
        "bytes": { "type": "string", "format": "byte" },
        "a-b": text,
        "namespace": text
    })
});

/// A rule, the spec that it is about, and what that was before, one in each line. A rule that compiles comes to a
/// result within its budget, and always to the same.
pub fn cel(data: &[u8]) {
    let Some([rule, new, old]) = lines(data) else { return };
    let (new, old) = (read(new).unwrap_or_else(|| json!({})), read(old));
    judge(json!([{ "rule": rule }]), &new, old.as_ref());
    judge(json!([{ "rule": "self == oldSelf", "messageExpression": rule }]), &new, old.as_ref());
}

fn judge(rules: Value, new: &Value, old: Option<&Value>) {
    let spec = json!({ "type": "object", "properties": *SPEC, "x-kubernetes-validations": rules });
    let schema = json!({ "type": "object", "properties": { "spec": spec } });
    let tree = Tree::of_schema(&schema, std::iter::empty());
    let mut faults = Faults::default();
    let compiled = Rules::compile(tree.root().expect("a tree must have a root"), &Path::root(), &mut faults);
    if !faults.is_empty() {
        return;
    }
    let (new, old) = (json!({ "spec": new }), old.map(|old| json!({ "spec": old })));
    assert_eq!(told(&tree, &compiled, &new, old.as_ref()), told(&tree, &compiled, &new, old.as_ref()));
}

fn told(tree: &Tree, rules: &Rules, new: &Value, old: Option<&Value>) -> String {
    let mut faults = Faults::default();
    validate(tree.root().expect("a tree must have a root"), new, old, rules, &mut faults);
    faults.to_string()
}
