//! What the server comes with: the kinds that are kept, and those that are only answered.

use super::{ALL_VERBS, Group, Resource, Subresource};
use crate::api::builtin::{BUILTINS, Builtin};

/// Groups in the order in which upstream lists them.
const ORDER: &[&str] = &[
    "",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "apiextensions.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
];

/// Resources that nobody keeps: group, kind, plural, whether they belong to a namespace.
const ANSWERED: &[(&str, &str, &str, bool)] = &[
    ("", "Binding", "bindings", true),
    ("authentication.k8s.io", "SelfSubjectReview", "selfsubjectreviews", false),
    ("authentication.k8s.io", "TokenReview", "tokenreviews", false),
    ("authorization.k8s.io", "LocalSubjectAccessReview", "localsubjectaccessreviews", true),
    ("authorization.k8s.io", "SelfSubjectAccessReview", "selfsubjectaccessreviews", false),
    ("authorization.k8s.io", "SelfSubjectRulesReview", "selfsubjectrulesreviews", false),
    ("authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews", false),
];

pub(super) fn groups() -> Vec<Group> {
    ORDER.iter().map(|name| group(name)).filter(|group| !group.versions.is_empty()).collect()
}

fn group(name: &'static str) -> Group {
    let mut group = Group { name: name.into(), versions: Vec::new() };
    for builtin in BUILTINS.iter().filter(|builtin| builtin.group == name) {
        builtin.versions.iter().for_each(|version| group.add((*version).into(), kept(builtin)));
    }
    for (_, kind, plural, namespaced) in ANSWERED.iter().filter(|(group, ..)| *group == name) {
        group.add("v1".into(), answered(kind, plural, *namespaced));
    }
    // Events have two names, and may have one entry in the table.
    if name == "events.k8s.io" && group.versions.is_empty() {
        let event = BUILTINS.iter().find(|builtin| builtin.group.is_empty() && builtin.kind == "Event");
        event.into_iter().for_each(|event| group.add("v1".into(), kept(event)));
    }
    group
}

fn kept(builtin: &'static Builtin) -> Resource {
    // Nobody may delete all namespaces at once.
    const NAMESPACE_VERBS: &[&str] = &["create", "delete", "get", "list", "patch", "update", "watch"];
    let status = builtin.behaviour.has_status().then_some("status");
    let mut subresources: Vec<_> =
        builtin.subresources.iter().copied().chain(status).map(subresource).collect();
    subresources.sort_by(|one, other| one.name.cmp(&other.name));
    Resource {
        plural: builtin.plural.into(),
        singular: builtin.kind.to_lowercase().into(),
        kind: builtin.kind.into(),
        short_names: builtin.short_names.iter().map(|name| (*name).into()).collect(),
        categories: builtin.categories.iter().map(|name| (*name).into()).collect(),
        namespaced: builtin.namespaced,
        verbs: if builtin.plural == "namespaces" { NAMESPACE_VERBS } else { ALL_VERBS },
        subresources,
        custom: false,
    }
}

fn answered(kind: &'static str, plural: &'static str, namespaced: bool) -> Resource {
    Resource {
        plural: plural.into(),
        singular: kind.to_lowercase().into(),
        kind: kind.into(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced,
        verbs: &["create"],
        subresources: Vec::new(),
        custom: false,
    }
}

/// What a subresource of a name takes, gives and can be asked for.
pub(super) fn subresource(name: &'static str) -> Subresource {
    let (other, verbs): (_, &'static [&'static str]) = match name {
        "binding" => (Some(("", "v1", "Binding")), &["create"]),
        "eviction" => (Some(("policy", "v1", "Eviction")), &["create"]),
        "finalize" => (None, &["update"]),
        "log" => (None, &["get"]),
        "scale" => (Some(("autoscaling", "v1", "Scale")), &["get", "patch", "update"]),
        "token" => (Some(("authentication.k8s.io", "v1", "TokenRequest")), &["create"]),
        _ => (None, &["get", "patch", "update"]),
    };
    Subresource { name: name.into(), other, verbs }
}
