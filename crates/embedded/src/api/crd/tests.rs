//! Our own definitions: they are allowed, they accept what they must, and refuse what they must.

use std::{fs, path::Path};

use jiff::Timestamp;
use regex::Regex;
use serde_json::{Value, json};

use super::{CustomKind, default, establish, stored_versions, validate};
use crate::{
    api::{builtin::BUILTINS, fault::Faults, structural},
    schema,
};

/// A definition as the server would keep it.
fn installed(definition: &Value) -> Value {
    let mut crd = definition.clone();
    let schema =
        schema::builtin("apiextensions.k8s.io/v1", "CustomResourceDefinition").expect("a served kind");
    let unknown = structural::conform(schema, &mut crd).expect("a definition of the right types");
    assert_eq!(unknown, Vec::<String>::new());
    default(&mut crd);
    crd["status"] = json!({ "storedVersions": stored_versions(&crd) });
    let mut faults = Faults::default();
    validate(&crd, None, &mut faults);
    assert!(faults.is_empty(), "{}: {faults}", crd["metadata"]["name"]);
    crd["status"] = establish(&crd, [], Timestamp::UNIX_EPOCH);
    crd
}

fn kinds() -> Vec<CustomKind> {
    let definitions =
        anneal_types::crd::all().into_iter().map(|crd| serde_json::to_value(crd).expect("JSON"));
    definitions.map(|crd| CustomKind::compile(&installed(&crd)).expect("a kind")).collect()
}

fn repository(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn manifests(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a file of manifests");
    serde_saphyr::from_multiple(&text).expect("manifests")
}

/// What a server does to a new object; the faults it finds.
fn create(kinds: &[CustomKind], object: &mut Value) -> (Vec<String>, Faults) {
    let kind = kinds.iter().find(|kind| object["kind"] == kind.kind).expect("a kind of ours");
    let version = object["apiVersion"].as_str().and_then(|text| text.rsplit('/').next()).expect("a version");
    let version = kind.versions.iter().find(|known| known.name == version).expect("a version of ours");
    let unknown = version.prune(object).expect("metadata of the right types");
    version.default(object);
    let mut faults = Faults::default();
    version.validate(object, None, &mut faults);
    (unknown, faults)
}

#[test]
fn our_definitions_accept_the_examples_and_the_contracts() {
    let kinds = kinds();
    assert_eq!(kinds.len(), 10);
    let mut files: Vec<_> = fs::read_dir(repository("examples"))
        .expect("examples")
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.push(repository("tests/conformance/manifests/contracts.yaml"));
    let mut count = 0;
    for file in files {
        for mut object in manifests(&file) {
            let (unknown, faults) = create(&kinds, &mut object);
            assert!(unknown.is_empty() && faults.is_empty(), "{}: {unknown:?} {faults}", file.display());
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}

/// The faults that the conformance suite lists: example, change, field and reason.
fn listed_faults() -> Vec<[String; 4]> {
    let source =
        fs::read_to_string(repository("tests/conformance/src/manifests.rs")).expect("the suite's list");
    let line = Regex::new(r##"^ +Fault\("([^"]+)", "[^"]+", r#"(.*)"#, "([^"]+)", "?(\w+)"?\),$"##)
        .expect("a pattern");
    let constant = Regex::new(r#"const (\w+): &str = "(\w+)";"#).expect("a pattern");
    let word = |name: &str| {
        let found = constant.captures_iter(&source).find(|found| &found[1] == name);
        found.map_or(name.to_owned(), |found| found[2].to_owned())
    };
    let faults = source.lines().filter_map(|text| line.captures(text));
    faults
        .map(|found| [found[1].to_owned(), found[2].to_owned(), found[3].to_owned(), word(&found[4])])
        .collect()
}

#[test]
fn our_definitions_refuse_what_the_conformance_suite_says() {
    let (kinds, listed) = (kinds(), listed_faults());
    assert!(listed.len() > 60, "{}", listed.len());
    for [example, change, field, reason] in listed {
        let mut object = manifests(&repository(&format!("examples/{example}.yaml"))).remove(0);
        json_patch::merge(&mut object, &serde_json::from_str(&change).expect("a merge patch"));
        let (_, faults) = create(&kinds, &mut object);
        let named = faults.iter().any(|fault| fault.field == field && fault.reason == reason);
        assert!(named, "{example} {change}: no {reason} for {field} in {faults}");
        assert!(!faults.to_string().contains("s3cret"), "{faults}");
    }
}

#[test]
fn a_definition_lives_through_its_behaviour() {
    let behaviour =
        BUILTINS.iter().find(|builtin| builtin.kind == "CustomResourceDefinition").expect("served").behaviour;
    let mut crd = serde_json::to_value(anneal_types::crd::all().remove(0)).expect("JSON");
    behaviour.prepare_create(&mut crd);
    behaviour.default(&mut crd);
    let mut faults = Faults::default();
    behaviour.validate(&crd, &mut faults);
    assert!(faults.is_empty(), "{faults}");
    assert_eq!(crd["status"]["storedVersions"], json!([crd["spec"]["versions"][0]["name"]]));
    assert_eq!(crd["status"]["acceptedNames"], json!({ "kind": "", "plural": "" }));
    assert!(behaviour.warnings(&crd, None).is_empty());
    let names: Vec<_> = behaviour.columns().iter().map(|column| column.name).collect();
    assert_eq!(names, ["Name", "Created At"]);
}
