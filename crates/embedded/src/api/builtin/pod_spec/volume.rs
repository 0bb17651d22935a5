//! What may be wrong with volumes and with references to fields of the pod.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::api::{
    builtin::{
        forms::{each, file_mode, file_path, no_backsteps, required, required_form, text},
        persistent_volume_claim,
    },
    fault::{Faults, Path},
    quantity::Quantity,
    valid,
};

const HOST_PATH_TYPES: [&str; 8] =
    ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
const FILE_FIELDS: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];
const RESOURCE_FIELDS: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];
/// Sources whose fields must be set, and no more is asked of them.
const PLAIN_SOURCES: &[(&str, &[&str])] = &[
    ("persistentVolumeClaim", &["claimName"]),
    ("nfs", &["server", "path"]),
    ("iscsi", &["targetPortal", "iqn"]),
    ("glusterfs", &["endpoints", "path"]),
    ("rbd", &["image"]),
    ("cinder", &["volumeID"]),
    ("csi", &["driver"]),
    ("image", &["reference"]),
    ("gitRepo", &["repository"]),
    ("flexVolume", &["driver"]),
    ("azureFile", &["secretName", "shareName"]),
    ("gcePersistentDisk", &["pdName"]),
    ("awsElasticBlockStore", &["volumeID"]),
];

/// The volumes of a spec. Gives back those that are sound, for mounts to refer to.
pub(super) fn validate_volumes<'a>(
    spec: &'a Value,
    path: &Path,
    faults: &mut Faults,
) -> BTreeMap<&'a str, &'a Value> {
    let mut sound = BTreeMap::new();
    for (path, volume) in each(spec, "volumes", path) {
        let mut found = Faults::default();
        validate_source(volume, &path, &mut found);
        required_form(volume, "name", valid::dns_label, &path, &mut found);
        let name = text(volume, "name");
        if sound.contains_key(name) {
            found.duplicate(&path.child("name"), &json!(name));
        }
        if found.is_empty() {
            sound.insert(name, volume);
        }
        faults.extend(found);
    }
    sound
}

fn validate_source(volume: &Value, path: &Path, faults: &mut Faults) {
    let mut given = volume
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(field, source)| *field != "name" && !source.is_null());
    let Some((kind, source)) = given.next() else {
        faults.required(path, "must specify a volume type");
        return;
    };
    let source_path = path.child(kind);
    match kind.as_str() {
        "emptyDir" => {
            if Quantity::of(&source["sizeLimit"]).is_some_and(Quantity::is_negative) {
                let detail = "SizeLimit field must be a valid resource quantity";
                faults.forbidden(&source_path.child("sizeLimit"), detail);
            }
        }
        "hostPath" => {
            let target = required(source, "path", &source_path, faults);
            no_backsteps(target, &source_path.child("path"), faults);
            valid::one_of(&source["type"], &HOST_PATH_TYPES, &source_path.child("type"), faults);
        }
        "secret" => {
            required(source, "secretName", &source_path, faults);
            validate_files(source, &source_path, faults);
        }
        "configMap" => {
            required(source, "name", &source_path, faults);
            validate_files(source, &source_path, faults);
        }
        "downwardAPI" => {
            file_mode(&source["defaultMode"], &source_path.child("defaultMode"), faults);
            for (_, item) in each(source, "items", &source_path) {
                // The real server names the volume here, not the item.
                validate_downward_item(item, &source_path, faults);
            }
        }
        "projected" => validate_projected(source, &source_path, faults),
        "ephemeral" => {
            let path = source_path.child("volumeClaimTemplate");
            let template = &source["volumeClaimTemplate"];
            if template.is_null() {
                faults.required(&path, "");
            } else {
                persistent_volume_claim::validate_spec(&template["spec"], &path.child("spec"), faults);
            }
        }
        other => {
            let plain = PLAIN_SOURCES.iter().find(|(name, _)| *name == other);
            for field in plain.into_iter().flat_map(|(_, fields)| *fields) {
                required(source, field, &source_path, faults);
            }
        }
    }
    for (other, _) in given {
        faults.forbidden(&path.child(other), "may not specify more than 1 volume type");
    }
}

/// Files made from the keys of a Secret or ConfigMap.
fn validate_files(source: &Value, path: &Path, faults: &mut Faults) {
    file_mode(&source["defaultMode"], &path.child("defaultMode"), faults);
    for (path, item) in each(source, "items", path) {
        required(item, "key", &path, faults);
        let file = required(item, "path", &path, faults);
        file_path(file, &path.child("path"), faults);
        file_mode(&item["mode"], &path.child("mode"), faults);
    }
}

fn validate_downward_item(item: &Value, path: &Path, faults: &mut Faults) {
    let file = required(item, "path", path, faults);
    file_path(file, &path.child("path"), faults);
    file_mode(&item["mode"], &path.child("mode"), faults);
    let (field, resource) = (&item["fieldRef"], &item["resourceFieldRef"]);
    if !field.is_null() {
        validate_field_ref(field, &FILE_FIELDS, &path.child("fieldRef"), faults);
        if !resource.is_null() {
            let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
            faults.invalid_text(path, "resource", detail);
        }
    } else if resource.is_null() {
        faults.required(path, "one of fieldRef and resourceFieldRef is required");
    } else {
        let path = path.child("resourceFieldRef");
        if required(resource, "containerName", &path, faults).is_empty() {
            return;
        }
        validate_resource_ref(resource, &path, faults);
    }
}

/// A reference to a container's request or limit, such as `limits.cpu`.
pub(super) fn validate_resource_ref(reference: &Value, path: &Path, faults: &mut Faults) {
    let name = required(reference, "resource", path, faults);
    let huge = name.starts_with("limits.hugepages-") || name.starts_with("requests.hugepages-");
    if !name.is_empty() && !huge {
        valid::one_of(&reference["resource"], &RESOURCE_FIELDS, &path.child("resource"), faults);
    }
}

fn validate_projected(source: &Value, path: &Path, faults: &mut Faults) {
    file_mode(&source["defaultMode"], &path.child("defaultMode"), faults);
    let mut files = BTreeSet::new();
    for (source_path, projection) in each(source, "sources", path) {
        let kinds = [
            "secret",
            "configMap",
            "downwardAPI",
            "serviceAccountToken",
            "clusterTrustBundle",
            "podCertificate",
        ];
        let given: Vec<_> = kinds.into_iter().filter(|kind| !projection[kind].is_null()).collect();
        for kind in &given {
            validate_projection(kind, &projection[kind], &source_path.child(kind), path, faults);
            for (_, item) in each(&projection[kind], "items", path) {
                let file = text(item, "path");
                if !file.is_empty() && !files.insert(file) {
                    faults.invalid_text(path, file, "conflicting duplicate paths");
                }
            }
        }
        if given.len() > 1 {
            faults.forbidden(&source_path, "may not specify more than 1 volume type");
        }
    }
}

fn validate_projection(kind: &str, projection: &Value, path: &Path, volume: &Path, faults: &mut Faults) {
    match kind {
        "secret" | "configMap" => {
            required(projection, "name", path, faults);
            validate_files(projection, path, faults);
        }
        "downwardAPI" => {
            for (_, item) in each(projection, "items", path) {
                validate_downward_item(item, path, faults);
            }
        }
        "serviceAccountToken" => {
            let seconds = &projection["expirationSeconds"];
            let detail = match seconds.as_i64() {
                Some(..600) => "may not specify a duration less than 10 minutes",
                Some(0x1_0000_0001..) => "may not specify a duration larger than 2^32 seconds",
                _ => "",
            };
            if !detail.is_empty() {
                faults.invalid(&path.child("expirationSeconds"), seconds, detail);
            }
            // The real server names the volume here, not the source.
            let file = required(projection, "path", volume, faults);
            file_path(file, &volume.child("path"), faults);
        }
        _ => {}
    }
}

/// A reference to a field of the pod, such as `metadata.labels['app']`.
pub(super) fn validate_field_ref(reference: &Value, allowed: &[&str], path: &Path, faults: &mut Faults) {
    let field = required(reference, "fieldPath", path, faults);
    if field.is_empty() {
        return;
    }
    let subscript = field.strip_suffix("']").and_then(|field| field.split_once("['"));
    match subscript {
        Some((map @ ("metadata.annotations" | "metadata.labels"), key)) => {
            let key = if map == "metadata.labels" { key.to_owned() } else { key.to_lowercase() };
            if let Some(fault) = valid::qualified_name(&key) {
                faults.invalid_text(path, &key, fault);
            }
        }
        _ if !known_field(field) => {
            let detail = format!("error converting fieldPath: field label not supported: {field}");
            faults.invalid_text(&path.child("fieldPath"), field, detail);
        }
        _ => valid::one_of(&reference["fieldPath"], allowed, &path.child("fieldPath"), faults),
    }
}

/// Fields that a reference can name at all, if not everywhere.
fn known_field(field: &str) -> bool {
    const OTHERS: [&str; 10] = [
        "metadata.annotations",
        "metadata.labels",
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.serviceAccountName",
        "spec.schedulerName",
        "status.phase",
    ];
    OTHERS.contains(&field)
        || ["status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"].contains(&field)
}
