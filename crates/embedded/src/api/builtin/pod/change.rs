//! What may change in a pod once it is there: images, a shorter deadline, more tolerations, fewer scheduling gates.
//! Whoever wants anything else makes another pod.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::api::{
    builtin::{
        forms::{each, form, ip, is_dual_stack, text},
        pod_spec,
    },
    fault::{Faults, Path},
    object::{is_empty, items},
    valid,
};

const FORBIDDEN: &str = "pod updates may not change fields other than \
     `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
     `spec.tolerations` (only additions to existing tolerations),\
     `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

pub(super) fn validate_spec_change(new: &Value, old: &Value, faults: &mut Faults) {
    let (is, was, path) = (&new["spec"], &old["spec"], Path::new("spec"));
    for field in ["containers", "initContainers"] {
        if items(is, &format!("/{field}")).len() != items(was, &format!("/{field}")).len() {
            faults.forbidden(&path.child(field), "pod updates may not add or remove containers");
            return;
        }
    }
    if !validate_deadline(is, was, &path, faults) {
        return;
    }
    validate_tolerations(is, was, &path, faults);
    validate_gates(is, was, &path, faults);
    let mut compared = is.clone();
    for field in ["containers", "initContainers"] {
        for (index, before) in items(was, &format!("/{field}")).iter().enumerate() {
            compared[field][index]["image"] = before["image"].clone();
        }
    }
    for field in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
        compared[field] = was[field].clone();
    }
    // Nothing has looked at where a gated pod could run yet, so that may be narrowed.
    if !is_empty(&was["schedulingGates"]) {
        validate_node_selector(is, was, &path, faults);
        compared["nodeSelector"] = was["nodeSelector"].clone();
        if is_empty(&was["affinity"]) && only_for_nodes(&is["affinity"]) {
            compared["affinity"] = was["affinity"].clone();
        }
    }
    if !same(&compared, was) {
        let changed = changed_fields(&compared, was).join(", ");
        faults.forbidden(&path, format!("{FORBIDDEN}\n(changed: {changed})"));
    }
}

/// Whether the rest is worth looking at.
fn validate_deadline(is: &Value, was: &Value, path: &Path, faults: &mut Faults) -> bool {
    let path = path.child("activeDeadlineSeconds");
    match (is["activeDeadlineSeconds"].as_i64(), was["activeDeadlineSeconds"].as_i64()) {
        (Some(new), Some(old)) if new > old => {
            faults.invalid(&path, &json!(new), "must be less than or equal to previous value");
            return false;
        }
        (None, Some(_)) => {
            faults.invalid(&path, &Value::Null, "must not update from a positive integer to nil value");
        }
        _ => {}
    }
    true
}

fn validate_tolerations(is: &Value, was: &Value, path: &Path, faults: &mut Faults) {
    let timeless = |toleration: &Value| {
        let mut toleration = toleration.clone();
        toleration["tolerationSeconds"] = Value::Null;
        toleration.to_string()
    };
    let now: BTreeSet<_> = items(is, "/tolerations").iter().map(timeless).collect();
    if !items(was, "/tolerations").iter().all(|before| now.contains(&timeless(before))) {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        faults.forbidden(&path.child("tolerations"), detail);
    }
}

fn validate_gates(is: &Value, was: &Value, path: &Path, faults: &mut Faults) {
    let before: BTreeSet<_> = items(was, "/schedulingGates").iter().map(|gate| text(gate, "name")).collect();
    for (path, gate) in each(is, "schedulingGates", path) {
        let name = text(gate, "name");
        if !before.contains(name) {
            let detail = format!("only deletion is allowed, but found new scheduling gate '{name}'");
            faults.forbidden(&path.child("name"), detail);
        }
    }
}

fn validate_node_selector(is: &Value, was: &Value, path: &Path, faults: &mut Faults) {
    for (key, value) in was["nodeSelector"].as_object().into_iter().flatten() {
        if is["nodeSelector"][key] != *value {
            let detail = "only additions to nodeSelector are allowed (no mutations or deletions)";
            faults.invalid(&path.child("nodeSelector"), &is["nodeSelector"], detail);
            return;
        }
    }
}

fn only_for_nodes(affinity: &Value) -> bool {
    is_empty(&affinity["podAffinity"]) && is_empty(&affinity["podAntiAffinity"])
}

/// Whether two values say the same: what is empty says as much as what is not there.
fn same(a: &Value, b: &Value) -> bool {
    let silent = |value: &Value| !matches!(value, Value::Bool(_) | Value::Number(_)) && is_empty(value);
    match (a, b) {
        (Value::Object(one), Value::Object(other)) => {
            one.iter().all(|(field, value)| same(value, &b[field]))
                && other.iter().all(|(field, value)| one.contains_key(field) || silent(value))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| same(a, b))
        }
        _ => a == b || (silent(a) && silent(b)),
    }
}

/// The names of the spec's fields that differ, for a person to read.
fn changed_fields(a: &Value, b: &Value) -> Vec<String> {
    let fields = |value: &Value| -> Vec<String> {
        value.as_object().into_iter().flat_map(|fields| fields.keys()).cloned().collect()
    };
    let mut names = fields(a);
    names.extend(fields(b));
    names.sort();
    names.dedup();
    names.retain(|field| !same(&a[field], &b[field]));
    names
}

pub(super) fn validate_status_change(new: &Value, old: &Value, faults: &mut Faults) {
    let (status, was, path) = (&new["status"], &old["status"], Path::new("status"));
    let nominated = "nominatedNodeName";
    if status[nominated] != was[nominated] && !is_empty(&status[nominated]) {
        form(status, nominated, valid::dns_subdomain, &path, faults);
        if !is_empty(&old["spec"]["nodeName"]) {
            let detail = "may not be set on pods that are already bound to a node";
            faults.forbidden(&path.child(nominated), detail);
        }
    }
    valid::not_negative(&status["observedGeneration"], &path.child("observedGeneration"), faults);
    valid::immutable(&status["qosClass"], &was["qosClass"], &path.child("qosClass"), faults);
    for (path, condition) in each(status, "conditions", &path) {
        if let Some(fault) = valid::qualified_name(text(condition, "type")) {
            // Upstream spells this one as its own code does.
            faults.invalid(&path.child("Type"), &condition["type"], fault);
        }
    }
    for (list, containers) in
        [("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")]
    {
        validate_restarts(new, old, list, containers, faults);
    }
    for field in ["podIPs", "hostIPs"] {
        validate_ips(status, field, &path, faults);
    }
    if let Some(first) = items(status, "/hostIPs").first()
        && text(first, "ip") != text(status, "hostIP")
    {
        let path = path.child("hostIPs").index(0).child("ip");
        faults.invalid(&path, &first["ip"], "must be equal to `hostIP`");
    }
}

fn validate_ips(status: &Value, field: &str, path: &Path, faults: &mut Faults) {
    for (path, address) in each(status, field, path) {
        ip(text(address, "ip"), &path, faults);
    }
    let addresses: Vec<&str> = each(status, field, path).map(|(_, address)| text(address, "ip")).collect();
    if addresses.len() > 1 && !is_dual_stack(&addresses) {
        let detail = "may specify no more than one IP for each IP family";
        faults.invalid(&path.child(field), &status[field], detail);
    }
}

/// A container that has ended for good does not come back to life.
fn validate_restarts(new: &Value, old: &Value, list: &str, containers: &str, faults: &mut Faults) {
    let now = by_name(&new["status"], list);
    let specs = by_name(&old["spec"], containers);
    for (path, before) in each(&old["status"], list, &Path::new("status")) {
        let ended = &before["state"]["terminated"];
        let after = now.get(text(before, "name"));
        if ended.is_null() || after.is_none_or(|after| !after["state"]["terminated"].is_null()) {
            continue;
        }
        let spec = specs.get(text(before, "name")).copied().unwrap_or(&Value::Null);
        let own = text(spec, "restartPolicy");
        let restarts = match if own.is_empty() { text(&old["spec"], "restartPolicy") } else { own } {
            "Always" => true,
            "OnFailure" => ended["exitCode"].as_i64().unwrap_or_default() != 0,
            _ => false,
        };
        // Rules may say otherwise for certain exit codes; whoever has some is trusted.
        if !restarts && is_empty(&spec["restartPolicyRules"]) {
            faults.forbidden(&path.child("state"), "may not be transitioned to non-terminated state");
        }
    }
}

/// The items of a list by their names, the first of each.
fn by_name<'a>(object: &'a Value, field: &str) -> BTreeMap<&'a str, &'a Value> {
    let mut named = BTreeMap::new();
    for item in object[field].as_array().into_iter().flatten() {
        named.entry(text(item, "name")).or_insert(item);
    }
    named
}

/// A write to `/ephemeralcontainers`: of what a client sends, only these containers count, and those that are there
/// stay as they are.
pub fn change_ephemeral_containers(new: &Value, old: &Value, faults: &mut Faults) -> Value {
    const FIELD: &str = "ephemeralContainers";
    let path = Path::new("spec").child(FIELD);
    let mut result = old.clone();
    result["spec"][FIELD] = json!(items(new, "/spec/ephemeralContainers"));
    pod_spec::default_spec(&mut result["spec"]);
    pod_spec::validate_spec(&result["spec"], &Path::new("spec"), faults);
    let now = by_name(&result["spec"], FIELD);
    for before in items(old, "/spec/ephemeralContainers") {
        let name = text(before, "name");
        match now.get(name) {
            None => {
                faults
                    .forbidden(&path, format!("existing ephemeral containers {name:?} may not be removed\n"));
            }
            Some(after) if !same(after, before) => {
                faults
                    .forbidden(&path, format!("existing ephemeral containers {name:?} may not be changed\n"));
            }
            Some(_) => {}
        }
    }
    if items(&result, "/spec/ephemeralContainers").is_empty()
        && let Some(spec) = result["spec"].as_object_mut()
    {
        spec.remove(FIELD);
    }
    result
}
