//! PersistentVolumeClaim: a wish for storage. Its spec is fixed but for a larger size once it is bound.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::forms::{form, required, text};
use crate::api::{
    behaviour::{AGE, Behaviour, Column, NAME, Part, column, wide},
    fault::{Faults, Path},
    object::{self, age, default, fill, is_empty, items, keep_other_part, keep_spec, name},
    quantity::{self, Quantity},
    valid,
};

pub struct PersistentVolumeClaim;

const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

const COLUMNS: &[Column] = &[
    NAME,
    column("Status", "string", "Phase represents the current phase of PersistentVolumeClaim."),
    column("Volume", "string", "The binding reference to the PersistentVolume backing this claim."),
    column("Capacity", "string", "The actual resources of the underlying volume."),
    column("Access Modes", "string", "The actual access modes the volume backing the claim has."),
    column("StorageClass", "string", "StorageClass of the pvc"),
    column("VolumeAttributesClass", "string", "VolumeAttributesClass of the pvc"),
    AGE,
    wide("VolumeMode", "string", "What type of volume is required by the claim."),
];

impl Behaviour for PersistentVolumeClaim {
    fn default(&self, object: &mut Value) {
        default(object, "spec", json!({}));
        default_spec(&mut object["spec"]);
        join_sources(&mut object["spec"]);
        default(object, "status", json!({}));
        fill(&mut object["status"], "phase", "Pending");
        for field in ["capacity", "allocatedResources"] {
            if let Some(quantities) = object["status"].get_mut(field) {
                quantity::normalize(quantities);
            }
        }
    }

    fn prepare_create(&self, object: &mut Value) {
        object["status"] = json!({ "phase": "Pending" });
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, part: Part) {
        match part {
            Part::Main => keep_other_part(new, old, part),
            Part::Status => keep_spec(new, old),
        }
    }

    fn validate(&self, object: &Value, faults: &mut Faults) {
        validate_spec(&object["spec"], &Path::new("spec"), faults);
    }

    fn validate_update(&self, new: &Value, old: &Value, part: Part, faults: &mut Faults) {
        if part == Part::Main {
            validate_change(new, old, faults);
        }
    }

    fn has_status(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let (spec, status) = (&object["spec"], &object["status"]);
        let terminating = !object["metadata"]["deletionTimestamp"].is_null();
        let phase = if terminating { "Terminating" } else { text(status, "phase") };
        let volume = text(spec, "volumeName");
        let (capacity, modes) = if volume.is_empty() {
            (String::new(), String::new())
        } else {
            let capacity = Quantity::of(&status["capacity"]["storage"]);
            (capacity.map_or("0".to_owned(), |capacity| capacity.to_string()), short_modes(status))
        };
        let class = object::text(object, "/metadata/annotations/volume.beta.kubernetes.io~1storage-class");
        let class = if class.is_empty() { text(spec, "storageClassName") } else { class };
        let set = |field: &str| match text(spec, field) {
            "" => "<unset>",
            value => value,
        };
        vec![
            name(object).into(),
            phase.into(),
            volume.into(),
            capacity.into(),
            modes.into(),
            class.into(),
            set("volumeAttributesClassName").into(),
            age(object, now).into(),
            set("volumeMode").into(),
        ]
    }
}

/// `RWO,ROX`, in the order that people know.
fn short_modes(status: &Value) -> String {
    let short = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let given = items(status, "/accessModes");
    let modes = short.iter().filter(|(mode, _)| given.iter().any(|given| given == mode));
    modes.map(|(_, short)| *short).collect::<Vec<_>>().join(",")
}

/// Fills in a claim's spec, alone or in the template of an ephemeral volume.
pub(crate) fn default_spec(spec: &mut Value) {
    default(spec, "volumeMode", "Filesystem");
    default(spec, "resources", json!({}));
    for field in ["limits", "requests"] {
        if let Some(quantities) = spec["resources"].get_mut(field) {
            quantity::normalize(quantities);
        }
    }
}

/// `dataSource` and `dataSourceRef` are two names of one thing. The older one takes two kinds only and forgets
/// others, as it always has.
fn join_sources(spec: &mut Value) {
    let source = &spec["dataSource"];
    let known = match text(source, "apiGroup") {
        "" => text(source, "kind") == "PersistentVolumeClaim",
        group => group == "snapshot.storage.k8s.io" && text(source, "kind") == "VolumeSnapshot",
    };
    if !source.is_null()
        && !known
        && spec["dataSourceRef"].is_null()
        && let Some(spec) = spec.as_object_mut()
    {
        spec.remove("dataSource");
    }
    let (source, reference) = (&spec["dataSource"], &spec["dataSourceRef"]);
    if !source.is_null() && reference.is_null() {
        spec["dataSourceRef"] = source.clone();
    } else if source.is_null() && !reference.is_null() && text(reference, "namespace").is_empty() {
        let mut source = reference.clone();
        if let Some(source) = source.as_object_mut() {
            source.remove("namespace");
        }
        spec["dataSource"] = source;
    }
}

/// What may be wrong with a claim's spec.
pub(crate) fn validate_spec(spec: &Value, path: &Path, faults: &mut Faults) {
    let modes = path.child("accessModes");
    if is_empty(&spec["accessModes"]) {
        faults.required(&modes, "at least 1 access mode is required");
    }
    let given = items(spec, "/accessModes");
    for mode in given {
        valid::one_of(mode, &ACCESS_MODES, &modes, faults);
    }
    if given.len() > 1 && given.iter().any(|mode| mode == "ReadWriteOncePod") {
        faults.forbidden(&modes, "may not use ReadWriteOncePod with other access modes");
    }
    valid::label_selector(&spec["selector"], &path.child("selector"), faults);
    let (storage, storage_path) =
        (&spec["resources"]["requests"]["storage"], path.child("resources").key("storage"));
    match Quantity::of(storage) {
        None if storage.is_null() => faults.required(&storage_path, ""),
        None => faults.invalid(&storage_path, storage, "must be a valid resource quantity"),
        Some(size) if size.is_negative() || size.is_zero() => {
            faults.invalid(&storage_path, storage, "must be greater than zero");
        }
        Some(_) => {}
    }
    for field in ["storageClassName", "volumeAttributesClassName"] {
        form(spec, field, valid::dns_subdomain, path, faults);
    }
    valid::one_of(&spec["volumeMode"], &["Block", "Filesystem"], &path.child("volumeMode"), faults);
    for field in ["dataSource", "dataSourceRef"] {
        let (source, path) = (&spec[field], path.child(field));
        if source.is_null() {
            continue;
        }
        required(source, "name", &path, faults);
        required(source, "kind", &path, faults);
        if text(source, "apiGroup").is_empty() && text(source, "kind") != "PersistentVolumeClaim" {
            let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
            faults.invalid(&path, &source["kind"], detail);
        }
    }
}

fn validate_change(new: &Value, old: &Value, faults: &mut Faults) {
    let size = |claim: &Value| Quantity::of(&claim["spec"]["resources"]["requests"]["storage"]);
    let mut compared = new["spec"].clone();
    let was = &old["spec"];
    let mut allow = |field: &str| compared[field] = was[field].clone();
    if is_empty(&was["volumeName"]) {
        allow("volumeName");
    }
    if was["storageClassName"].is_null() {
        allow("storageClassName");
    }
    if object::text(old, "/status/phase") == "Bound" {
        allow("volumeAttributesClassName");
        if !compared["resources"]["requests"].is_null() {
            compared["resources"]["requests"]["storage"] = was["resources"]["requests"]["storage"].clone();
        }
    }
    if !same_fields(&compared, was) {
        faults.forbidden(
            &Path::new("spec"),
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound \
             claims",
        );
    }
    let held = Quantity::of(&old["status"]["capacity"]["storage"]).unwrap_or(Quantity::ZERO);
    if size(new) < size(old) && size(new).is_none_or(|size| size <= held) {
        let detail = "field can not be less than status.capacity";
        faults.forbidden(&Path::new("spec.resources.requests.storage"), detail);
    }
    valid::immutable(&new["spec"]["volumeMode"], &was["volumeMode"], &Path::new("volumeMode"), faults);
}

/// Whether two objects have the same fields; one that is null is one that is not there.
fn same_fields(a: &Value, b: &Value) -> bool {
    let covers =
        |a: &Value, b: &Value| a.as_object().into_iter().flatten().all(|(field, value)| *value == b[field]);
    covers(a, b) && covers(b, a)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(size: &str, bound: bool) -> Value {
        let mut claim = json!({ "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": size } }
        } });
        PersistentVolumeClaim.default(&mut claim);
        if bound {
            claim["spec"]["volumeName"] = "v".into();
            claim["status"] = json!({
                "phase": "Bound", "capacity": { "storage": size }, "accessModes": ["ReadWriteMany", "ReadWriteOnce"]
            });
        }
        claim
    }

    fn fields(new: &Value, old: &Value) -> Vec<String> {
        let mut faults = Faults::default();
        PersistentVolumeClaim.validate_update(new, old, Part::Main, &mut faults);
        faults.iter().map(|fault| fault.field.clone()).collect()
    }

    #[test]
    fn only_a_bound_claim_grows() {
        assert!(fields(&claim("2Gi", true), &claim("1Gi", true)).is_empty());
        assert_eq!(fields(&claim("2Gi", false), &claim("1Gi", false)), ["spec"]);
        assert_eq!(fields(&claim("1Gi", true), &claim("2Gi", true)), ["spec.resources.requests.storage"]);
        // The volume is filled in once.
        assert!(fields(&claim("1Gi", true), &claim("1Gi", false)).is_empty());
        assert_eq!(fields(&claim("1Gi", false), &claim("1Gi", true)), ["spec"]);
    }

    #[test]
    fn a_table_shows_what_is_bound() {
        let cells = PersistentVolumeClaim.cells(&claim("1024Mi", true), Timestamp::UNIX_EPOCH);
        let expected = json!(["", "Bound", "v", "1Gi", "RWO,RWX", "", "<unset>", "<unknown>", "Filesystem"]);
        assert_eq!(json!(cells), expected);
    }
}
