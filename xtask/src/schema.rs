//! The bundled schema: what a real API server publishes about Kubernetes' own kinds, trimmed.
//!
//! Taken: the kinds that the embedded cluster serves and whatever they refer to. Dropped:
//! descriptions, and the zero defaults that the published schema puts on required fields, which no
//! server ever applies.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
};

use anneal_harness::{ControlPlane, Http, Identity};
use anyhow::{Context, Result, bail, ensure};
use flate2::{Compression, GzBuilder};
use serde_json::{Map, Value, json};

const FILE: &str = "crates/embedded/schema/kubernetes.json.gz";

/// The kinds, by group and version; the core group has none.
pub(crate) const KINDS: &[(&str, &str, &[&str])] = &[
    (
        "",
        "v1",
        &[
            "Binding",
            "ConfigMap",
            "Endpoints",
            "Event",
            "Namespace",
            "Node",
            "PersistentVolumeClaim",
            "Pod",
            "Secret",
            "Service",
            "ServiceAccount",
        ],
    ),
    ("apiextensions.k8s.io", "v1", &["CustomResourceDefinition"]),
    ("apps", "v1", &["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"]),
    ("authentication.k8s.io", "v1", &["SelfSubjectReview", "TokenRequest", "TokenReview"]),
    (
        "authorization.k8s.io",
        "v1",
        &[
            "LocalSubjectAccessReview",
            "SelfSubjectAccessReview",
            "SelfSubjectRulesReview",
            "SubjectAccessReview",
        ],
    ),
    ("autoscaling", "v1", &["HorizontalPodAutoscaler", "Scale"]),
    ("autoscaling", "v2", &["HorizontalPodAutoscaler"]),
    ("batch", "v1", &["CronJob", "Job"]),
    ("coordination.k8s.io", "v1", &["Lease"]),
    ("discovery.k8s.io", "v1", &["EndpointSlice"]),
    ("events.k8s.io", "v1", &["Event"]),
    ("networking.k8s.io", "v1", &["Ingress", "IngressClass", "NetworkPolicy"]),
    ("policy", "v1", &["Eviction", "PodDisruptionBudget"]),
    ("rbac.authorization.k8s.io", "v1", &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]),
];

pub(crate) fn bundle(check: bool) -> Result<()> {
    let control_plane = ControlPlane::start()?;
    let bundle = tokio::runtime::Runtime::new()?.block_on(async {
        let server = control_plane.server().await?;
        collect(&server.version.git, &server.http(&Identity::Admin)?).await
    })?;
    control_plane.stop()?;
    let json = serde_json::to_vec(&bundle)?;
    // No name and no time in the header: the same schema makes the same file.
    let mut compressed = GzBuilder::new().write(Vec::new(), Compression::best());
    compressed.write_all(&json)?;
    let compressed = compressed.finish()?;
    crate::file::put(&crate::root().join(FILE), &compressed, check)?;
    println!(
        "schema: {} kinds of Kubernetes {}, {} kB, {} kB compressed{}",
        bundle["kinds"].as_object().map_or(0, Map::len),
        bundle["version"].as_str().unwrap_or_default(),
        json.len() / 1000,
        compressed.len() / 1000,
        if check { ", current" } else { "" }
    );
    Ok(())
}

/// Asks a server for its schemas and puts the bundle together.
async fn collect(version: &str, http: &Http) -> Result<Value> {
    let index = http.get("/openapi/v3").await?.ok()?;
    let mut documents = Vec::new();
    for (group, version, _) in KINDS {
        let path =
            if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") };
        let url = index["paths"][&path]["serverRelativeURL"].as_str();
        let url = url.with_context(|| format!("the server publishes no schema of {path}"))?;
        let mut document = http.get(url).await?.ok()?;
        let Value::Object(schemas) = document["components"]["schemas"].take() else {
            bail!("{path} has no schemas");
        };
        documents.push(schemas);
    }
    let mut kinds = BTreeMap::new();
    let mut definitions = BTreeMap::new();
    for (group, version, names) in KINDS {
        for name in *names {
            // What is served only below other kinds stands in their group's document: all are searched.
            let wanted = json!({ "group": group, "version": version, "kind": name });
            let of_kind = |schema: &Value| {
                let kinds = schema["x-kubernetes-group-version-kind"].as_array();
                kinds.is_some_and(|kinds| kinds.contains(&wanted))
            };
            let (schemas, definition) = documents
                .iter()
                .find_map(|schemas| {
                    schemas
                        .iter()
                        .find(|(_, schema)| of_kind(schema))
                        .map(|(definition, _)| (schemas, definition))
                })
                .with_context(|| format!("the server publishes no schema of {wanted}"))?;
            let api_version =
                if group.is_empty() { (*version).to_owned() } else { format!("{group}/{version}") };
            kinds.insert(format!("{api_version}/{name}"), definition.clone());
            take(definition, schemas, &mut definitions)?;
        }
    }
    Ok(json!({ "version": version, "kinds": kinds, "definitions": definitions }))
}

/// Takes a definition and all that it refers to.
fn take(name: &str, from: &Map<String, Value>, into: &mut BTreeMap<String, Value>) -> Result<()> {
    let mut schema = from.get(name).with_context(|| format!("the server does not define {name}"))?.clone();
    trim(&mut schema);
    if let Some(known) = into.get(name) {
        ensure!(*known == schema, "two groups define {name} differently");
        return Ok(());
    }
    let mut references = BTreeSet::new();
    find_references(&schema, &mut references);
    into.insert(name.to_owned(), schema);
    references.iter().try_for_each(|reference| take(reference, from, into))
}

fn find_references(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                found.insert(reference.rsplit('/').next().unwrap_or_default().to_owned());
            }
            fields.values().for_each(|value| find_references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| find_references(item, found)),
        _ => {}
    }
}

/// Drops what the server has no use for.
fn trim(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    fields.remove("description");
    if fields.get("default").is_some_and(is_zero) {
        fields.remove("default");
    }
    // Kinds are looked up in the bundle's own table.
    fields.remove("x-kubernetes-group-version-kind");
    if fields.len() == 1
        && let Some(Value::Array(all_of)) = fields.get("allOf")
        && let [only] = all_of.as_slice()
    {
        *schema = only.clone();
        return trim(schema);
    }
    for (keyword, value) in fields.iter_mut() {
        match (keyword.as_str(), value) {
            // The keys of this object are names of fields, not keywords.
            ("properties", Value::Object(properties)) => properties.values_mut().for_each(trim),
            ("allOf" | "anyOf" | "oneOf", Value::Array(branches)) => branches.iter_mut().for_each(trim),
            ("items" | "additionalProperties" | "not", value) => trim(value),
            _ => {}
        }
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(value) => value.as_f64() == Some(0.0),
        Value::String(value) => value.is_empty(),
        Value::Array(value) => value.is_empty(),
        Value::Object(value) => value.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trims_words_but_keeps_a_field_called_description() {
        let mut schema = json!({
            "description": "words",
            "type": "object",
            "required": ["name"],
            "properties": {
                "description": { "type": "string", "description": "words" },
                "name": { "type": "string", "default": "" },
                "protocol": { "type": "string", "default": "TCP" },
                "meta": { "allOf": [{ "$ref": "#/components/schemas/Meta" }], "default": {} }
            }
        });
        trim(&mut schema);
        let trimmed = json!({
            "type": "object",
            "required": ["name"],
            "properties": {
                "description": { "type": "string" },
                "name": { "type": "string" },
                "protocol": { "type": "string", "default": "TCP" },
                "meta": { "$ref": "#/components/schemas/Meta" }
            }
        });
        assert_eq!(schema, trimmed);
    }

    #[test]
    fn takes_what_a_kind_refers_to_and_no_more() {
        let from = json!({
            "A": { "properties": { "b": { "items": { "$ref": "#/components/schemas/B" } } } },
            "B": { "properties": { "a": { "$ref": "#/components/schemas/A" } } },
            "C": {}
        });
        let mut into = BTreeMap::new();
        take("A", from.as_object().unwrap(), &mut into).unwrap();
        assert_eq!(into.keys().collect::<Vec<_>>(), ["A", "B"]);
    }
}
