//! Roles and bindings for tests.

use serde_json::{Value, json};

use super::{Policy, User};
use crate::api::object;

pub(super) fn user(name: &str, groups: &[&str]) -> User {
    let groups = groups.iter().map(|group| (*group).to_owned()).collect();
    User { name: name.to_owned(), groups, ..User::default() }
}

pub(super) fn rule(verb: &str, resource: &str) -> Value {
    json!({ "apiGroups": [""], "resources": [resource], "verbs": [verb] })
}

/// A role; those that have a namespace are in `ns`.
pub(super) fn role(kind: &str, name: &str, rules: Value) -> Value {
    let mut role = json!({ "kind": kind, "metadata": { "name": name }, "rules": rules });
    if !kind.starts_with("Cluster") {
        role["metadata"]["namespace"] = "ns".into();
    }
    role
}

/// A binding to users and groups, or to service accounts of `ns`.
pub(super) fn binding(kind: &str, name: &str, to: &str, role: &str, subjects: &[(&str, &str)]) -> Value {
    let subjects = subjects.iter().map(|(kind, name)| match *kind {
        "ServiceAccount" => json!({ "kind": kind, "name": name, "namespace": "ns" }),
        _ => json!({ "kind": kind, "name": name }),
    });
    let mut binding = json!({
        "kind": kind,
        "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": to, "name": role },
        "subjects": subjects.collect::<Vec<_>>(),
    });
    if !kind.starts_with("Cluster") {
        binding["metadata"]["namespace"] = "ns".into();
    }
    binding
}

/// A policy of objects of all four kinds.
pub(super) fn policy(objects: &[Value]) -> Policy {
    let of = |kind: &'static str| objects.iter().filter(move |object| object::text(object, "/kind") == kind);
    Policy::build(of("Role"), of("ClusterRole"), of("RoleBinding"), of("ClusterRoleBinding"))
}
