//! What roles and bindings, of a namespace or of the cluster, have in common.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    forms::{each, required, text},
    workload,
};
use crate::api::{
    behaviour::{AGE, Column, NAME, column, wide},
    fault::{Faults, Path},
    object, valid,
};

const GROUP: &str = "rbac.authorization.k8s.io";

/// The columns of roles: the only kinds that show a time instead of an age.
pub const ROLE_COLUMNS: &[Column] = &[NAME, column("Created At", "date", "Time of creation.")];

pub const BINDING_COLUMNS: &[Column] = &[
    NAME,
    column("Role", "string", "The role that is bound."),
    AGE,
    wide("Users", "string", "Users that are bound."),
    wide("Groups", "string", "Groups that are bound."),
    wide("ServiceAccounts", "string", "Service accounts that are bound."),
];

/// A role without rules says so.
pub fn default_rules(role: &mut Value) {
    if let Some(fields) = role.as_object_mut()
        && fields.get("rules").is_none_or(object::is_empty)
    {
        fields.insert("rules".to_owned(), Value::Null);
    }
}

/// Each rule must say to whom it applies and what it allows.
pub fn validate_rules(role: &Value, namespaced: bool, faults: &mut Faults) {
    let has = |rule: &Value, field: &str| !object::is_empty(&rule[field]);
    for (path, rule) in each(role, "rules", &Path::root()) {
        if !has(rule, "verbs") {
            faults.required(&path.child("verbs"), "verbs must contain at least one value");
        }
        if has(rule, "nonResourceURLs") {
            let (urls, path) = (&rule["nonResourceURLs"], path.child("nonResourceURLs"));
            if namespaced {
                faults.invalid(&path, urls, "namespaced rules cannot apply to non-resource URLs");
            }
            if ["apiGroups", "resources", "resourceNames"].iter().any(|field| has(rule, field)) {
                let detail = "rules cannot apply to both regular resources and non-resource URLs";
                faults.invalid(&path, urls, detail);
            }
            continue;
        }
        for (field, what) in [("apiGroups", "api group"), ("resources", "resource")] {
            if !has(rule, field) {
                let detail = format!("resource rules must supply at least one {what}");
                faults.required(&path.child(field), detail);
            }
        }
    }
}

/// The cells of a role.
pub fn role_cells(role: &Value) -> Vec<Value> {
    vec![object::name(role).into(), object::meta(role, "creationTimestamp").into()]
}

/// Roles, users and groups are of RBAC's own API group.
pub fn default_binding(binding: &mut Value) {
    if let Some(role) = workload::within(binding, "roleRef") {
        object::fill(role, "apiGroup", GROUP);
    }
    for subject in binding.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten() {
        if subject["kind"] == "User" || subject["kind"] == "Group" {
            object::fill(subject, "apiGroup", GROUP);
        }
    }
}

/// What a binding binds to what. `kinds` are those of roles that it may name.
pub fn validate_binding(binding: &Value, kinds: &[&str], faults: &mut Faults) {
    let (role, path) = (&binding["roleRef"], Path::new("roleRef"));
    is_one_of(role, "apiGroup", &[GROUP], &path, faults);
    is_one_of(role, "kind", kinds, &path, faults);
    let name = required(role, "name", &path, faults);
    if let Some(fault) = valid::path_segment(name) {
        faults.invalid_text(&path.child("name"), name, fault);
    }
    let namespaced = kinds.contains(&"Role");
    for (path, subject) in each(binding, "subjects", &Path::root()) {
        validate_subject(subject, namespaced, &path, faults);
    }
}

fn validate_subject(subject: &Value, namespaced: bool, path: &Path, faults: &mut Faults) {
    let name = required(subject, "name", path, faults);
    match text(subject, "kind") {
        "ServiceAccount" => {
            if let Some(fault) = valid::dns_subdomain(name).filter(|_| !name.is_empty()) {
                faults.invalid_text(&path.child("name"), name, fault);
            }
            is_one_of(subject, "apiGroup", &[""], path, faults);
            if !namespaced {
                required(subject, "namespace", path, faults);
            }
        }
        "User" | "Group" => is_one_of(subject, "apiGroup", &[GROUP], path, faults),
        _ => is_one_of(subject, "kind", &["ServiceAccount", "User", "Group"], path, faults),
    }
}

/// A text that must be one of these, where an absent one is empty.
fn is_one_of(object: &Value, field: &str, allowed: &[&str], path: &Path, faults: &mut Faults) {
    valid::one_of(&json!(text(object, field)), allowed, &path.child(field), faults);
}

/// A binding is to one role for ever: who may change subjects must not change rights.
pub fn keeps_its_role(new: &Value, old: &Value, faults: &mut Faults) {
    if new["roleRef"] != old["roleRef"] {
        faults.invalid(&Path::new("roleRef"), &new["roleRef"], "cannot change roleRef");
    }
}

/// The cells of a binding.
pub fn binding_cells(binding: &Value, now: Timestamp) -> Vec<Value> {
    let role = &binding["roleRef"];
    let subjects = |kind: &str| {
        let subjects = object::items(binding, "/subjects").iter().filter(|subject| subject["kind"] == kind);
        let names: Vec<_> = subjects
            .map(|subject| match kind {
                "ServiceAccount" => format!("{}/{}", text(subject, "namespace"), text(subject, "name")),
                _ => text(subject, "name").to_owned(),
            })
            .collect();
        names.join(", ").into()
    };
    vec![
        object::name(binding).into(),
        format!("{}/{}", text(role, "kind"), text(role, "name")).into(),
        object::age(binding, now).into(),
        subjects("User"),
        subjects("Group"),
        subjects("ServiceAccount"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(check: impl Fn(&mut Faults)) -> Vec<String> {
        let mut faults = Faults::default();
        check(&mut faults);
        faults.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_rule_is_about_resources_or_about_paths() {
        let role = |rule: Value| json!({ "rules": [rule] });
        let both = json!({ "verbs": ["get"], "nonResourceURLs": ["/a"], "resources": ["pods"] });
        let found = faults(|faults| validate_rules(&role(both.clone()), false, faults));
        let path = "rules[0].nonResourceURLs: Invalid value: [\"/a\"]:";
        assert_eq!(
            found,
            [format!("{path} rules cannot apply to both regular resources and non-resource URLs")]
        );
        let found = faults(|faults| validate_rules(&role(json!({})), true, faults));
        assert_eq!(found.len(), 3, "{found:?}");
    }

    #[test]
    fn a_service_account_has_a_namespace_and_no_group() {
        let mut binding = json!({
            "roleRef": { "kind": "ClusterRole", "name": "view" },
            "subjects": [{ "kind": "ServiceAccount", "name": "a", "apiGroup": GROUP }, { "kind": "Robot", "name": "r" }]
        });
        default_binding(&mut binding);
        let found = faults(|faults| validate_binding(&binding, &["ClusterRole"], faults));
        let expected = [
            "subjects[0].apiGroup: Unsupported value: \"rbac.authorization.k8s.io\": supported values: \"\"",
            "subjects[0].namespace: Required value",
            "subjects[1].kind: Unsupported value: \"Robot\": supported values: \"ServiceAccount\", \"User\", \
             \"Group\"",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn cells_name_the_subjects_by_kind() {
        let binding = json!({
            "metadata": { "name": "b" },
            "roleRef": { "kind": "Role", "name": "r" },
            "subjects": [
                { "kind": "User", "name": "u" }, { "kind": "User", "name": "v" },
                { "kind": "ServiceAccount", "namespace": "n", "name": "s" }
            ]
        });
        let cells = binding_cells(&binding, Timestamp::UNIX_EPOCH);
        assert_eq!(json!(cells), json!(["b", "Role/r", "<unknown>", "u, v", "", "n/s"]));
    }
}
