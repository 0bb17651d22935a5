//! Our defaults and refusals beside those of a real API server, recorded in `testdata/` by `cargo xtask defaults`.

use std::{fs, path::PathBuf};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{BUILTINS, Builtin, service::settle_families};
use crate::api::{behaviour::Column, fault::Faults, object, valid};

/// What stands for an object's uid in the records.
const UID: &str = "00000000-0000-0000-0000-000000000000";

/// What a real server has that is not among a kind's rules, as kind, place and field.
const BESIDE: &[(&str, &str, &str)] = &[
    // Admission adds these.
    ("Node", "/spec", "taints"),
    ("PersistentVolumeClaim", "/metadata", "finalizers"),
    ("Pod", "/spec", "preemptionPolicy"),
    ("Pod", "/spec", "priority"),
    ("Pod", "/spec", "serviceAccount"),
    ("Pod", "/spec", "serviceAccountName"),
    ("Pod", "/spec", "tolerations"),
    // Times that are not set: null there, absent here.
    ("Event", "", "eventTime"),
    ("Event", "", "firstTimestamp"),
    ("Event", "", "lastTimestamp"),
];

/// An object without what stands beside a kind's rules.
fn by_the_rules(mut object: Value) -> Value {
    for (_, place, field) in BESIDE.iter().filter(|(kind, ..)| object["kind"] == *kind).collect::<Vec<_>>() {
        if let Some(part) = object.pointer_mut(place).and_then(Value::as_object_mut) {
            part.remove(*field);
        }
    }
    object
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/api/builtin/testdata")
}

/// The records of a folder, with the names of their files.
fn records(folder: &PathBuf) -> Vec<(String, Vec<Value>)> {
    let files = fs::read_dir(folder).expect("the records must be there");
    let files =
        files.map(|entry| entry.expect("the folder must be readable").path()).filter(|path| path.is_file());
    files
        .map(|path| {
            let records = serde_json::from_slice(&fs::read(&path).expect("a record must be readable"));
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            (name, records.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
        })
        .collect()
}

fn builtin_of(object: &Value) -> &'static Builtin {
    let (version, kind) = (object::text(object, "/apiVersion"), object::text(object, "/kind"));
    let (group, _) = version.split_once('/').unwrap_or(("", version));
    let builtin = BUILTINS.iter().find(|builtin| builtin.kind == kind && builtin.group == group);
    builtin.unwrap_or_else(|| panic!("{version} {kind} must be served"))
}

/// What our server makes of an object, and what it finds wrong with it.
fn created(builtin: &Builtin, minimal: &Value) -> (Value, Faults) {
    let (mut object, mut faults) = (minimal.clone(), Faults::default());
    if builtin.namespaced {
        object["metadata"]["namespace"] = "default".into();
    }
    object["metadata"]["uid"] = UID.into();
    if builtin.behaviour.has_generation() {
        object["metadata"]["generation"] = 1.into();
    }
    builtin.behaviour.default(&mut object);
    builtin.behaviour.prepare_create(&mut object);
    builtin.behaviour.complete_create(&mut object, minimal);
    if builtin.kind == "Service" {
        settle_families(&mut object, None, &mut faults);
    }
    valid::metadata(&object, builtin.behaviour.names(), builtin.namespaced, &mut faults);
    builtin.behaviour.validate(&object, &mut faults);
    builtin.behaviour.validate_create(&object, &mut faults);
    (object, faults)
}

#[test]
fn defaults_are_those_of_a_real_server() {
    let mut wrong = Vec::new();
    for (name, records) in records(&folder()) {
        for (index, record) in records.iter().enumerate() {
            let builtin = builtin_of(&record["minimal"]);
            let (mut ours, faults) = created(builtin, &record["minimal"]);
            assert!(faults.is_empty(), "{name} [{index}]: {faults}");
            let once = ours.clone();
            builtin.behaviour.default(&mut ours);
            assert_eq!(ours, once, "{name} [{index}]: defaults must leave alone what has been through them");
            ours["metadata"].as_object_mut().expect("metadata must be an object").remove("uid");
            let (ours, real) = (by_the_rules(ours), by_the_rules(record["defaulted"].clone()));
            if ours != real {
                wrong.push(format!("{name} [{index}]\n ours {ours}\n real {real}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Columns and cells of a new object, as the records have them.
fn table(builtin: &Builtin, object: &Value) -> Value {
    let cells = builtin.behaviour.cells(object, Timestamp::UNIX_EPOCH);
    let columns = builtin.behaviour.columns().iter();
    assert_eq!(columns.len(), cells.len(), "{}", builtin.kind);
    let told = columns.zip(cells).map(|(column, cell)| {
        let Column { name, kind, format, priority, .. } = column;
        let mut told = json!({ "name": name, "type": kind, "format": format, "priority": priority });
        // Times and given addresses differ each time.
        if !["Age", "Cluster-IP", "Created At"].contains(name) {
            told["cell"] = cell;
        }
        told
    });
    told.collect()
}

#[test]
fn tables_are_those_of_a_real_server() {
    let mut wrong = Vec::new();
    for (name, records) in records(&folder()) {
        for (index, record) in records.iter().enumerate() {
            let ours = table(builtin_of(&record["minimal"]), &record["defaulted"]);
            if ours != record["table"] {
                wrong.push(format!("{name} [{index}]\n ours {ours}\n real {}", record["table"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A cause without the object it shows: the real server shows objects by the names of its own code.
fn without_objects(cause: &str) -> String {
    match (cause.find("value: {"), cause.rfind('}')) {
        (Some(start), Some(end)) if start < end => {
            format!("{}value: {{}}{}", &cause[..start], &cause[end + 1..])
        }
        _ => cause.to_owned(),
    }
}

#[test]
fn refusals_are_those_of_a_real_server() {
    let mut wrong = Vec::new();
    for (name, refusals) in records(&folder().join("refused")) {
        let minimal = records(&folder()).into_iter().find(|(other, _)| *other == name);
        let minimal =
            minimal.expect("a refused object must be based on one that is not").1[0]["minimal"].clone();
        for refusal in &refusals {
            let mut object = minimal.clone();
            json_patch::merge(&mut object, &refusal["change"]);
            let (_, faults) = created(builtin_of(&minimal), &object);
            let mut ours: Vec<_> = faults.iter().map(|fault| format!("{fault} ({})", fault.reason)).collect();
            let real = refusal["causes"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let mut real: Vec<_> = real.map(str::to_owned).collect();
            for causes in [&mut ours, &mut real] {
                causes.iter_mut().for_each(|cause| *cause = without_objects(cause));
                causes.sort();
                // The real server tells some faults twice.
                causes.dedup();
            }
            if ours != real {
                let lists = (ours.join("\n  "), real.join("\n  "));
                wrong.push(format!(
                    "{name} {}\n ours\n  {}\n real\n  {}",
                    refusal["change"], lists.0, lists.1
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
