//! IngressClass: which controller serves an Ingress.

use jiff::Timestamp;
use serde_json::Value;

use super::{forms::text, ingress, workload};
use crate::api::{
    behaviour::{AGE, Behaviour, Column, NAME, Part, column},
    fault::{Faults, Path},
    object, valid,
};

pub struct IngressClass;

const COLUMNS: &[Column] = &[
    NAME,
    column("Controller", "string", "Controller that serves this class."),
    column("Parameters", "string", "An object with more settings."),
    AGE,
];

const DEFAULT_ANNOTATION: &str = "ingressclass.kubernetes.io/is-default-class";
const MAX_CONTROLLER: usize = 250;

impl Behaviour for IngressClass {
    fn default(&self, object: &mut Value) {
        let Some(spec) = workload::within(object, "spec") else { return };
        if let Some(parameters) = spec.get_mut("parameters") {
            object::default(parameters, "scope", "Cluster");
        }
    }

    fn validate(&self, object: &Value, faults: &mut Faults) {
        let (spec, path) = (&object["spec"], Path::new("spec"));
        let (controller, place) = (text(spec, "controller"), path.child("controller"));
        if controller.len() > MAX_CONTROLLER {
            faults.too_long(&place, MAX_CONTROLLER as u64);
        }
        if controller.is_empty() {
            faults.required(&place, "");
        } else {
            domain_prefixed_path(controller, &place, faults);
        }
        if !spec["parameters"].is_null() {
            validate_parameters(&spec["parameters"], &path.child("parameters"), faults);
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, _part: Part, faults: &mut Faults) {
        let path = Path::new("spec.controller");
        valid::immutable(&new["spec"]["controller"], &old["spec"]["controller"], &path, faults);
    }

    fn has_generation(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let default = object["metadata"]["annotations"][DEFAULT_ANNOTATION] == "true";
        let parameters = &object["spec"]["parameters"];
        let group = text(parameters, "apiGroup");
        let parameters = match text(parameters, "kind") {
            "" => "<none>".to_owned(),
            kind if group.is_empty() => format!("{kind}/{}", text(parameters, "name")),
            kind => format!("{kind}.{group}/{}", text(parameters, "name")),
        };
        vec![
            format!("{}{}", object::name(object), if default { " (default)" } else { "" }).into(),
            text(&object["spec"], "controller").into(),
            parameters.into(),
            object::age(object, now).into(),
        ]
    }
}

/// A path below a domain: `example.com/controller`.
pub fn domain_prefixed_path(value: &str, path: &Path, faults: &mut Faults) {
    let (domain, rest) = value.split_once('/').unwrap_or_default();
    if domain.is_empty() || rest.is_empty() {
        let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        return faults.invalid_text(path, value, detail);
    }
    if let Some(fault) = valid::dns_subdomain(domain) {
        faults.invalid_text(path, domain, fault);
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
    if !rest.bytes().all(allowed) {
        let detail = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
        faults.invalid_text(path, rest, detail);
    }
}

fn validate_parameters(parameters: &Value, path: &Path, faults: &mut Faults) {
    ingress::validate_reference(parameters, path, faults);
    let (namespace, place) = (&parameters["namespace"], path.child("namespace"));
    match text(parameters, "scope") {
        "Cluster" => {
            if !namespace.is_null() {
                faults.forbidden(&place, "`parameters.scope` is set to 'Cluster'");
            }
        }
        "Namespace" => match namespace.as_str() {
            None => faults.required(&place, "`parameters.scope` is set to 'Namespace'"),
            Some(name) => {
                if let Some(fault) = valid::dns_label(name) {
                    faults.invalid_text(&place, name, fault);
                }
            }
        },
        _ => faults.not_supported(&path.child("scope"), &parameters["scope"], &["Cluster", "Namespace"]),
    }
}
