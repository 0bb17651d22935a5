//! The bundled schema of Kubernetes' own kinds, as a real API server publishes it.
//!
//! `cargo xtask schema` makes the file and `make test-kube` shows that it is current. It tells
//! structure: types, required fields, list-map keys, patch-merge keys. It does not tell most
//! defaults and no bounds: the published schema has none.

use std::{collections::BTreeMap, io::Read, sync::LazyLock};

use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::Value;

pub mod pattern;
mod tree;

pub use tree::{Bounds, ListType, Node, PatchStrategy, Rule, Schema, Tree, Type};

/// Structure of the built-in kinds.
#[derive(Debug, Deserialize)]
pub struct Bundle {
    /// The version of Kubernetes it was taken from, for example `v1.36.3`.
    pub version: String,
    /// Kinds by apiVersion and name (`apps/v1/Deployment`), to the name of their definition.
    kinds: BTreeMap<String, String>,
    /// Definitions by name, as OpenAPI v3 schemas that refer to each other by `$ref`.
    definitions: BTreeMap<String, Value>,
}

impl Bundle {
    /// The schema of a kind; `None` if it is not served.
    pub fn kind(&self, api_version: &str, kind: &str) -> Option<&Value> {
        self.definitions.get(self.kinds.get(&format!("{api_version}/{kind}"))?)
    }

    /// The kinds, as pairs of apiVersion and name.
    pub fn kinds(&self) -> impl Iterator<Item = (&str, &str)> {
        self.kinds.keys().filter_map(|key| key.rsplit_once('/'))
    }

    /// The definitions, by name.
    pub fn definitions(&self) -> impl Iterator<Item = (&str, &Value)> + Clone {
        self.definitions.iter().map(|(name, schema)| (name.as_str(), schema))
    }

    /// A definition by its name.
    pub fn definition(&self, name: &str) -> Option<&Value> {
        self.definitions.get(name)
    }

    /// The name of a kind's definition; `None` if it is not served.
    pub fn definition_of(&self, api_version: &str, kind: &str) -> Option<&str> {
        self.kinds.get(&format!("{api_version}/{kind}")).map(String::as_str)
    }

    /// Follows a schema's `$ref`, alone or inside a single `allOf`; a schema without one is itself.
    pub fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let reference = schema["$ref"].as_str().or_else(|| schema["allOf"][0]["$ref"].as_str());
        let name = reference.and_then(|reference| reference.rsplit('/').next());
        name.and_then(|name| self.definitions.get(name)).unwrap_or(schema)
    }
}

/// The bundle, unpacked on first use.
pub fn bundled() -> &'static Bundle {
    static BUNDLE: LazyLock<Bundle> = LazyLock::new(|| {
        let mut json = Vec::new();
        GzDecoder::new(&include_bytes!("../schema/kubernetes.json.gz")[..])
            .read_to_end(&mut json)
            .expect("the bundled schema must be whole");
        serde_json::from_slice(&json).expect("the bundled schema must be JSON")
    });
    &BUNDLE
}

/// The definitions of the bundle as the server works with them.
pub fn builtin_tree() -> &'static Tree {
    static TREE: LazyLock<Tree> = LazyLock::new(|| Tree::of_definitions(bundled().definitions()));
    &TREE
}

/// The schema of a built-in kind; `None` if it is not served.
pub fn builtin(api_version: &str, kind: &str) -> Option<Schema<'static>> {
    builtin_tree().named(bundled().definition_of(api_version, kind)?)
}

/// The definitions that describe `metadata`, for the schemas of custom resources.
pub fn metadata_definitions() -> impl Iterator<Item = (&'static str, &'static Value)> + Clone {
    const NAMES: [&str; 5] = ["ObjectMeta", "OwnerReference", "ManagedFieldsEntry", "FieldsV1", "Time"];
    bundled().definitions().filter(|(name, _)| {
        name.strip_prefix("io.k8s.apimachinery.pkg.apis.meta.v1.").is_some_and(|name| NAMES.contains(&name))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::bundled;

    /// Walks from a kind's schema through properties; `[]` goes into the items of a list.
    fn at(api_version: &str, kind: &str, path: &[&str]) -> serde_json::Value {
        let bundle = bundled();
        let mut schema = bundle.kind(api_version, kind).expect("the kind must be bundled");
        for step in path {
            schema = bundle.resolve(schema);
            schema = match *step {
                "[]" => &schema["items"],
                field => &schema["properties"][field],
            };
        }
        bundle.resolve(schema).clone()
    }

    #[test]
    fn knows_the_keys_that_lists_merge_by() {
        let containers = bundled().kind("v1", "Pod").map(|pod| bundled().resolve(&pod["properties"]["spec"]));
        let containers = &containers.expect("a pod must have a spec")["properties"]["containers"];
        assert_eq!(containers["x-kubernetes-list-map-keys"], json!(["name"]));
        assert_eq!(containers["x-kubernetes-patch-merge-key"], "name");
        let ports =
            bundled().kind("v1", "Service").map(|service| bundled().resolve(&service["properties"]["spec"]));
        let ports = &ports.expect("a Service must have a spec")["properties"]["ports"];
        // The two ways of patching go by different keys.
        assert_eq!(ports["x-kubernetes-list-map-keys"], json!(["port", "protocol"]));
        assert_eq!(ports["x-kubernetes-patch-merge-key"], "port");
    }

    #[test]
    fn carries_true_defaults_and_no_false_ones() {
        let container =
            |field| at("apps/v1", "Deployment", &["spec", "template", "spec", "containers", "[]", field]);
        assert!(container("name").get("default").is_none());
        let protocol = at("v1", "Service", &["spec", "ports", "[]", "protocol"]);
        assert_eq!(protocol["default"], "TCP");
    }

    #[test]
    fn every_reference_leads_somewhere_and_no_words_are_left() {
        fn walk(schema: &serde_json::Value) {
            if let Some(reference) = schema["$ref"].as_str() {
                assert!(!bundled().resolve(schema)["$ref"].is_string(), "{reference} leads nowhere");
            }
            assert!(!schema["description"].is_string(), "{schema}");
            for inner in schema.as_object().into_iter().flat_map(|fields| fields.values()) {
                walk(inner);
            }
            for inner in schema.as_array().into_iter().flatten() {
                walk(inner);
            }
        }
        for (api_version, kind) in bundled().kinds() {
            assert!(bundled().kind(api_version, kind).is_some(), "{api_version} {kind}");
        }
        bundled().definitions.values().for_each(walk);
    }
}
