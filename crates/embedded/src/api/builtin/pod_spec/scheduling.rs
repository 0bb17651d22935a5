//! What may be wrong with where a pod wants to run: tolerations, affinities, spreading.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::api::{
    builtin::forms::{each, positive, text},
    fault::{Faults, Path},
    object::{is_empty, items},
    valid,
};

pub(crate) const TAINT_EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

pub(super) fn validate_scheduling(spec: &Value, path: &Path, faults: &mut Faults) {
    valid::labels(&spec["nodeSelector"], &path.child("nodeSelector"), faults);
    validate_tolerations(spec, path, faults);
    validate_affinity(&spec["affinity"], &path.child("affinity"), faults);
    validate_spreading(spec, path, faults);
    let mut gates = BTreeSet::new();
    for (path, gate) in each(spec, "schedulingGates", path) {
        let name = text(gate, "name");
        if let Some(fault) = valid::qualified_name(name) {
            faults.invalid_text(&path, name, fault);
        }
        if !gates.insert(name) {
            faults.duplicate(&path, &json!(name));
        }
    }
}

/// The `tolerations` of a pod's spec.
fn validate_tolerations(spec: &Value, path: &Path, faults: &mut Faults) {
    for (path, toleration) in each(spec, "tolerations", path) {
        let [key, operator, value, effect] =
            ["key", "operator", "value", "effect"].map(|field| text(toleration, field));
        if key.is_empty() {
            if operator != "Exists" {
                let detail = "operator must be Exists when `key` is empty, which means \"match all values and all \
                              keys\"";
                faults.invalid_text(&path.child("operator"), operator, detail);
            }
        } else if let Some(fault) = valid::qualified_name(key) {
            faults.invalid_text(&path.child("key"), key, fault);
        }
        if !toleration["tolerationSeconds"].is_null() && effect != "NoExecute" {
            let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            faults.invalid_text(&path.child("effect"), effect, detail);
        }
        match operator {
            "Equal" | "" => {
                if let Some(fault) = valid::label_value(value) {
                    faults.invalid_text(&path.child("operator"), value, fault);
                }
            }
            "Exists" if value.is_empty() => {}
            "Exists" => {
                let detail = "value must be empty when `operator` is 'Exists'";
                faults.invalid_text(&path.child("operator"), value, detail);
            }
            _ => faults.not_supported(&path.child("operator"), &json!(operator), &["Equal", "Exists"]),
        }
        if !effect.is_empty() {
            valid::one_of(&toleration["effect"], &TAINT_EFFECTS, &path.child("effect"), faults);
        }
    }
}

fn validate_affinity(affinity: &Value, path: &Path, faults: &mut Faults) {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
    let (node, node_path) = (&affinity["nodeAffinity"], path.child("nodeAffinity"));
    if !node[REQUIRED].is_null() {
        let path = node_path.child(REQUIRED);
        if is_empty(&node[REQUIRED]["nodeSelectorTerms"]) {
            faults.required(&path.child("nodeSelectorTerms"), "must have at least one node selector term");
        }
        for (path, term) in each(&node[REQUIRED], "nodeSelectorTerms", &path) {
            validate_node_term(term, true, &path, faults);
        }
    }
    for (path, term) in each(node, PREFERRED, &node_path) {
        validate_weight(term, &path, faults);
        validate_node_term(&term["preference"], false, &path.child("preference"), faults);
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let (terms, path) = (&affinity[kind], path.child(kind));
        for (path, term) in each(terms, REQUIRED, &path) {
            validate_pod_term(term, &path, faults);
        }
        for (path, term) in each(terms, PREFERRED, &path) {
            validate_weight(term, &path, faults);
            validate_pod_term(&term["podAffinityTerm"], &path.child("podAffinityTerm"), faults);
        }
    }
}

fn validate_weight(term: &Value, path: &Path, faults: &mut Faults) {
    let weight = term["weight"].as_i64().unwrap_or_default();
    if !(1..=100).contains(&weight) {
        faults.invalid(&path.child("weight"), &json!(weight), "must be in the range 1-100");
    }
}

fn validate_node_term(term: &Value, strict: bool, path: &Path, faults: &mut Faults) {
    for (path, requirement) in each(term, "matchExpressions", path) {
        let values = requirement["values"].as_array().map_or(0, Vec::len);
        let values_path = path.child("values");
        match text(requirement, "operator") {
            "In" | "NotIn" if values == 0 => {
                faults.required(&values_path, "must be specified when `operator` is 'In' or 'NotIn'");
            }
            "Exists" | "DoesNotExist" if values > 0 => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                faults.forbidden(&values_path, detail);
            }
            "Gt" | "Lt" if values != 1 => {
                let detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                faults.required(&values_path, detail);
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            operator => {
                faults.invalid_text(&path.child("operator"), operator, "not a valid selector operator");
            }
        }
        let key = text(requirement, "key");
        if let Some(fault) = valid::qualified_name(key) {
            faults.invalid_text(&path.child("key"), key, fault);
        }
        for (path, value) in each(requirement, "values", &path).filter(|_| strict) {
            if let Some(fault) = value.as_str().and_then(valid::label_value) {
                faults.invalid(&path, value, fault);
            }
        }
    }
    for (path, requirement) in each(term, "matchFields", path) {
        match text(requirement, "operator") {
            "In" | "NotIn" => {
                if requirement["values"].as_array().map_or(0, Vec::len) != 1 {
                    let detail =
                        "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
                    faults.required(&path.child("values"), detail);
                }
            }
            operator => {
                faults.invalid_text(&path.child("operator"), operator, "not a valid selector operator");
            }
        }
        let key = text(requirement, "key");
        if key != "metadata.name" {
            faults.invalid_text(&path.child("key"), key, "not a valid field selector key");
        }
    }
}

fn validate_pod_term(term: &Value, path: &Path, faults: &mut Faults) {
    for field in ["labelSelector", "namespaceSelector"] {
        valid::label_selector(&term[field], &path.child(field), faults);
    }
    for (_, namespace) in each(term, "namespaces", path) {
        if let Some(fault) = namespace.as_str().and_then(valid::dns_label) {
            faults.invalid(&path.child("namespace"), namespace, fault);
        }
    }
    let key = text(term, "topologyKey");
    if key.is_empty() {
        faults.required(&path.child("topologyKey"), "can not be empty");
    }
    if let Some(fault) = valid::qualified_name(key) {
        faults.invalid_text(&path.child("topologyKey"), key, fault);
    }
}

fn validate_spreading(spec: &Value, path: &Path, faults: &mut Faults) {
    let kind = |constraint: &'_ Value| {
        let of = |field| text(constraint, field).to_owned();
        (of("topologyKey"), of("whenUnsatisfiable"))
    };
    let mut left = BTreeMap::new();
    for constraint in items(spec, "/topologySpreadConstraints") {
        *left.entry(kind(constraint)).or_insert(0) += 1;
    }
    for (path, constraint) in each(spec, "topologySpreadConstraints", path) {
        positive(&constraint["maxSkew"], &path.child("maxSkew"), faults);
        let (key, action) = (text(constraint, "topologyKey"), text(constraint, "whenUnsatisfiable"));
        if key.is_empty() {
            faults.required(&path.child("topologyKey"), "can not be empty");
        }
        let actions = ["DoNotSchedule", "ScheduleAnyway"];
        if !actions.contains(&action) {
            faults.not_supported(&path.child("whenUnsatisfiable"), &json!(action), &actions);
        }
        // Of several alike all but the last are named.
        let alike = left.entry(kind(constraint)).or_insert(0);
        *alike -= 1;
        if *alike > 0 {
            let value = json!(format!("{{{key}, {action}}}"));
            faults.duplicate(&path.child("{topologyKey, whenUnsatisfiable}"), &value);
        }
        let domains = &constraint["minDomains"];
        if !domains.is_null() {
            positive(domains, &path.child("minDomains"), faults);
            if action != "DoNotSchedule" {
                let detail =
                    format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
                faults.invalid(&path.child("minDomains"), domains, detail);
            }
        }
        for field in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            valid::one_of(&constraint[field], &["Honor", "Ignore"], &path.child(field), faults);
        }
        valid::label_selector(&constraint["labelSelector"], &path.child("labelSelector"), faults);
    }
}
