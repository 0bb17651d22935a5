//! The paths of a version: which operations there are, on which kinds, with which parameters.

use serde_json::{Map, Value, json};

use super::schemas::{DELETE_OPTIONS, definition, reference};
use crate::api::discovery::{Resource, Subresource, Version};

/// Parameters of a list: name and type.
const LIST: &[(&str, &str)] = &[
    ("allowWatchBookmarks", "boolean"),
    ("continue", "string"),
    ("fieldSelector", "string"),
    ("labelSelector", "string"),
    ("limit", "integer"),
    ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"),
    ("sendInitialEvents", "boolean"),
    ("timeoutSeconds", "integer"),
    ("watch", "boolean"),
];
const WRITE: &[(&str, &str)] =
    &[("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string")];
const PATCH: &[(&str, &str)] =
    &[("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string"), ("force", "boolean")];
const DELETE: &[(&str, &str)] = &[
    ("dryRun", "string"),
    ("gracePeriodSeconds", "integer"),
    ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
];

/// What can be done at a path: the verb it needs, the method, and how upstream calls it.
struct Action {
    verb: &'static str,
    method: &'static str,
    action: &'static str,
}

const COLLECTION: &[Action] = &[
    Action { verb: "list", method: "get", action: "list" },
    Action { verb: "create", method: "post", action: "post" },
    Action { verb: "deletecollection", method: "delete", action: "deletecollection" },
];
const OBJECT: &[Action] = &[
    Action { verb: "get", method: "get", action: "get" },
    Action { verb: "update", method: "put", action: "put" },
    Action { verb: "patch", method: "patch", action: "patch" },
    Action { verb: "delete", method: "delete", action: "delete" },
];
const SUBRESOURCE: &[Action] = &[
    Action { verb: "get", method: "get", action: "get" },
    Action { verb: "create", method: "post", action: "post" },
    Action { verb: "update", method: "put", action: "put" },
    Action { verb: "patch", method: "patch", action: "patch" },
];

/// What the operations of a path are on.
struct Target<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
    /// What tells operations apart: the resource, its subresource, whether it is seen from above.
    name: String,
    /// Whether the kind knows strategic merge patches.
    strategic: bool,
}

/// The paths of a version.
pub(super) fn of_version(group: &str, version: &Version) -> Map<String, Value> {
    let mut paths = Map::new();
    for resource in &version.resources {
        add_resource(&mut paths, group, &version.name, resource);
    }
    paths
}

fn add_resource(paths: &mut Map<String, Value>, group: &str, version: &str, resource: &Resource) {
    let root = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
    let plural = &resource.plural;
    let target =
        |name: String| Target { group, version, kind: &resource.kind, name, strategic: !resource.custom };
    let mut add = |path: String, target: &Target<'_>, actions: &[Action], verbs: &[&str]| {
        let operations = actions.iter().filter(|action| verbs.contains(&action.verb));
        let mut item: Map<_, _> =
            operations.map(|action| (action.method.to_owned(), operation(target, action))).collect();
        if !item.is_empty() {
            item.insert("parameters".to_owned(), path_parameters(&path));
            paths.insert(path, item.into());
        }
    };
    let collection = if resource.namespaced {
        add(format!("{root}/{plural}"), &target(format!("{plural}ForAllNamespaces")), COLLECTION, &["list"]);
        format!("{root}/namespaces/{{namespace}}/{plural}")
    } else {
        format!("{root}/{plural}")
    };
    add(collection.clone(), &target(plural.to_string()), COLLECTION, resource.verbs);
    let object = format!("{collection}/{{name}}");
    add(object.clone(), &target(plural.to_string()), OBJECT, resource.verbs);
    for subresource in &resource.subresources {
        let Subresource { name, other, verbs } = subresource;
        let mut target = target(format!("{plural}-{name}"));
        if let Some((group, version, kind)) = other {
            target = Target { group, version, kind, ..target };
        }
        add(format!("{object}/{name}"), &target, SUBRESOURCE, verbs);
    }
}

fn operation(target: &Target<'_>, action: &Action) -> Value {
    let schema = reference(&definition(target.group, target.version, target.kind));
    let content = |types: &[&str], schema: &Value| -> Value {
        types
            .iter()
            .map(|name| ((*name).to_owned(), json!({ "schema": schema })))
            .collect::<Map<_, _>>()
            .into()
    };
    let answered = if action.action == "list" || action.method == "delete" {
        json!({ "description": "OK" })
    } else {
        json!({ "description": "OK", "content": content(&["application/json", "application/yaml"], &schema) })
    };
    let mut operation = json!({
        "operationId": format!("{}-{}", action.action, target.name),
        "responses": { "200": answered, "401": { "description": "Unauthorized" } },
        "x-kubernetes-action": action.action,
        "x-kubernetes-group-version-kind": {
            "group": target.group, "version": target.version, "kind": target.kind
        },
    });
    let (parameters, body) = match action.action {
        "list" => (LIST, Value::Null),
        "post" | "put" => (WRITE, json!({ "content": content(&["*/*"], &schema), "required": true })),
        "patch" => {
            let anything = json!({ "type": "object" });
            (PATCH, json!({ "content": content(patch_types(target.strategic), &anything), "required": true }))
        }
        "delete" | "deletecollection" => {
            (DELETE, json!({ "content": content(&["*/*"], &reference(DELETE_OPTIONS)) }))
        }
        _ => (&[][..], Value::Null),
    };
    if !parameters.is_empty() {
        operation["parameters"] =
            parameters.iter().map(|(name, kind)| parameter("query", name, kind)).collect();
    }
    if !body.is_null() {
        operation["requestBody"] = body;
    }
    operation
}

fn patch_types(strategic: bool) -> &'static [&'static str] {
    const TYPES: &[&str] = &[
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
    ];
    if strategic { TYPES } else { &TYPES[..3] }
}

/// The parameters that a path has in its braces, and those of every operation.
fn path_parameters(path: &str) -> Value {
    let named = ["name", "namespace"].into_iter().filter(|name| path.contains(&format!("{{{name}}}")));
    let mut parameters: Vec<_> = named.map(|name| parameter("path", name, "string")).collect();
    parameters.push(parameter("query", "pretty", "string"));
    parameters.into()
}

fn parameter(place: &str, name: &str, kind: &str) -> Value {
    let mut parameter = json!({ "name": name, "in": place, "schema": { "type": kind, "uniqueItems": true } });
    if place == "path" {
        parameter["required"] = true.into();
    }
    parameter
}
