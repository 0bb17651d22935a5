//! What a real API server makes of objects, recorded for the embedded one to be compared with.
//!
//! `crates/embedded/src/api/builtin/testdata/` has a file for each kind. By hand: minimal objects, and in
//! `refused/` changes that make the first of them wrong. Recorded beside them by creating them without effect:
//! the object with its defaults, its row of a table, the causes of the refusal. The embedded server's own tests
//! compare. The table of built-in kinds is compared here, with the real server's discovery.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anneal_embedded::api::builtin::{BUILTINS, Builtin};
use anneal_harness::{ControlPlane, Http, Identity};
use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};

const FOLDER: &str = "crates/embedded/src/api/builtin/testdata";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// Stands for what is different each time.
const UID: &str = "00000000-0000-0000-0000-000000000000";

/// Metadata that are different each time, or not of the object's kind.
const VOLATILE: [&str; 4] = ["uid", "creationTimestamp", "resourceVersion", "managedFields"];

/// Columns that differ each time: times, and the address that a Service is given.
const PICKED: [&str; 3] = ["Age", "Cluster-IP", "Created At"];

/// Verbs of every kind that is kept.
const VERBS: [&str; 7] = ["create", "delete", "get", "list", "patch", "update", "watch"];

/// Kinds that cannot be deleted all at once; all others can.
const NOT_AT_ONCE: [&str; 1] = ["namespaces"];

/// What the real server has and the embedded one does not, and why.
const ABSENT: &[(&str, &str)] = &[
    ("nodes/proxy", "there is no kubelet to speak to"),
    ("pods/attach", "an in-process client cannot upgrade a connection"),
    ("pods/exec", "an in-process client cannot upgrade a connection"),
    ("pods/portforward", "an in-process client cannot upgrade a connection"),
    ("pods/proxy", "pods are reached at their own loopback addresses"),
    ("pods/resize", "the local node does not bound resources"),
    ("services/proxy", "Services are reached at their own loopback addresses"),
];

pub(crate) fn record(check: bool) -> Result<()> {
    let control_plane = ControlPlane::start()?;
    let count = tokio::runtime::Runtime::new()?.block_on(async {
        let server = control_plane.server().await?;
        let http = server.http(&Identity::Admin)?;
        compare_discovery(&http).await?;
        let folder = crate::root().join(FOLDER);
        Ok::<_, anyhow::Error>(
            record_objects(&http, &folder, check).await? + record_refusals(&http, &folder, check).await?,
        )
    })?;
    control_plane.stop()?;
    println!("defaults: {count} objects{}", if check { ", current" } else { "" });
    Ok(())
}

/// Records what becomes of the minimal objects.
async fn record_objects(http: &Http, folder: &Path, check: bool) -> Result<usize> {
    let tables = http.with_header("accept", TABLE);
    let mut count = 0;
    for file in files(folder)? {
        let mut records = read(&file)?;
        for (index, record) in records.iter_mut().enumerate() {
            let at = || format!("{} [{index}]", file.display());
            let (path, minimal) = (create_path(&record["minimal"])?, record["minimal"].clone());
            let created = http.post(&path, &minimal).await?.is(201).with_context(at)?;
            let table = tables.post(&path, &minimal).await?.is(201).with_context(at)?;
            *record = json!({ "minimal": minimal, "defaulted": steady(created), "table": row(&table) });
            count += 1;
        }
        write(&file, &records, check)?;
    }
    Ok(count)
}

/// Records why objects are refused.
async fn record_refusals(http: &Http, folder: &Path, check: bool) -> Result<usize> {
    let mut count = 0;
    for file in files(&folder.join("refused"))? {
        let base = folder.join(file.file_name().unwrap_or_default());
        let minimal = read(&base)?.first().context("no minimal object")?["minimal"].clone();
        let mut records = read(&file)?;
        for (index, record) in records.iter_mut().enumerate() {
            let mut object = minimal.clone();
            merge(&mut object, &record["change"]);
            let reply = http.post(&create_path(&minimal)?, &object).await?;
            let status =
                reply.refused(422, "Invalid").with_context(|| format!("{} [{index}]", file.display()))?;
            *record = json!({ "change": record["change"], "causes": causes(&status) });
            count += 1;
        }
        write(&file, &records, check)?;
    }
    Ok(count)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("{}", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    Ok(files)
}

fn read(file: &Path) -> Result<Vec<Value>> {
    let content = fs::read(file).with_context(|| format!("{}", file.display()))?;
    serde_json::from_slice(&content).with_context(|| format!("{}", file.display()))
}

fn write(file: &Path, records: &[Value], check: bool) -> Result<()> {
    let mut content = serde_json::to_vec_pretty(records)?;
    content.push(b'\n');
    crate::file::put(file, &content, check)
}

/// Where objects of a kind are created without effect.
fn create_path(object: &Value) -> Result<String> {
    let (version, kind) = (object["apiVersion"].as_str().unwrap_or_default(), &object["kind"]);
    let (group, root) = version.split_once('/').map_or(("", "api"), |(group, _)| (group, "apis"));
    let builtin = BUILTINS.iter().find(|builtin| builtin.group == group && *kind == builtin.kind);
    let builtin = builtin.with_context(|| format!("{version} {kind} is not built in"))?;
    let namespace = if builtin.namespaced { "/namespaces/default" } else { "" };
    Ok(format!("/{root}/{version}{namespace}/{}?dryRun=All", builtin.plural))
}

/// An object without what is different each time.
fn steady(mut object: Value) -> Value {
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    replace(&mut object, &uid, UID);
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|field, _| !VOLATILE.contains(&field.as_str()));
    }
    let address = object["spec"]["clusterIP"].as_str().unwrap_or_default();
    if object["kind"] == "Service"
        && address != "None"
        && let Some(spec) = object["spec"].as_object_mut()
    {
        spec.remove("clusterIP");
        spec.remove("clusterIPs");
    }
    object
}

/// Replaces a text wherever it stands alone.
fn replace(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) if text == from => to.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, from, to)),
        Value::Object(fields) => fields.values_mut().for_each(|field| replace(field, from, to)),
        _ => {}
    }
}

/// A table's columns with the cells of its only row, but for those that differ each time.
fn row(table: &Value) -> Value {
    let columns = table["columnDefinitions"].as_array().into_iter().flatten();
    let cells = table["rows"][0]["cells"].as_array().into_iter().flatten();
    let cell = |(column, cell): (&Value, &Value)| {
        let mut told = Map::new();
        for field in ["name", "type", "format", "priority"] {
            told.insert(field.to_owned(), column[field].clone());
        }
        if !PICKED.iter().any(|picked| column["name"] == *picked) {
            told.insert("cell".to_owned(), without_uids_of(cell));
        }
        Value::Object(told)
    };
    columns.zip(cells).map(cell).collect()
}

fn without_uids_of(cell: &Value) -> Value {
    cell.as_str().map_or_else(|| cell.clone(), |text| without_uids(text).into())
}

/// Causes as lines: `spec.replicas: Invalid value: -1: … (FieldValueInvalid)`.
fn causes(status: &Value) -> Vec<String> {
    let causes = status["details"]["causes"].as_array().into_iter().flatten();
    causes
        .map(|cause| {
            let text = |field: &str| cause[field].as_str().unwrap_or_default();
            let line = format!("{}: {} ({})", text("field"), text("message"), text("reason"));
            without_uids(&line)
        })
        .collect()
}

/// A text with every uid replaced by one.
fn without_uids(text: &str) -> String {
    let mut steady = String::new();
    let mut rest = text;
    while let Some(length) = rest.chars().next().map(char::len_utf8) {
        let uid = rest.get(..UID.len()).is_some_and(|start| {
            let fits = |(found, expected): (u8, u8)| match expected {
                b'-' => found == b'-',
                _ => found.is_ascii_hexdigit(),
            };
            start.bytes().zip(UID.bytes()).all(fits)
        });
        let (text, length) = if uid { (UID, UID.len()) } else { (&rest[..length], length) };
        steady.push_str(text);
        rest = &rest[length..];
    }
    steady
}

/// A JSON merge patch (RFC 7386).
fn merge(object: &mut Value, change: &Value) {
    let Value::Object(changes) = change else {
        *object = change.clone();
        return;
    };
    if !object.is_object() {
        *object = json!({});
    }
    let Some(fields) = object.as_object_mut() else { return };
    for (field, change) in changes {
        if change.is_null() {
            fields.remove(field);
        } else {
            merge(fields.entry(field).or_insert(Value::Null), change);
        }
    }
}

/// Compares the table of built-in kinds with what the real server says of them.
async fn compare_discovery(http: &Http) -> Result<()> {
    let mut differences = Vec::new();
    for builtin in BUILTINS {
        for version in builtin.versions {
            let root = if builtin.group.is_empty() {
                format!("/api/{version}")
            } else {
                format!("/apis/{}/{version}", builtin.group)
            };
            let list = http.get(&root).await?.ok()?;
            let resources = list["resources"].as_array().cloned().unwrap_or_default();
            let found = compare_kind(builtin, &resources);
            differences.extend(found.into_iter().map(|difference| format!("{root} {difference}")));
        }
    }
    ensure!(
        differences.is_empty(),
        "the built-in kinds differ from the real server's:\n  {}",
        differences.join("\n  ")
    );
    Ok(())
}

fn compare_kind(builtin: &Builtin, resources: &[Value]) -> Vec<String> {
    let plural = builtin.plural;
    let Some(real) = resources.iter().find(|resource| resource["name"] == plural) else {
        return vec![format!("{plural}: not there")];
    };
    let mut differences = Vec::new();
    let mut compare = |what: &str, ours: BTreeSet<String>, real: BTreeSet<String>| {
        if ours != real {
            differences.push(format!("{plural}: {what}: ours {ours:?}, real {real:?}"));
        }
    };
    let texts = |field: &str| -> BTreeSet<String> {
        let texts = real[field].as_array().into_iter().flatten().filter_map(Value::as_str);
        texts.map(str::to_owned).collect()
    };
    let set = |texts: &[&str]| -> BTreeSet<String> { texts.iter().map(|&text| text.to_owned()).collect() };
    compare("short names", set(builtin.short_names), texts("shortNames"));
    compare("categories", set(builtin.categories), texts("categories"));
    let mut verbs = set(&VERBS);
    if !NOT_AT_ONCE.contains(&plural) {
        verbs.insert("deletecollection".to_owned());
    }
    compare("verbs", verbs, texts("verbs"));
    let facts = |kind: &Value, namespaced: &Value| set(&[&kind.to_string(), &namespaced.to_string()]);
    compare(
        "kind and scope",
        facts(&json!(builtin.kind), &json!(builtin.namespaced)),
        facts(&real["kind"], &real["namespaced"]),
    );
    let mut ours = set(builtin.subresources);
    if builtin.behaviour.has_status() {
        ours.insert("status".to_owned());
    }
    let names = resources.iter().filter_map(|resource| resource["name"].as_str());
    let below = names.filter(|name| !ABSENT.iter().any(|(absent, _)| absent == name));
    let below = below.filter_map(|name| name.strip_prefix(plural)?.strip_prefix('/'));
    compare("subresources", ours, below.map(str::to_owned).collect());
    differences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_each_time_is_left_out() {
        let uid = "0ba0c2a4-6b8f-4a3b-9d2e-00aa11bb22cc";
        let object = json!({
            "kind": "Service",
            "metadata": { "name": "a", "uid": uid, "resourceVersion": "7", "labels": { "owner": uid } },
            "spec": { "clusterIP": "192.0.2.1", "type": "ClusterIP" }
        });
        let expected = json!({
            "kind": "Service", "metadata": { "name": "a", "labels": { "owner": UID } }, "spec": { "type": "ClusterIP" }
        });
        assert_eq!(steady(object), expected);
        assert_eq!(without_uids(&format!("must be '{uid}', ä")), format!("must be '{UID}', ä"));
    }

    #[test]
    fn a_change_with_null_removes() {
        let mut object = json!({ "a": { "b": 1, "c": 2 } });
        merge(&mut object, &json!({ "a": { "b": null, "d": { "e": 3 } }, "f": [1] }));
        assert_eq!(object, json!({ "a": { "c": 2, "d": { "e": 3 } }, "f": [1] }));
    }
}
