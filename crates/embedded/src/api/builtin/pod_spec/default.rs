//! What the server fills into a pod's spec, alone or in a template.

use serde_json::{Value, json};

use crate::api::{
    builtin::persistent_volume_claim,
    object::{child, default, fill, is_empty},
    quantity,
};

/// Volume sources with fields that have a plain default.
const SOURCES: &[(&str, &[(&str, Source)])] = &[
    ("secret", &[("defaultMode", Source::Mode)]),
    ("configMap", &[("defaultMode", Source::Mode)]),
    ("downwardAPI", &[("defaultMode", Source::Mode)]),
    ("projected", &[("defaultMode", Source::Mode)]),
    ("hostPath", &[("type", Source::Text(""))]),
    ("iscsi", &[("iscsiInterface", Source::Text("default"))]),
    (
        "rbd",
        &[
            ("pool", Source::Text("rbd")),
            ("user", Source::Text("admin")),
            ("keyring", Source::Text("/etc/ceph/keyring")),
        ],
    ),
    (
        "azureDisk",
        &[
            ("cachingMode", Source::Text("ReadWrite")),
            ("fsType", Source::Text("ext4")),
            ("readOnly", Source::False),
            ("kind", Source::Text("Shared")),
        ],
    ),
    ("scaleIO", &[("storageMode", Source::Text("ThinProvisioned")), ("fsType", Source::Text("xfs"))]),
];

/// The default of a volume source's field.
#[derive(Clone, Copy)]
enum Source {
    Text(&'static str),
    /// Readable by all, writable by the owner: 0644.
    Mode,
    False,
}

impl From<Source> for Value {
    fn from(source: Source) -> Self {
        match source {
            Source::Text(text) => text.into(),
            Source::Mode => 0o644.into(),
            Source::False => false.into(),
        }
    }
}

/// Fills in a pod template: its spec, and metadata if there are none.
pub(crate) fn default_template(template: &mut Value) {
    if !template.is_object() {
        return;
    }
    child(template, "metadata");
    default(template, "spec", json!({}));
    default_spec(&mut template["spec"]);
}

/// Fills in a pod's spec.
pub(crate) fn default_spec(spec: &mut Value) {
    if !spec.is_object() {
        return;
    }
    fill(spec, "dnsPolicy", "ClusterFirst");
    fill(spec, "restartPolicy", "Always");
    fill(spec, "schedulerName", "default-scheduler");
    default(spec, "terminationGracePeriodSeconds", 30);
    // A negative period has always been taken for the shortest one.
    if spec["terminationGracePeriodSeconds"].as_i64().is_some_and(|seconds| seconds < 0) {
        spec["terminationGracePeriodSeconds"] = 1.into();
    }
    if spec.get("securityContext").is_none_or(Value::is_null) {
        spec["securityContext"] = json!({});
    }
    mirror_service_account(spec);
    for volume in items_mut(spec, "volumes") {
        default_volume(volume);
    }
    for field in ["initContainers", "containers", "ephemeralContainers"] {
        for container in items_mut(spec, field) {
            default_container(container);
        }
    }
    if let Some(overhead) = spec.get_mut("overhead") {
        quantity::normalize(overhead);
    }
    if let Some(resources) = spec.get_mut("resources") {
        normalize_resources(resources);
    }
}

/// `serviceAccount` is the old name of `serviceAccountName`: either sets both.
fn mirror_service_account(spec: &mut Value) {
    let given = ["serviceAccountName", "serviceAccount"]
        .iter()
        .find_map(|field| spec.get(*field).filter(|name| !is_empty(name)).cloned());
    if let Some(name) = given {
        spec["serviceAccountName"] = name.clone();
        spec["serviceAccount"] = name;
    }
}

fn default_container(container: &mut Value) {
    if !container.is_object() {
        return;
    }
    let policy = pull_policy(container["image"].as_str().unwrap_or_default());
    fill(container, "imagePullPolicy", policy);
    fill(container, "terminationMessagePath", "/dev/termination-log");
    fill(container, "terminationMessagePolicy", "File");
    if container.get("resources").is_none_or(Value::is_null) {
        container["resources"] = json!({});
    }
    normalize_resources(&mut container["resources"]);
    for port in items_mut(container, "ports") {
        fill(port, "protocol", "TCP");
    }
    for variable in items_mut(container, "env") {
        default_field_ref(variable.pointer_mut("/valueFrom/fieldRef"));
        if let Some(reference) = variable.pointer_mut("/valueFrom/resourceFieldRef") {
            default_divisor(reference);
        }
        if let Some(reference) = variable.pointer_mut("/valueFrom/fileKeyRef") {
            default(reference, "optional", false);
        }
    }
    for field in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.get_mut(field).filter(|probe| probe.is_object()) {
            default_probe(probe);
        }
    }
    for hook in ["/lifecycle/postStart/httpGet", "/lifecycle/preStop/httpGet"] {
        default_http_get(container.pointer_mut(hook));
    }
}

/// `Always` for what has no tag or the tag `latest`, as those move.
pub(super) fn pull_policy(image: &str) -> &'static str {
    let name = image.rsplit('/').next().unwrap_or_default();
    let moves = !image.contains('@') && name.split_once(':').is_none_or(|(_, tag)| tag == "latest");
    if moves { "Always" } else { "IfNotPresent" }
}

fn default_probe(probe: &mut Value) {
    fill(probe, "timeoutSeconds", 1);
    fill(probe, "periodSeconds", 10);
    fill(probe, "successThreshold", 1);
    fill(probe, "failureThreshold", 3);
    default_http_get(probe.get_mut("httpGet"));
    if let Some(grpc) = probe.get_mut("grpc") {
        default(grpc, "service", "");
    }
}

fn default_http_get(action: Option<&mut Value>) {
    if let Some(action) = action {
        fill(action, "path", "/");
        fill(action, "scheme", "HTTP");
    }
}

fn default_field_ref(reference: Option<&mut Value>) {
    if let Some(reference) = reference {
        fill(reference, "apiVersion", "v1");
    }
}

/// The divisor is written always, as `0` if there is none.
fn default_divisor(reference: &mut Value) {
    if let Some(divisor) = reference.get("divisor").and_then(quantity::Quantity::of) {
        reference["divisor"] = divisor.to_string().into();
    } else {
        default(reference, "divisor", "0");
    }
}

fn normalize_resources(resources: &mut Value) {
    for field in ["limits", "requests"] {
        if let Some(quantities) = resources.get_mut(field) {
            quantity::normalize(quantities);
        }
    }
}

fn default_volume(volume: &mut Value) {
    let Some(fields) = volume.as_object_mut() else { return };
    if fields.iter().all(|(field, source)| field == "name" || source.is_null()) {
        fields.insert("emptyDir".to_owned(), json!({}));
    }
    for (source, defaults) in SOURCES {
        if let Some(source) = volume.get_mut(*source).filter(|source| source.is_object()) {
            for (field, value) in *defaults {
                default(source, field, *value);
            }
        }
    }
    for item in items_at(volume, "/downwardAPI/items") {
        default_downward_item(item);
    }
    for source in items_at(volume, "/projected/sources") {
        for item in items_at(source, "/downwardAPI/items") {
            default_downward_item(item);
        }
        if let Some(token) = source.get_mut("serviceAccountToken") {
            default(token, "expirationSeconds", 3600);
        }
    }
    if let Some(size) = volume.pointer_mut("/emptyDir/sizeLimit")
        && let Some(quantity) = quantity::Quantity::of(size)
    {
        *size = quantity.to_string().into();
    }
    if let Some(image) = volume.get_mut("image").filter(|image| image.is_object()) {
        let policy = pull_policy(image["reference"].as_str().unwrap_or_default());
        fill(image, "pullPolicy", policy);
    }
    if let Some(template) = volume.pointer_mut("/ephemeral/volumeClaimTemplate") {
        child(template, "metadata");
        default(template, "spec", json!({}));
        persistent_volume_claim::default_spec(&mut template["spec"]);
    }
}

fn default_downward_item(item: &mut Value) {
    default_field_ref(item.get_mut("fieldRef"));
    if let Some(reference) = item.get_mut("resourceFieldRef") {
        default_divisor(reference);
    }
}

/// The items of a list field, none if it is not there.
pub(super) fn items_mut<'a>(object: &'a mut Value, field: &str) -> impl Iterator<Item = &'a mut Value> {
    object.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten()
}

fn items_at<'a>(object: &'a mut Value, pointer: &str) -> impl Iterator<Item = &'a mut Value> {
    object.pointer_mut(pointer).and_then(Value::as_array_mut).into_iter().flatten()
}
