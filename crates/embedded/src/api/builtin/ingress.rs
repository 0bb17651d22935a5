//! Ingress: which requests from outside go to which Service.

use std::{collections::BTreeSet, net::IpAddr};

use jiff::Timestamp;
use serde_json::Value;

use super::{
    forms::{each, form, ip, port_name, required, required_form, text},
    workload,
};
use crate::api::{
    behaviour::{AGE, Behaviour, Column, NAME, Part, column},
    fault::{Faults, Path},
    object, valid,
};

pub struct Ingress;

const COLUMNS: &[Column] = &[
    NAME,
    column("Class", "string", "Name of the IngressClass."),
    column("Hosts", "string", "Hosts that the rules are about."),
    column("Address", "string", "Where the load balancer listens."),
    column("Ports", "string", "Ports that are open."),
    AGE,
];

/// How the class was named before there was a field for it.
const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

impl Behaviour for Ingress {
    fn default(&self, object: &mut Value) {
        workload::within(object, "spec");
        default_status(object);
    }

    fn prepare_create(&self, object: &mut Value) {
        workload::reset_status(object, &[]);
        default_status(object);
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, part: Part) {
        workload::keep_other_part(new, old, part);
    }

    fn validate(&self, object: &Value, faults: &mut Faults) {
        let (spec, path) = (&object["spec"], Path::new("spec"));
        if object::is_empty(&spec["rules"]) && spec["defaultBackend"].is_null() {
            faults.invalid(&path, &spec["rules"], "either `defaultBackend` or `rules` must be specified");
        }
        if !spec["defaultBackend"].is_null() {
            validate_backend(&spec["defaultBackend"], &path.child("defaultBackend"), faults);
        }
        for (path, rule) in each(spec, "rules", &path) {
            validate_rule(rule, &path, faults);
        }
        for (path, tls) in each(spec, "tls", &path) {
            for (path, host) in each(tls, "hosts", &path) {
                validate_host(host.as_str().unwrap_or_default(), &path, faults);
            }
            form(tls, "secretName", valid::dns_subdomain, &path, faults);
        }
        if let Some(class) = spec["ingressClassName"].as_str()
            && let Some(fault) = valid::dns_subdomain(class)
        {
            faults.invalid_text(&path.child("ingressClassName"), class, fault);
        }
    }

    fn validate_update(&self, new: &Value, _old: &Value, part: Part, faults: &mut Faults) {
        if part == Part::Status {
            for (path, point) in
                each(&new["status"]["loadBalancer"], "ingress", &Path::new("status.loadBalancer"))
            {
                if !text(point, "ip").is_empty() {
                    ip(text(point, "ip"), &path.child("ip"), faults);
                }
                form(point, "hostname", valid::dns_subdomain, &path, faults);
                not_an_address(text(point, "hostname"), &path.child("hostname"), faults);
            }
        }
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let annotated = object["metadata"]["annotations"][CLASS_ANNOTATION].is_string();
        if old.is_none() && annotated && object["spec"]["ingressClassName"].is_null() {
            let warning = "is deprecated, please use 'spec.ingressClassName' instead";
            vec![format!("annotation {CLASS_ANNOTATION:?} {warning}")]
        } else {
            Vec::new()
        }
    }

    fn has_status(&self) -> bool {
        true
    }

    fn has_generation(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let spec = &object["spec"];
        let ports = if object::is_empty(&spec["tls"]) { "80" } else { "80, 443" };
        vec![
            object::name(object).into(),
            spec["ingressClassName"].as_str().unwrap_or("<none>").into(),
            hosts(object::items(spec, "/rules")).into(),
            addresses(object).into(),
            ports.into(),
            object::age(object, now).into(),
        ]
    }
}

fn default_status(object: &mut Value) {
    if let Some(status) = workload::within(object, "status") {
        workload::within(status, "loadBalancer");
    }
}

/// `a,b,c + 2 more...`, where rules without a host count for more but are not named.
fn hosts(rules: &[Value]) -> String {
    let mut named = Vec::new();
    let mut more = false;
    for rule in rules {
        more |= named.len() == 3;
        if !more && !text(rule, "host").is_empty() {
            named.push(text(rule, "host"));
        }
    }
    match (named.is_empty(), more) {
        (true, _) => "*".to_owned(),
        (false, false) => named.join(","),
        (false, true) => format!("{} + {} more...", named.join(","), rules.len() - 3),
    }
}

fn addresses(ingress: &Value) -> String {
    let points = object::items(ingress, "/status/loadBalancer/ingress").iter();
    let addresses: BTreeSet<_> = points
        .map(|point| if text(point, "ip").is_empty() { text(point, "hostname") } else { text(point, "ip") })
        .filter(|address| !address.is_empty())
        .collect();
    addresses.into_iter().collect::<Vec<_>>().join(",")
}

fn not_an_address(host: &str, path: &Path, faults: &mut Faults) {
    if host.parse::<IpAddr>().is_ok() {
        faults.invalid_text(path, host, "must be a DNS name, not an IP address");
    }
}

/// A name, or all names below one: `*.example.com`.
fn validate_host(host: &str, path: &Path, faults: &mut Faults) {
    if !host.contains('*') {
        if let Some(fault) = valid::dns_subdomain(host) {
            faults.invalid_text(path, host, fault);
        }
    } else if host.strip_prefix("*.").is_none_or(|rest| valid::dns_subdomain(rest).is_some()) {
        let detail = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which \
                      must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric \
                      character (e.g. '*.example.com', regex used for validation is \
                      '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
        faults.invalid_text(path, host, detail);
    }
}

fn validate_rule(rule: &Value, path: &Path, faults: &mut Faults) {
    let host = text(rule, "host");
    if !host.is_empty() {
        not_an_address(host, &path.child("host"), faults);
        validate_host(host, &path.child("host"), faults);
    }
    if rule["http"].is_null() {
        return;
    }
    let path = path.child("http");
    if object::is_empty(&rule["http"]["paths"]) {
        faults.required(&path.child("paths"), "");
    }
    for (path, entry) in each(&rule["http"], "paths", &path) {
        validate_path(entry, &path, faults);
    }
}

fn validate_path(entry: &Value, path: &Path, faults: &mut Faults) {
    let (prefix, place) = (text(entry, "path"), path.child("path"));
    let mut wrong = |detail: String| faults.invalid_text(&place, prefix, detail);
    match entry["pathType"].as_str() {
        None => return faults.required(&path.child("pathType"), "pathType must be specified"),
        Some("Exact" | "Prefix") => {
            if !prefix.starts_with('/') {
                wrong("must be an absolute path".to_owned());
            }
            for sequence in ["//", "/./", "/../", "%2f", "%2F"] {
                if prefix.contains(sequence) {
                    wrong(format!("must not contain '{sequence}'"));
                }
            }
            for suffix in ["/..", "/."] {
                if prefix.ends_with(suffix) {
                    wrong(format!("cannot end with '{suffix}'"));
                }
            }
        }
        Some("ImplementationSpecific") => {
            if !prefix.is_empty() && !prefix.starts_with('/') {
                wrong("must be an absolute path".to_owned());
            }
        }
        Some(_) => {
            let allowed = ["Exact", "ImplementationSpecific", "Prefix"];
            faults.not_supported(&path.child("pathType"), &entry["pathType"], &allowed);
        }
    }
    validate_backend(&entry["backend"], &path.child("backend"), faults);
}

fn validate_backend(backend: &Value, path: &Path, faults: &mut Faults) {
    match (backend["resource"].is_null(), backend["service"].is_null()) {
        (false, false) => faults.invalid_text(path, "", "cannot set both resource and service backends"),
        (true, true) => faults.invalid_text(path, "", "resource or service backend is required"),
        (false, true) => validate_reference(&backend["resource"], &path.child("resource"), faults),
        (true, false) => validate_service(&backend["service"], path, faults),
    }
}

fn validate_service(service: &Value, path: &Path, faults: &mut Faults) {
    let (place, port) = (path.child("service"), &service["port"]);
    required_form(service, "name", valid::dns_label, &place, faults);
    match (text(port, "name"), port["number"].as_i64().unwrap_or(0)) {
        ("", 0) => faults.required(path, "port name or number is required"),
        ("", _) => valid::port(&port["number"], &place.child("port.number"), faults),
        (name, 0) => {
            for message in port_name(name) {
                faults.invalid_text(&place.child("port.name"), name, message);
            }
        }
        _ => faults.invalid_text(path, "", "cannot set both port name & port number"),
    }
}

/// An object of any kind in the same namespace.
pub fn validate_reference(reference: &Value, path: &Path, faults: &mut Faults) {
    form(reference, "apiGroup", valid::dns_subdomain, path, faults);
    for field in ["kind", "name"] {
        let value = required(reference, field, path, faults);
        if let Some(fault) = valid::path_segment(value) {
            faults.invalid_text(&path.child(field), value, fault);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults(spec: Value) -> Vec<String> {
        let mut faults = Faults::default();
        Ingress.validate(&json!({ "spec": spec }), &mut faults);
        faults.iter().map(|fault| format!("{} {}", fault.field, fault.reason)).collect()
    }

    fn rule(host: &str, path: &str) -> Value {
        let backend = json!({ "service": { "name": "web", "port": { "number": 80 } } });
        let entry = json!({ "path": path, "pathType": "Prefix", "backend": backend });
        json!({ "rules": [{ "host": host, "http": { "paths": [entry] } }] })
    }

    #[test]
    fn hosts_are_names_and_paths_are_plain() {
        assert!(faults(rule("*.example.com", "/")).is_empty() && faults(rule("", "/a")).is_empty());
        for host in ["192.0.2.1", "a.*.com", "*", "Upper.com"] {
            assert_eq!(faults(rule(host, "/")), ["spec.rules[0].host FieldValueInvalid"], "{host}");
        }
        for path in ["a", "/a//b", "/a/..", "/%2f"] {
            assert_eq!(
                faults(rule("", path)),
                ["spec.rules[0].http.paths[0].path FieldValueInvalid"],
                "{path}"
            );
        }
    }

    #[test]
    fn a_backend_is_one_port_of_one_service() {
        let backend = |backend: Value| faults(json!({ "defaultBackend": backend }));
        let service = |port: Value| json!({ "service": { "name": "web", "port": port } });
        assert!(backend(service(json!({ "name": "http" }))).is_empty());
        let required = ["spec.defaultBackend FieldValueRequired"];
        assert_eq!(backend(service(json!({}))), required);
        let invalid = ["spec.defaultBackend FieldValueInvalid"];
        assert_eq!(backend(service(json!({ "name": "http", "number": 1 }))), invalid);
        assert_eq!(backend(json!({})), invalid);
        assert_eq!(faults(json!({})), ["spec FieldValueInvalid"]);
    }

    #[test]
    fn cells_sum_up_hosts_and_addresses() {
        let ingress = json!({
            "metadata": { "name": "a" },
            "spec": { "rules": [{ "host": "a" }, { "host": "b" }, { "host": "c" }, { "host": "d" }], "tls": [{}] },
            "status": { "loadBalancer": { "ingress": [{ "ip": "192.0.2.2" }, { "hostname": "lb" }] } }
        });
        let cells = Ingress.cells(&ingress, Timestamp::UNIX_EPOCH);
        let expected = json!(["a", "<none>", "a,b,c + 1 more...", "192.0.2.2,lb", "80, 443", "<unknown>"]);
        assert_eq!(json!(cells), expected);
    }
}
