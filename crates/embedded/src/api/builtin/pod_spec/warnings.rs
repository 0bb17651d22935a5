//! What is allowed in a pod's spec but most likely not meant.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::api::{
    builtin::forms::{each, text},
    fault::Path,
    object::is_empty,
    quantity::Quantity,
};

/// Volume sources that are gone, and since when.
const GONE: [(&str, &str); 9] = [
    ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// Warnings about a pod's spec at `path`, which is `spec` for a pod and `spec.template.spec` for a template.
pub(crate) fn warnings(spec: &Value, path: &Path) -> Vec<String> {
    let mut warnings = Vec::new();
    for (path, volume) in each(spec, "volumes", path) {
        for (source, since) in GONE {
            if !volume[source].is_null() {
                warnings.push(format!("{}: {since}", path.child(source)));
            }
        }
    }
    for (list, field, what) in [("hostAliases", "ip", "ip"), ("imagePullSecrets", "name", "name")] {
        let mut seen = BTreeSet::new();
        for (path, item) in each(spec, list, path) {
            if !seen.insert(text(item, field)) {
                warnings.push(format!("{}: duplicate {what} {:?}", path.child(field), text(item, field)));
            }
        }
    }
    for (path, secret) in each(spec, "imagePullSecrets", path) {
        if text(secret, "name").is_empty() {
            warnings.push(format!("{}: invalid empty name \"\"", path.child("name")));
        }
    }
    warn_of_containers(spec, path, &mut warnings);
    warn_of_blind_selectors(spec, path, &mut warnings);
    warnings
}

fn warn_of_containers(spec: &Value, path: &Path, warnings: &mut Vec<String>) {
    let lists = ["initContainers", "containers", "ephemeralContainers"];
    let mut ports = Ports::default();
    for (path, container) in lists.into_iter().flat_map(|list| each(spec, list, path)) {
        warn_of_fractions(container, &path, warnings);
        warn_of_hidden_variables(container, &path, warnings);
        for (path, port) in each(container, "ports", &path) {
            ports.add(port, path, warnings);
        }
    }
}

fn warn_of_fractions(container: &Value, path: &Path, warnings: &mut Vec<String>) {
    for resource in ["memory", "ephemeral-storage"] {
        for list in ["limits", "requests"] {
            let quantity = Quantity::of(&container["resources"][list][resource]);
            if let Some(quantity) = quantity.filter(|quantity| !quantity.is_whole()) {
                let path = path.child("resources").child(list).key(resource);
                let text = quantity.to_string();
                warnings
                    .push(format!("{path}: fractional byte value {text:?} is invalid, must be an integer"));
            }
        }
    }
}

/// A variable that is set twice, unless the second builds upon the first.
fn warn_of_hidden_variables(container: &Value, path: &Path, warnings: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for (path, variable) in each(container, "env", path) {
        let name = text(variable, "name");
        if seen.insert(name) {
            continue;
        }
        let (value, reference) = (text(variable, "value"), format!("$({name})"));
        if !variable["valueFrom"].is_null() || value == reference || !value.contains(&reference) {
            let what = "hides previous definition of";
            warnings.push(format!("{path}: {what} {name:?}, which may be dropped when using apply"));
        }
    }
}

/// The ports of all containers, each compared with the first of its number and of its name.
#[derive(Default)]
struct Ports<'a> {
    numbers: BTreeMap<(i64, &'a str), (Path, &'a Value)>,
    names: BTreeMap<&'a str, Path>,
}

impl<'a> Ports<'a> {
    fn add(&mut self, port: &'a Value, path: Path, warnings: &mut Vec<String>) {
        let number = (port["containerPort"].as_i64().unwrap_or_default(), text(port, "protocol"));
        if let Some((other_path, other)) = self.numbers.get(&number) {
            let same = |field: &str| {
                port[field] == other[field] || (is_empty(&port[field]) && is_empty(&other[field]))
            };
            if same("hostIP") && same("hostPort") {
                warnings.push(format!("{path}: duplicate port definition with {other_path}"));
            } else if is_empty(&port["hostPort"]) || is_empty(&other["hostPort"]) {
                warnings.push(format!("{path}: overlapping port definition with {other_path}"));
            }
        } else {
            self.numbers.insert(number, (path.clone(), port));
        }
        let name = text(port, "name");
        if let Some(other) = self.names.get(name) {
            warnings.push(format!(
                "{path}: duplicate port name {name:?} with {other}, services and probes that select ports by name \
                 will use {other}"
            ));
        } else if !name.is_empty() {
            self.names.insert(name, path);
        }
    }
}

/// A selector that is not there matches nothing, which hardly anybody knows.
fn warn_of_blind_selectors(spec: &Value, path: &Path, warnings: &mut Vec<String>) {
    let mut look = |path: &Path, term: &Value| {
        if term["labelSelector"].is_null() {
            warnings.push(format!(
                "{}: a null labelSelector results in matching no pod",
                path.child("labelSelector")
            ));
        }
    };
    for (path, constraint) in each(spec, "topologySpreadConstraints", path) {
        look(&path, constraint);
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let (terms, path) = (&spec["affinity"][kind], path.child("affinity").child(kind));
        for (path, term) in each(terms, "requiredDuringSchedulingIgnoredDuringExecution", &path) {
            look(&path, term);
        }
        for (path, term) in each(terms, "preferredDuringSchedulingIgnoredDuringExecution", &path) {
            look(&path.child("podAffinityTerm"), &term["podAffinityTerm"]);
        }
    }
}
