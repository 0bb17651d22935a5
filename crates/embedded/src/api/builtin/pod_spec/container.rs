//! What may be wrong with containers: the regular ones, those before them, and those for a look inside.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    resources::validate_resources,
    volume::{validate_field_ref, validate_resource_ref},
};
use crate::api::{
    builtin::forms::{
        descending_path, each, file_path, form, id, port_name, port_or_name, required, required_form,
        required_one_of, text,
    },
    fault::{Faults, Path},
    object::is_empty,
    valid,
};

const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];
const ENV_FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// What a container that is added to a running pod may say.
const EPHEMERAL_FIELDS: [&str; 18] = [
    "name",
    "image",
    "command",
    "args",
    "workingDir",
    "envFrom",
    "env",
    "volumeMounts",
    "volumeDevices",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "imagePullPolicy",
    "securityContext",
    "stdin",
    "stdinOnce",
    "tty",
    "targetContainerName",
    // Allowed to be there because it is filled in; anything in it is refused below.
    "resources",
];

/// What containers need to know of the spec around them.
pub(super) struct Surroundings<'a> {
    spec: &'a Value,
    /// Names of the volumes that are sound, with their sources.
    volumes: BTreeMap<&'a str, &'a Value>,
}

impl<'a> Surroundings<'a> {
    pub(super) fn new(spec: &'a Value, volumes: BTreeMap<&'a str, &'a Value>) -> Self {
        Self { spec, volumes }
    }

    fn grace_period(&self) -> Option<i64> {
        self.spec["terminationGracePeriodSeconds"].as_i64()
    }
}

/// All containers of a spec.
pub(super) fn validate_containers(around: &Surroundings<'_>, path: &Path, faults: &mut Faults) {
    if is_empty(&around.spec["containers"]) {
        faults.required(&path.child("containers"), "");
    }
    let mut names = BTreeSet::new();
    let mut host_ports = BTreeSet::new();
    for (path, container) in each(around.spec, "containers", path) {
        validate_common(container, around, &path, faults);
        unique_name(container, &mut names, &path, faults);
        validate_handlers(container, around, &path, faults);
        let policies = ["Always", "Never", "OnFailure"];
        valid::one_of(&container["restartPolicy"], &policies, &path.child("restartPolicy"), faults);
        unique_host_ports(container, &mut host_ports, &path, faults);
    }
    for (path, container) in each(around.spec, "initContainers", path) {
        validate_init(container, around, &path, faults);
        unique_name(container, &mut names, &path, faults);
    }
    let others = names.clone();
    for (path, container) in each(around.spec, "ephemeralContainers", path) {
        validate_ephemeral(container, around, &path, faults);
        unique_name(container, &mut names, &path, faults);
        let target = text(container, "targetContainerName");
        if !target.is_empty() && !others.contains(target) {
            faults.not_found(&path.child("targetContainerName"), &json!(target));
        }
    }
}

fn unique_name<'a>(container: &'a Value, names: &mut BTreeSet<&'a str>, path: &Path, faults: &mut Faults) {
    let name = text(container, "name");
    if !name.is_empty() && !names.insert(name) {
        faults.duplicate(&path.child("name"), &json!(name));
    }
}

fn unique_host_ports(container: &Value, taken: &mut BTreeSet<String>, path: &Path, faults: &mut Faults) {
    for (path, port) in each(container, "ports", path) {
        let Some(number) = port["hostPort"].as_i64().filter(|number| *number != 0) else { continue };
        let key = format!("{}/{}/{number}", text(port, "protocol"), text(port, "hostIP"));
        if taken.contains(&key) {
            faults.duplicate(&path.child("hostPort"), &json!(key));
        }
        taken.insert(key);
    }
}

fn validate_init(container: &Value, around: &Surroundings<'_>, path: &Path, faults: &mut Faults) {
    validate_common(container, around, path, faults);
    unique_host_ports(container, &mut BTreeSet::new(), path, faults);
    let policies = ["Always", "Never", "OnFailure"];
    valid::one_of(&container["restartPolicy"], &policies, &path.child("restartPolicy"), faults);
    if text(container, "restartPolicy") == "Always" {
        validate_handlers(container, around, path, faults);
        return;
    }
    for field in ["lifecycle"].iter().chain(&PROBES) {
        if !container[field].is_null() {
            let detail = "may not be set for init containers without restartPolicy=Always";
            faults.forbidden(&path.child(field), detail);
        }
    }
}

fn validate_ephemeral(container: &Value, around: &Surroundings<'_>, path: &Path, faults: &mut Faults) {
    const DETAIL: &str = "cannot be set for an Ephemeral Container";
    validate_common(container, around, path, faults);
    for (field, value) in container.as_object().into_iter().flatten() {
        let allowed = EPHEMERAL_FIELDS.contains(&field.as_str());
        if !is_empty(value) && (!allowed || field == "resources") {
            faults.forbidden(&path.child(field), DETAIL);
        }
    }
    for (path, mount) in each(container, "volumeMounts", path) {
        for field in ["subPath", "subPathExpr"] {
            if !text(mount, field).is_empty() {
                faults.forbidden(&path.child(field), DETAIL);
            }
        }
    }
}

/// What holds for every sort of container.
fn validate_common(container: &Value, around: &Surroundings<'_>, path: &Path, faults: &mut Faults) {
    required_form(container, "name", valid::dns_label, path, faults);
    required(container, "image", path, faults);
    required_one_of(
        &container["terminationMessagePolicy"],
        &["File", "FallbackToLogsOnError"],
        &path.child("terminationMessagePolicy"),
        faults,
    );
    validate_ports(container, path, faults);
    validate_env(container, path, faults);
    validate_env_from(container, path, faults);
    validate_mounts(container, around, path, faults);
    let pull = &path.child("imagePullPolicy");
    required_one_of(&container["imagePullPolicy"], &["Always", "IfNotPresent", "Never"], pull, faults);
    validate_resources(&container["resources"], &path.child("resources"), faults);
    validate_security(&container["securityContext"], &path.child("securityContext"), faults);
}

fn validate_ports(container: &Value, path: &Path, faults: &mut Faults) {
    let mut names = BTreeSet::new();
    for (path, port) in each(container, "ports", path) {
        let name = text(port, "name");
        let wrong = if name.is_empty() { Vec::new() } else { port_name(name) };
        for message in &wrong {
            faults.invalid_text(&path.child("name"), name, message);
        }
        if !name.is_empty() && wrong.is_empty() && !names.insert(name) {
            faults.duplicate(&path.child("name"), &json!(name));
        }
        if is_empty(&port["containerPort"]) {
            faults.required(&path.child("containerPort"), "");
        }
        for field in ["containerPort", "hostPort"] {
            if !is_empty(&port[field]) {
                valid::port(&port[field], &path.child(field), faults);
            }
        }
        required_one_of(&port["protocol"], &["SCTP", "TCP", "UDP"], &path.child("protocol"), faults);
    }
}

/// Anything that can be printed may stand in a name but for the sign that ends it.
fn env_name(name: &str) -> Option<String> {
    let fine = name.bytes().all(|b| (b.is_ascii_graphic() || b == b' ') && b != b'=');
    (!fine).then(|| {
        "a valid environment variable name must consist only of printable ASCII characters other than '='"
            .to_owned()
    })
}

fn validate_env(container: &Value, path: &Path, faults: &mut Faults) {
    for (path, variable) in each(container, "env", path) {
        required_form(variable, "name", env_name, &path, faults);
        let (from, path) = (&variable["valueFrom"], path.child("valueFrom"));
        if from.is_null() {
            continue;
        }
        let given = |field: &str| !from[field].is_null();
        if given("fieldRef") {
            validate_field_ref(&from["fieldRef"], &ENV_FIELDS, &path.child("fieldRef"), faults);
        }
        if given("resourceFieldRef") {
            validate_resource_ref(&from["resourceFieldRef"], &path.child("resourceFieldRef"), faults);
        }
        for field in ["configMapKeyRef", "secretKeyRef"] {
            if given(field) {
                let path = path.child(field);
                let name = text(&from[field], "name");
                if let Some(fault) = valid::dns_subdomain(name) {
                    faults.invalid_text(&path.child("name"), name, fault);
                }
                required_form(&from[field], "key", valid::config_key, &path, faults);
            }
        }
        if given("fileKeyRef") {
            validate_file_key(&from["fileKeyRef"], &path.child("fileKeyRef"), faults);
        }
        let sources = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];
        let count = sources.into_iter().filter(|source| given(source)).count();
        let detail = match count {
            0 => {
                "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or \
                 `fileKeyRef`"
            }
            _ if !text(variable, "value").is_empty() => "may not be specified when `value` is not empty",
            2.. => "may not have more than one field specified at a time",
            _ => continue,
        };
        faults.invalid_text(&path, "", detail);
    }
}

fn validate_file_key(reference: &Value, path: &Path, faults: &mut Faults) {
    required_form(reference, "key", env_name, path, faults);
    required(reference, "volumeName", path, faults);
    let file = required(reference, "path", path, faults);
    file_path(file, &path.child("path"), faults);
}

fn validate_env_from(container: &Value, path: &Path, faults: &mut Faults) {
    let list = path.child("envFrom");
    for (path, source) in each(container, "envFrom", path) {
        form(source, "prefix", env_name, &path, faults);
        let sources = ["configMapRef", "secretRef"];
        let given: Vec<_> = sources.into_iter().filter(|field| !source[field].is_null()).collect();
        for field in &given {
            required_form(&source[field], "name", valid::dns_subdomain, &path.child(field), faults);
        }
        match given.len() {
            0 => faults.invalid_text(&list, "", "must specify one of: `configMapRef` or `secretRef`"),
            1 => {}
            _ => faults.invalid_text(&list, "", "may not have more than one field specified at a time"),
        }
    }
}

fn validate_mounts(container: &Value, around: &Surroundings<'_>, path: &Path, faults: &mut Faults) {
    let source = |name: &str| around.volumes.get(name).copied();
    let mut paths = BTreeSet::new();
    let list = path.child("volumeMounts");
    for (path, mount) in each(container, "volumeMounts", path) {
        let name = required(mount, "name", &path, faults);
        if source(name).is_none() {
            faults.not_found(&path.child("name"), &json!(name));
        }
        let target = required(mount, "mountPath", &path, faults);
        if !paths.insert(target) {
            faults.invalid_text(&path.child("mountPath"), target, "must be unique");
        }
        // The real server names the list here, not the item.
        for field in ["subPath", "subPathExpr"] {
            descending_path(text(mount, field), &list.child(field), faults);
        }
        if !text(mount, "subPath").is_empty() && !text(mount, "subPathExpr").is_empty() {
            let value = text(mount, "subPathExpr");
            let detail = "subPathExpr and subPath are mutually exclusive";
            faults.invalid_text(&path.child("subPathExpr"), value, detail);
        }
        let propagations = ["Bidirectional", "HostToContainer", "None"];
        valid::one_of(&mount["mountPropagation"], &propagations, &list.child("mountPropagation"), faults);
    }
    let mut names = BTreeSet::new();
    for (path, device) in each(container, "volumeDevices", path) {
        let name = required(device, "name", &path, faults);
        match source(name) {
            None => faults.not_found(&path.child("name"), &json!(name)),
            Some(source) if source["persistentVolumeClaim"].is_null() && source["ephemeral"].is_null() => {
                let detail =
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                faults.invalid_text(&path.child("name"), name, detail);
            }
            Some(_) => {}
        }
        if !names.insert(name) {
            faults.invalid_text(&path.child("name"), name, "must be unique");
        }
        let target = required(device, "devicePath", &path, faults);
        if !paths.insert(target) {
            faults.invalid_text(&path.child("devicePath"), target, "must be unique");
        }
    }
}

/// Probes and hooks.
fn validate_handlers(container: &Value, around: &Surroundings<'_>, path: &Path, faults: &mut Faults) {
    for hook in ["postStart", "preStop"] {
        let handler = &container["lifecycle"][hook];
        if !handler.is_null() {
            let path = path.child("lifecycle").child(hook);
            validate_handler(handler, around.grace_period(), &path, faults);
        }
    }
    for field in PROBES {
        let (probe, path) = (&container[field], path.child(field));
        if !probe.is_null() {
            validate_probe(probe, field, &path, faults);
        }
    }
}

fn validate_probe(probe: &Value, field: &str, path: &Path, faults: &mut Faults) {
    validate_handler(probe, None, path, faults);
    let numbers =
        ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"];
    for number in numbers {
        valid::not_negative(&probe[number], &path.child(number), faults);
    }
    let grace = &probe["terminationGracePeriodSeconds"];
    if field == "readinessProbe" {
        if !grace.is_null() {
            let detail = "must not be set for readinessProbes";
            faults.invalid(&path.child("terminationGracePeriodSeconds"), grace, detail);
        }
        return;
    }
    if grace.as_i64().is_some_and(|seconds| seconds <= 0) {
        faults.invalid(&path.child("terminationGracePeriodSeconds"), grace, "must be greater than 0");
    }
    if probe["successThreshold"].as_i64().is_some_and(|threshold| threshold != 1) {
        faults.invalid(&path.child("successThreshold"), &probe["successThreshold"], "must be 1");
    }
}

/// What a probe or hook does: exactly one thing.
fn validate_handler(handler: &Value, grace: Option<i64>, path: &Path, faults: &mut Faults) {
    let kinds = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];
    let mut given = kinds.into_iter().filter(|kind| !handler[kind].is_null());
    let Some(kind) = given.next() else {
        faults.required(path, "must specify a handler type");
        return;
    };
    let (action, action_path) = (&handler[kind], path.child(kind));
    match kind {
        "exec" if is_empty(&action["command"]) => faults.required(&action_path.child("command"), ""),
        "httpGet" => validate_http_get(action, &action_path, faults),
        "tcpSocket" | "grpc" => port_or_name(&action["port"], &action_path.child("port"), faults),
        "sleep" => {
            let seconds = action["seconds"].as_i64().unwrap_or_default();
            if let Some(grace) = grace
                && !(0..=grace).contains(&seconds)
            {
                let detail =
                    format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
                faults.invalid(&action_path, &json!(seconds), detail);
            }
        }
        _ => {}
    }
    for other in given {
        faults.forbidden(&path.child(other), "may not specify more than 1 handler type");
    }
}

fn validate_http_get(action: &Value, path: &Path, faults: &mut Faults) {
    port_or_name(&action["port"], &path.child("port"), faults);
    valid::one_of(&action["scheme"], &["HTTP", "HTTPS"], &path.child("scheme"), faults);
    for (_, header) in each(action, "httpHeaders", path) {
        let name = text(header, "name");
        let fine = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        if name.is_empty() || !name.bytes().all(fine) {
            faults.invalid_text(
                &path.child("httpHeaders"),
                name,
                "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used \
                 for validation is '[-A-Za-z0-9]+')",
            );
        }
    }
}

/// Who a container runs as and what it may do; also what pods and containers have in common there.
pub(super) fn validate_security(context: &Value, path: &Path, faults: &mut Faults) {
    for field in ["runAsUser", "runAsGroup"] {
        id(&context[field], &path.child(field), faults);
    }
    let profile = &context["seccompProfile"];
    if !profile.is_null() {
        let path = path.child("seccompProfile");
        let types = ["Localhost", "RuntimeDefault", "Unconfined"];
        required_one_of(&profile["type"], &types, &path.child("type"), faults);
        let local = text(profile, "type") == "Localhost";
        match text(profile, "localhostProfile") {
            "" if local => {
                let detail = "must be set when seccomp type is Localhost";
                faults.required(&path.child("localhostProfile"), detail);
            }
            file if local => descending_path(file, &path.child("localhostProfile"), faults),
            "" => {}
            file => {
                let detail = "can only be set when seccomp type is Localhost";
                faults.invalid_text(&path.child("localhostProfile"), file, detail);
            }
        }
    }
    valid::one_of(&context["procMount"], &["Default", "Unmasked"], &path.child("procMount"), faults);
    if context["allowPrivilegeEscalation"] == false && context["privileged"] == true {
        let detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
        faults.invalid(path, context, detail);
    }
}
