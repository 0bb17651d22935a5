//! Where fuzzing begins: what the repository has anyway. Manifests, definitions, records of a real server, and
//! the texts in the tests of the parsers.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

const API: &str = "crates/embedded/src/api";

/// Writes the seeds of a target into its corpus.
pub(super) fn write(target: &str, corpus: &Path) -> Result<()> {
    let seeds = of(target)?;
    if seeds.is_empty() {
        bail!("the target {target} has no seeds");
    }
    for (number, seed) in seeds.iter().enumerate() {
        let path = corpus.join(format!("seed-{number}"));
        fs::write(&path, seed).with_context(|| format!("{}", path.display()))?;
    }
    Ok(())
}

fn of(target: &str) -> Result<Vec<Vec<u8>>> {
    Ok(match target {
        "apply" => pairs(|one, two| format!("{one}\n{two}\n{one}"))?,
        "body" => [texts(objects()?.iter().map(Value::to_string)), manifests()?].concat(),
        "cel" => texts(rules()?.iter().map(|rule| format!("{rule}\n{SPEC}\n{SPEC}"))),
        "definition" => definitions()?,
        "fields" => pairs(|one, two| format!("{}\n{}", fields_of(one), fields_of(two)))?,
        "json_path" => texts(literals("json_path.rs")?.iter().map(|path| format!("{path}\n{SPEC}"))),
        "kind" => texts(objects()?.iter().map(Value::to_string)),
        "options" => texts(requests()?.into_iter()),
        "patch" => {
            let merges = pairs(|one, two| format!("{one}\n{two}"))?;
            [merges, texts(OPERATIONS.iter().map(|patch| format!("{SPEC}\n{patch}")))].concat()
        }
        "protobuf" => messages()?,
        "selector" => {
            let labels = literals("selector/label.rs")?.into_iter().map(|text| format!("{text}\n"));
            texts(labels.chain(literals("selector/field.rs")?.into_iter().map(|text| format!("\n{text}"))))
        }
        "strategic" => pairs(|one, two| format!("{one}\n{two}"))?,
        "text" => {
            let files = ["structural/formats.rs", "quantity.rs", "structural/uri.rs", "valid.rs"];
            let mut all = literals("../schema/pattern.rs")?;
            for file in files {
                all.extend(literals(file)?);
            }
            texts(all.into_iter().map(|text| format!("{text}\nabc 123")))
        }
        other => bail!("nobody knows where to begin with the target {other}"),
    })
}

const SPEC: &str = r#"{"size":3,"float":1.5,"name":"web","names":["a","b"],"few":["x"],"numbers":[1,2],"map":{"a":1},"ports":[{"name":"http","port":80}],"port":"80%","time":"2026-01-01T00:00:00Z","free":{"k":"v"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}"#;

const OPERATIONS: [&str; 6] = [
    r#"[{"op":"add","path":"/names/-","value":{"a":[1]}},{"op":"remove","path":"/size"}]"#,
    r#"[{"op":"copy","from":"/ports","path":"/map/b"},{"op":"move","from":"/names/0","path":"/names/-1"}]"#,
    r#"[{"op":"test","path":"/name","value":"web"},{"op":"replace","path":"/map/a~1b","value":null}]"#,
    r#"[{"op":"replace","path":"","value":{"a":1}}]"#,
    r#"{"name":null,"map":{"a":null,"b":2},"names":["c"]}"#,
    r#"[{"op":"add","path":"/ports/0","value":1},{"op":"copy","from":"","path":"/deep"}]"#,
];

fn texts(texts: impl Iterator<Item = String>) -> Vec<Vec<u8>> {
    texts.map(String::into_bytes).collect()
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("{}", path.display()))
}

/// The files of a folder and of those in it whose names end so, in order.
fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("{}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path, extension)?);
        } else if path.extension().is_some_and(|own| own == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The manifests as they are written.
fn manifests() -> Result<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    for folder in ["examples", "tests/conformance/manifests"] {
        for file in files(&crate::root().join(folder), "yaml")? {
            all.extend(read(&file)?.split("\n---").map(|document| document.as_bytes().to_vec()));
        }
    }
    Ok(all)
}

/// Objects of every kind: those that were recorded on a real server, and the examples.
fn objects() -> Result<Vec<Value>> {
    let mut objects = Vec::new();
    for folder in ["builtin/testdata", "wire/protobuf/golden"] {
        for file in files(&crate::root().join(API).join(folder), "json")? {
            let record =
                serde_json::from_str(&read(&file)?).with_context(|| format!("{}", file.display()))?;
            collect(&record, &mut objects);
        }
    }
    for manifest in manifests()? {
        objects.extend(serde_saphyr::from_slice::<Value>(&manifest).ok().filter(Value::is_object));
    }
    Ok(objects)
}

/// Finds what has a type.
fn collect(value: &Value, objects: &mut Vec<Value>) {
    match value {
        Value::Object(fields) if fields.contains_key("apiVersion") && fields.contains_key("kind") => {
            objects.push(value.clone());
        }
        Value::Object(fields) => fields.values().for_each(|field| collect(field, objects)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, objects)),
        _ => {}
    }
}

/// Each object with one of the same kind.
fn pairs(seed: impl Fn(&Value, &Value) -> String) -> Result<Vec<Vec<u8>>> {
    let objects = objects()?;
    let same = objects.iter().zip(objects.iter().skip(1)).filter(|(one, two)| one["kind"] == two["kind"]);
    Ok(same.map(|(one, two)| seed(one, two).into_bytes()).collect())
}

/// A set of all fields of an object.
fn fields_of(value: &Value) -> Value {
    let fields = match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (format!("f:{name}"), fields_of(value))).collect()
        }
        Value::Array(items) => items.iter().map(|item| (element(item), fields_of(item))).collect(),
        _ => Map::new(),
    };
    Value::Object(fields)
}

fn element(item: &Value) -> String {
    match item.get("name") {
        Some(name) => format!("k:{}", json!({ "name": name })),
        None => format!("v:{item}"),
    }
}

/// Definitions of ours and others, each with an object.
fn definitions() -> Result<Vec<Vec<u8>>> {
    let objects = objects()?;
    let ours =
        anneal_types::crd::all().into_iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>()?;
    let others = objects.iter().filter(|object| object["kind"] == "CustomResourceDefinition");
    let seed = |crd: &Value| {
        let object = objects.iter().find(|object| object["kind"] == crd["spec"]["names"]["kind"]);
        let fallback = json!({ "metadata": { "name": "a" }, "spec": {} });
        format!("{crd}\n{}", object.unwrap_or(&fallback)).into_bytes()
    };
    Ok(ours.iter().chain(others).map(seed).collect())
}

/// The rules of our definitions, and what the tests of the language say.
fn rules() -> Result<Vec<String>> {
    let mut rules = literals("structural/cel/tests.rs")?;
    for crd in anneal_types::crd::all() {
        rules_in(&serde_json::to_value(crd)?, &mut rules);
    }
    Ok(rules)
}

fn rules_in(value: &Value, rules: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            rules.extend(fields.get("rule").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|field| rules_in(field, rules));
        }
        Value::Array(items) => items.iter().for_each(|item| rules_in(item, rules)),
        _ => {}
    }
}

/// Paths, queries and headers, where each has its line.
fn requests() -> Result<Vec<String>> {
    let line = |texts: Vec<String>, seed: fn(&str) -> String| {
        texts.iter().map(|text| seed(text)).collect::<Vec<_>>()
    };
    Ok([
        line(literals("path.rs")?, |path| format!("{path}\n\n\n\n")),
        line(literals("options/tests.rs")?, |query| format!("/\n{query}\n\n\n{{}}")),
        line(literals("wire/tests.rs")?, |header| {
            format!("/\n\n{header}\n{header}\n{{\"dryRun\":[\"All\"]}}")
        }),
    ]
    .concat())
}

/// Messages without the four bytes that every body begins with.
fn messages() -> Result<Vec<Vec<u8>>> {
    let goldens = files(&crate::root().join(API).join("wire/protobuf/golden"), "pb")?;
    let message = |file: &PathBuf| {
        let bytes = fs::read(file).with_context(|| format!("{}", file.display()))?;
        Ok(bytes.get(4..).unwrap_or_default().to_vec())
    };
    goldens.iter().map(message).collect()
}

/// The texts in a source file. Escapes are left as they are, except for quotes.
fn literals(file: &str) -> Result<Vec<String>> {
    let source = read(&crate::root().join(API).join(file))?;
    let mut found = Vec::new();
    for line in source.lines().filter(|line| !line.trim_start().starts_with("//")) {
        let mut rest = line;
        while let Some((_, after)) = rest.split_once('"') {
            let end = after.match_indices('"').map(|(at, _)| at).find(|at| !after[..*at].ends_with('\\'));
            let Some(end) = end else { break };
            found.push(after[..end].replace("\\\"", "\""));
            rest = &after[end + 1..];
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn every_target_has_somewhere_to_begin() {
        for target in crate::fuzz::targets().unwrap() {
            assert!(of(&target).unwrap().len() > 5, "{target}");
        }
    }
}
