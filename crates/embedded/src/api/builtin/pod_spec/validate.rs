//! What may be wrong with a pod's spec as a whole, and with a template.

use serde_json::{Value, json};

use super::{
    container::{Surroundings, validate_containers, validate_security},
    resources::validate_resources,
    scheduling::validate_scheduling,
    volume::validate_volumes,
};
use crate::api::{
    builtin::forms::{each, form, id, ip, required_one_of, text},
    fault::{Faults, Path},
    object::is_empty,
    valid,
};

/// A pod template at `path`, for example `spec.template`.
pub(crate) fn validate_template(template: &Value, path: &Path, faults: &mut Faults) {
    // The real server leaves `metadata` out of these paths.
    valid::labels(&template["metadata"]["labels"], &path.child("labels"), faults);
    for key in template["metadata"]["annotations"].as_object().into_iter().flat_map(|map| map.keys()) {
        if let Some(fault) = valid::qualified_name(&key.to_lowercase()) {
            faults.invalid_text(&path.child("annotations"), key, fault);
        }
    }
    validate_spec(&template["spec"], &path.child("spec"), faults);
    if !is_empty(&template["spec"]["ephemeralContainers"]) {
        let path = path.child("spec").child("ephemeralContainers");
        faults.forbidden(&path, "ephemeral containers not allowed in pod template");
    }
}

/// A pod's spec at `path`.
pub(crate) fn validate_spec(spec: &Value, path: &Path, faults: &mut Faults) {
    let volumes = validate_volumes(spec, path, faults);
    validate_containers(&Surroundings::new(spec, volumes), path, faults);
    if !spec["resources"].is_null() {
        validate_resources(&spec["resources"], &path.child("resources"), faults);
    }
    validate_host_ports(spec, path, faults);
    let at = |field: &str| path.child(field);
    let restart = ["Always", "OnFailure", "Never"];
    required_one_of(&spec["restartPolicy"], &restart, &at("restartPolicy"), faults);
    let dns = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    required_one_of(&spec["dnsPolicy"], &dns, &at("dnsPolicy"), faults);
    let preemption = ["PreemptLowerPriority", "Never"];
    valid::one_of(&spec["preemptionPolicy"], &preemption, &at("preemptionPolicy"), faults);
    validate_pod_security(spec, path, faults);
    validate_dns(spec, path, faults);
    validate_scheduling(spec, path, faults);
    for (path, gate) in each(spec, "readinessGates", path) {
        let condition = text(gate, "conditionType");
        if let Some(fault) = valid::qualified_name(condition) {
            faults.invalid_text(&path.child("conditionType"), condition, fault);
        }
    }
    for field in ["serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName"] {
        form(spec, field, valid::dns_subdomain, path, faults);
    }
    for field in ["hostname", "subdomain"] {
        form(spec, field, valid::dns_label, path, faults);
    }
    let deadline = &spec["activeDeadlineSeconds"];
    if deadline.as_i64().is_some_and(|seconds| !(1..=i64::from(i32::MAX)).contains(&seconds)) {
        faults.invalid(&at("activeDeadlineSeconds"), deadline, "must be between 1 and 2147483647, inclusive");
    }
    for (path, alias) in each(spec, "hostAliases", path) {
        ip(text(alias, "ip"), &path.child("ip"), faults);
        for (path, name) in each(alias, "hostnames", &path) {
            if let Some(fault) = name.as_str().and_then(valid::dns_subdomain) {
                faults.invalid(&path, name, fault);
            }
        }
    }
    if !spec["os"].is_null() {
        // The real server names the object here, not its field.
        required_one_of(&spec["os"]["name"], &["linux", "windows"], &at("os"), faults);
    }
}

/// On the host's network a container has no ports of its own.
fn validate_host_ports(spec: &Value, path: &Path, faults: &mut Faults) {
    if spec["hostNetwork"] != true {
        return;
    }
    for (path, container) in each(spec, "containers", path) {
        for (path, port) in each(container, "ports", &path) {
            let host = &port["hostPort"];
            if !is_empty(host) && *host != port["containerPort"] {
                let detail = "must match `containerPort` when `hostNetwork` is true";
                faults.invalid(&path.child("hostPort"), host, detail);
            }
        }
    }
}

fn validate_pod_security(spec: &Value, path: &Path, faults: &mut Faults) {
    let (context, path) = (&spec["securityContext"], path.child("securityContext"));
    validate_security(context, &path, faults);
    id(&context["fsGroup"], &path.child("fsGroup"), faults);
    for (path, group) in each(context, "supplementalGroups", &path) {
        id(group, &path, faults);
    }
    let policies = ["Always", "OnRootMismatch"];
    valid::one_of(&context["fsGroupChangePolicy"], &policies, &path.child("fsGroupChangePolicy"), faults);
    let policies = ["Merge", "Strict"];
    let policy = &context["supplementalGroupsPolicy"];
    valid::one_of(policy, &policies, &path.child("supplementalGroupsPolicy"), faults);
    if spec["shareProcessNamespace"] == true && spec["hostPID"] == true {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        faults.invalid(&path.child("shareProcessNamespace"), &json!(true), detail);
    }
}

fn validate_dns(spec: &Value, path: &Path, faults: &mut Faults) {
    let (config, path) = (&spec["dnsConfig"], path.child("dnsConfig"));
    if text(spec, "dnsPolicy") == "None" {
        if config.is_null() {
            faults.required(&path, "must provide `dnsConfig` when `dnsPolicy` is None");
            return;
        }
        if is_empty(&config["nameservers"]) {
            let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            faults.required(&path.child("nameservers"), detail);
            return;
        }
    }
    for (field, most, what) in [("nameservers", 3, "nameservers"), ("searches", 32, "search paths")] {
        if config[field].as_array().is_some_and(|items| items.len() > most) {
            let detail = format!("must not have more than {most} {what}");
            faults.invalid(&path.child(field), &config[field], detail);
        }
    }
    for (path, server) in each(config, "nameservers", &path) {
        ip(server.as_str().unwrap_or_default(), &path, faults);
    }
    for (path, search) in each(config, "searches", &path) {
        let domain = search.as_str().unwrap_or_default();
        // Underscores are common in such domains and have come to be allowed.
        let plain = domain.strip_suffix('.').unwrap_or(domain).replace('_', "a");
        if domain != "."
            && let Some(fault) = valid::dns_subdomain(&plain)
        {
            faults.invalid(&path, search, fault);
        }
    }
    for (path, option) in each(config, "options", &path) {
        if text(option, "name").is_empty() {
            faults.required(&path, "must not be empty");
        }
    }
}
