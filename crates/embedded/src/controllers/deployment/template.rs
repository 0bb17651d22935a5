//! Pod templates: which two are the same, the hash that names them, and the ReplicaSet that is made of one.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::revision;
use crate::controllers::{claim, records::Deployment};

/// Tells the pods of one template from those of another.
pub const HASH: &str = "pod-template-hash";
/// What Kubernetes makes names of: no vowels, so no words, and nothing that looks like another.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
/// The longest name of an object.
const LONGEST_NAME: usize = 253;

/// Whether two templates are the same but for the hash that one of them bears.
pub fn is_same(a: &Value, b: &Value) -> bool {
    same_but(a, b, |name, a, b| match name {
        "metadata" => same_but(a, b, |name, a, b| match name {
            "labels" => same_but(a, b, |name, a, b| name == HASH || a == b),
            _ => a == b,
        }),
        _ => a == b,
    })
}

/// Compares objects field by field; one that is missing is null.
fn same_but(a: &Value, b: &Value, same: impl Fn(&str, &Value, &Value) -> bool) -> bool {
    let empty = Map::new();
    let (a, b) = (a.as_object().unwrap_or(&empty), b.as_object().unwrap_or(&empty));
    let beyond = b.iter().filter(|(name, _)| !a.contains_key(*name));
    a.iter().all(|(name, value)| same(name, value, b.get(name).unwrap_or(&Value::Null)))
        && beyond.into_iter().all(|(name, value)| same(name, &Value::Null, value))
}

/// The hash of a Deployment's template: the same for ever, unless it turned out to be another's too.
pub fn hash(deployment: &Deployment) -> String {
    let mut hasher = Fnv(0x811c_9dc5);
    hasher.value(&deployment.spec.template);
    if let Some(collisions) = deployment.status.collision_count {
        hasher.bytes(&collisions.to_le_bytes());
    }
    let digits = hasher.0.to_string();
    digits.bytes().map(|digit| char::from(ALPHABET[usize::from(digit) % ALPHABET.len()])).collect()
}

/// FNV-1a, of a value whose maps have no order.
struct Fnv(u32);

impl Fnv {
    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Object(fields) => {
                let fields: BTreeMap<_, _> = fields.iter().collect();
                self.bytes(b"{");
                for (name, value) in fields {
                    self.bytes(name.as_bytes());
                    self.bytes(b":");
                    self.value(value);
                    self.bytes(b",");
                }
                self.bytes(b"}");
            }
            Value::Array(items) => {
                self.bytes(b"[");
                for item in items {
                    self.value(item);
                    self.bytes(b",");
                }
                self.bytes(b"]");
            }
            leaf => self.bytes(leaf.to_string().as_bytes()),
        }
    }
}

/// The name of the ReplicaSet of a template.
pub fn name(deployment: &Deployment, hash: &str) -> String {
    let name = deployment.name();
    let room = LONGEST_NAME - 1 - hash.len();
    format!("{}-{hash}", name.get(..room).unwrap_or(name))
}

/// The ReplicaSet of a Deployment's template, to be made.
pub fn replica_set(
    deployment: &Deployment,
    hash: &str,
    replicas: i32,
    annotations: &BTreeMap<String, String>,
) -> Value {
    let spec = &deployment.spec;
    let (mut template, mut selector) = (spec.template.clone(), spec.selector.clone());
    template["metadata"]["labels"][HASH] = hash.into();
    selector["matchLabels"][HASH] = hash.into();
    json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": name(deployment, hash),
            "labels": template["metadata"]["labels"],
            "annotations": annotations,
            "ownerReferences": claim::reference(deployment).into_iter().collect::<Vec<_>>(),
        },
        "spec": {
            "replicas": replicas,
            "minReadySeconds": spec.min_ready_seconds,
            "selector": selector,
            "template": template,
        },
    })
}

/// The annotations by which a set remembers what it was sized for.
pub fn sized_for(wanted: i32, most: i32) -> [(String, String); 2] {
    [(revision::DESIRED.to_owned(), wanted.to_string()), (revision::MOST.to_owned(), most.to_string())]
}

#[cfg(test)]
mod tests {
    use super::{super::plan::tests::deployment, *};

    fn template(labels: Value, image: &str) -> Value {
        json!({ "metadata": { "labels": labels }, "spec": { "image": image } })
    }

    #[test]
    fn templates_are_the_same_whatever_their_hash() {
        let plain = template(json!({ "a": "b" }), "x");
        let hashed = template(json!({ "a": "b", HASH: "c" }), "x");
        assert!(is_same(&plain, &hashed) && is_same(&hashed, &plain) && is_same(&hashed, &hashed));
        let labelled = template(json!({ "a": "b", "c": "d" }), "x");
        let newer = template(json!({ "a": "b" }), "y");
        for other in [labelled, newer, json!({ "spec": { "image": "x" } })] {
            assert!(!is_same(&hashed, &other) && !is_same(&other, &hashed), "{other}");
        }
    }

    #[test]
    fn hashes_are_stable_and_heed_collisions() {
        let mut one = deployment(1);
        one.spec.template = template(json!({ "a": "b" }), "x");
        let first = hash(&one);
        assert_eq!(first, "69d96bbf6d", "it names objects that are there already");
        one.status.collision_count = Some(1);
        assert_ne!(hash(&one), first);
    }
}
