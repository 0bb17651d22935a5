//! What the kinds that make pods from a template have in common: template, selector, status, cells.
//!
//! Pure helpers for `deployment`, `replica_set`, `stateful_set`, `daemon_set`, `job` and `cron_job`; parts of
//! them serve other kinds with a status too.

use serde_json::{Value, json};

use super::{pod_spec, selector};
use crate::api::{
    behaviour::{Column, Part, wide},
    fault::{Faults, Path},
    object, valid,
};

pub const CONTAINERS: Column = wide("Containers", "string", "Names of each container in the template.");
pub const IMAGES: Column = wide("Images", "string", "Images referenced by each container in the template.");
pub const SELECTOR: Column = wide("Selector", "string", "A label query over the pods.");

/// A number in an object, zero if it is not there.
pub fn number(object: &Value, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or(0)
}

/// A field's value, an empty object if it was not there.
pub fn within<'a>(object: &'a mut Value, field: &str) -> Option<&'a mut Value> {
    Some(object.as_object_mut()?.entry(field).or_insert_with(|| json!({})))
}

/// Fills in a pod template, which every workload has.
pub fn default_template(spec: &mut Value) {
    if let Some(template) = within(spec, "template") {
        pod_spec::default_template(template);
    }
}

/// The items of a list in an object, to be changed.
pub fn items_mut<'a>(object: &'a mut Value, field: &str) -> impl Iterator<Item = &'a mut Value> {
    object.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Drops fields that Kubernetes does not write when they are zero or false.
pub fn drop_zeros(object: &mut Value, part: &str, fields: &[&str]) {
    let Some(part) = object.get_mut(part).and_then(Value::as_object_mut) else { return };
    for field in fields {
        if part.get(*field).is_some_and(object::is_empty) {
            part.remove(*field);
        }
    }
}

/// Fills in a status with those counters that a status always shows.
pub fn default_status(object: &mut Value, counters: &[&str]) {
    if let Some(status) = within(object, "status") {
        for counter in counters {
            object::default(status, counter, 0);
        }
    }
}

/// Makes the status that of an object nobody has looked at yet.
pub fn reset_status(object: &mut Value, counters: &[&str]) {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
        default_status(object, counters);
    }
}

/// Carries over what a write to one part may not change. Unlike custom resources, these kinds let a write to the
/// status change metadata too.
pub fn keep_other_part(new: &mut Value, old: &Value, part: Part) {
    match part {
        Part::Main => object::keep_other_part(new, old, part),
        Part::Status => object::keep_spec(new, old),
    }
}

/// A selector that must say something if it is there. `kind` is the word for the kind in the fault. Tells
/// whether the selector is well-formed.
pub fn validate_selector(spec: &Value, path: &Path, kind: &str, faults: &mut Faults) -> bool {
    let (value, path) = (&spec["selector"], path.child("selector"));
    let before = faults.len();
    valid::label_selector(value, &path, faults);
    let well_formed = faults.len() == before;
    if value.is_object() && selector::is_empty(value) {
        faults.invalid(&path, value, format!("empty selector is invalid for {kind}"));
    }
    well_formed
}

/// A selector that must be there, and a template whose pods it selects and that are to run for ever. A selector
/// that is malformed leaves nothing to say about the template.
pub fn validate_selected_template(spec: &Value, path: &Path, kinds: (&str, &str), faults: &mut Faults) {
    let place = path.child("selector");
    if !spec["selector"].is_object() {
        faults.required(&place, "");
    }
    if validate_selector(spec, path, kinds.0, faults) {
        validate_labels(spec, path, faults);
        validate_lasting_template(spec, path, kinds.1, faults);
    } else {
        faults.invalid(&place, &spec["selector"], "invalid label selector");
    }
}

/// Whether the template's labels match the selector; nothing matches one that is not there.
pub fn validate_labels(spec: &Value, path: &Path, faults: &mut Faults) {
    let labels = &spec["template"]["metadata"]["labels"];
    if !selector::matches(&spec["selector"], labels) {
        let path = path.child("template.metadata.labels");
        faults.invalid(&path, labels, "`selector` does not match template `labels`");
    }
}

/// A template whose pods are to run for ever. `kind` is the word for the kind in the fault.
pub fn validate_lasting_template(spec: &Value, path: &Path, kind: &str, faults: &mut Faults) {
    let (template, path) = (&spec["template"], path.child("template"));
    pod_spec::validate_template(template, &path, faults);
    if template["spec"]["restartPolicy"] != "Always" {
        let path = path.child("spec.restartPolicy");
        faults.not_supported(&path, &text_or_empty(&template["spec"]["restartPolicy"]), &["Always"]);
    }
    if !template["spec"]["activeDeadlineSeconds"].is_null() {
        let path = path.child("spec.activeDeadlineSeconds");
        faults.forbidden(&path, format!("activeDeadlineSeconds in {kind} is not Supported"));
    }
}

/// A value as a fault shows it: a text that is not there is an empty one.
pub fn text_or_empty(value: &Value) -> Value {
    if value.is_null() { json!("") } else { value.clone() }
}

/// Fields that hold numbers that must not be negative; those that are not there are fine.
pub fn not_negative(object: &Value, fields: &[&str], path: &Path, faults: &mut Faults) {
    for field in fields {
        valid::not_negative(&object[*field], &path.child(field), faults);
    }
}

/// Counters of a status of which none may exceed `replicas`.
pub fn within_replicas(status: &Value, fields: &[&str], path: &Path, faults: &mut Faults) {
    for field in fields {
        if number(status, &format!("/{field}")) > number(status, "/replicas") {
            faults.invalid(&path.child(field), &status[*field], "cannot be greater than status.replicas");
        }
    }
}

/// What is ready may not be less than what is available.
pub fn available_within_ready(status: &Value, ready: &str, path: &Path, faults: &mut Faults) {
    if number(status, "/availableReplicas") > number(status, "/readyReplicas") {
        let detail = format!("cannot be greater than {ready}");
        faults.invalid(&path.child("availableReplicas"), &status["availableReplicas"], detail);
    }
}

/// The count of names that were taken never goes down.
pub fn collisions_never_fall(new: &Value, old: &Value, faults: &mut Faults) {
    let count = |object: &Value| number(object, "/status/collisionCount");
    if count(new) < count(old) {
        let path = Path::new("status.collisionCount");
        faults.invalid(&path, &count(new).into(), "cannot be decremented");
    }
}

/// The names and images of a template's containers, as two cells.
pub fn container_cells(template: &Value) -> [Value; 2] {
    let containers = object::items(template, "/spec/containers");
    ["name", "image"].map(|field| {
        let texts: Vec<_> = containers.iter().map(|one| one[field].as_str().unwrap_or_default()).collect();
        texts.join(",").into()
    })
}

/// What upstream says to a name with dots.
pub fn name_warning(object: &Value) -> Option<String> {
    let fault = valid::dns_label(object::name(object))?;
    Some(format!(
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS \
         label is recommended: [{fault}]"
    ))
}

/// What a client is told who writes an object that nothing here acts on.
pub fn inert(kinds: &str) -> String {
    format!("{kinds} are stored, but no controller acts on them here")
}
