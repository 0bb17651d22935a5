use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};

use super::*;
use crate::api::access::{
    bootstrap::bootstrap_objects,
    fixtures::{binding, policy, role, rule, user},
};

fn want<'a>(verb: &'a str, resource: &'a str, namespace: &'a str, name: &'a str) -> Attributes<'a> {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    Attributes { verb, resource, subresource, namespace, name, ..Attributes::default() }
}

#[test]
fn rules_allow_what_they_say_and_nothing_else() {
    let rules = json!([
        rule("get", "pods"),
        rule("get", "pods/log"),
        rule("update", "*/scale"),
        { "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a", "b"], "verbs": ["get", "list"] },
        { "apiGroups": ["apps"], "resources": ["*"], "verbs": ["*"] },
    ]);
    let policy =
        policy(&[role("Role", "r", rules), binding("RoleBinding", "b", "Role", "r", &[("User", "bob")])]);
    let may = |what: Attributes<'_>| policy.verdict(&user("bob", &[]), &what).allowed;
    for (what, allowed) in [
        (want("get", "pods", "ns", "x"), true),
        (want("get", "pods", "other", "x"), false),
        (want("get", "pods", "", ""), false),
        (want("list", "pods", "ns", ""), false),
        (want("get", "pods/log", "ns", "x"), true),
        (want("get", "pods/status", "ns", "x"), false),
        (want("get", "log", "ns", "x"), false),
        (want("update", "anything/scale", "ns", "x"), true),
        (want("update", "anything", "ns", "x"), false),
        (want("update", "scale", "ns", "x"), false),
        (want("get", "secrets", "ns", "a"), true),
        (want("get", "secrets", "ns", "c"), false),
        (want("list", "secrets", "ns", ""), false),
        (want("list", "secrets", "ns", "b"), true),
        (Attributes { group: "apps", ..want("escalate", "x/y", "ns", "z") }, true),
        (Attributes { group: "app", ..want("get", "x", "ns", "z") }, false),
        (Attributes::path("get", "/healthz"), false),
    ] {
        assert_eq!(may(what), allowed, "{what:?}");
    }
}

#[test]
fn paths_are_granted_to_the_cluster_only() {
    let rules = json!([{ "nonResourceURLs": ["/a", "/b/*"], "verbs": ["get"] }]);
    let objects = |kind: &str| {
        policy(&[
            role("ClusterRole", "r", rules.clone()),
            binding(kind, "b", "ClusterRole", "r", &[("User", "bob")]),
        ])
    };
    let (policy, local) = (objects("ClusterRoleBinding"), objects("RoleBinding"));
    for (path, allowed) in [("/a", true), ("/a/b", false), ("/b", false), ("/b/", true), ("/b/c/d", true)] {
        assert_eq!(
            policy.verdict(&user("bob", &[]), &Attributes::path("get", path)).allowed,
            allowed,
            "{path}"
        );
        assert!(!local.verdict(&user("bob", &[]), &Attributes::path("get", path)).allowed, "{path}");
    }
    assert!(!policy.verdict(&user("bob", &[]), &Attributes::path("post", "/a")).allowed);
    assert!(!policy.verdict(&user("bob", &[]), &want("get", "a", "", "")).allowed);
}

#[test]
fn subjects_are_users_groups_and_service_accounts() {
    let policy = policy(&[
        role("ClusterRole", "r", json!([rule("get", "pods")])),
        binding(
            "RoleBinding",
            "b",
            "ClusterRole",
            "r",
            &[("User", "bob"), ("Group", "team"), ("ServiceAccount", "robot")],
        ),
    ]);
    let what = want("get", "pods", "ns", "");
    let reason = |user: &User| policy.verdict(user, &what).reason.into_owned();
    assert_eq!(
        reason(&user("ann", &["x", "team"])),
        "RBAC: allowed by RoleBinding \"b/ns\" of ClusterRole \"r\" to Group \"team\""
    );
    assert_eq!(
        reason(&User::service_account("ns", "robot", "")),
        "RBAC: allowed by RoleBinding \"b/ns\" of ClusterRole \"r\" to ServiceAccount \"robot/ns\""
    );
    for stranger in [user("team", &["bob"]), user("robot", &[]), User::service_account("other", "robot", "")]
    {
        assert!(!policy.verdict(&stranger, &what).allowed, "{stranger:?}");
    }
    assert!(policy.verdict(&user("x", &["system:masters"]), &want("*", "*", "", "")).allowed);
}

#[test]
fn a_missing_role_is_named() {
    let policy = policy(&[
        binding("ClusterRoleBinding", "b", "ClusterRole", "gone", &[("User", "bob"), ("Group", "team")]),
        // A cluster's binding cannot mean a role of a namespace.
        role("Role", "r", json!([rule("*", "*")])),
        binding("ClusterRoleBinding", "c", "Role", "r", &[("User", "ann")]),
    ]);
    let verdict = policy.verdict(&user("bob", &["team"]), &want("get", "pods", "ns", ""));
    assert_eq!(verdict.reason, "RBAC: clusterrole.rbac.authorization.k8s.io \"gone\" not found");
    assert!(!policy.verdict(&user("ann", &[]), &want("get", "pods", "ns", "")).allowed);
}

#[test]
fn gatherers_have_the_rules_of_those_they_gather() {
    let mut objects = bootstrap_objects();
    for name in ["view", "edit", "admin"] {
        objects.push(binding("ClusterRoleBinding", name, "ClusterRole", name, &[("User", name)]));
    }
    let policy = policy(&objects);
    let may = |name: &str, what: Attributes<'_>| policy.verdict(&user(name, &[]), &what).allowed;
    let roles = Attributes { group: "rbac.authorization.k8s.io", ..want("create", "roles", "ns", "") };
    for (what, viewer, editor, admin) in [
        (want("list", "configmaps", "ns", ""), true, true, true),
        (want("get", "secrets", "ns", "a"), false, true, true),
        (roles, false, false, true),
    ] {
        assert_eq!([may("view", what), may("edit", what), may("admin", what)], [viewer, editor, admin]);
    }
}

#[test]
fn roles_that_gather_each_other_end() {
    let gatherer = |name: &str, from: &str| {
        let mut role = role("ClusterRole", name, json!([rule("get", "yesterday")]));
        role["metadata"]["labels"] = json!({ name: "yes" });
        role["aggregationRule"] = json!({ "clusterRoleSelectors": [
            { "matchLabels": { from: "yes" } },
            { "matchExpressions": [{ "key": "part", "operator": "In", "values": ["yes"] }] },
        ] });
        role
    };
    let mut part = role("ClusterRole", "part", json!([rule("get", "pods")]));
    part["metadata"]["labels"] = json!({ "part": "yes" });
    let mut objects = vec![gatherer("a", "b"), gatherer("b", "a"), part];
    objects.push(binding("ClusterRoleBinding", "b", "ClusterRole", "a", &[("User", "bob")]));
    let policy = policy(&objects);
    assert!(policy.verdict(&user("bob", &[]), &want("get", "pods", "", "")).allowed);
    assert!(!policy.verdict(&user("bob", &[]), &want("get", "yesterday", "", "")).allowed);
}

const VERBS: [&str; 3] = ["get", "list", "*"];
const GROUPS: [&str; 3] = ["", "apps", "*"];
const RESOURCES: [&str; 5] = ["pods", "pods/log", "*/log", "log", "*"];
const NAMES: [&str; 3] = ["", "a", "b"];
const PATHS: [&str; 4] = ["/a", "/a/*", "/*", "/a/b"];

fn some(of: &'static [&'static str], least: usize) -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(select(of), least..3)
}

fn any_rule() -> impl Strategy<Value = Value> {
    let lists = (some(&VERBS, 1), some(&GROUPS, 0), some(&RESOURCES, 0), some(&NAMES, 0), some(&PATHS, 0));
    lists.prop_map(|(verbs, groups, resources, names, paths)| {
        json!({ "verbs": verbs, "apiGroups": groups, "resources": resources, "resourceNames": names,
            "nonResourceURLs": paths })
    })
}

fn any_role() -> impl Strategy<Value = Value> {
    let rules = prop::collection::vec(any_rule(), 0..3);
    let role =
        (select(&["Role", "ClusterRole"][..]), select(&["ns", "other"][..]), select(&["r", "s"][..]), rules);
    role.prop_map(|(kind, namespace, name, rules)| {
        json!({ "kind": kind, "metadata": { "name": name, "namespace": namespace }, "rules": rules })
    })
}

fn any_binding() -> impl Strategy<Value = Value> {
    let subject = (select(&["User", "Group"][..]), select(&["bob", "team"][..]));
    let to = (select(&["Role", "ClusterRole"][..]), select(&["r", "s", "missing"][..]));
    let kind = (select(&["RoleBinding", "ClusterRoleBinding"][..]), select(&["ns", "other"][..]));
    (kind, to, prop::collection::vec(subject, 0..3)).prop_map(|((kind, namespace), (to, role), subjects)| {
        let mut binding = binding(kind, "b", to, role, &subjects);
        binding["metadata"]["namespace"] = namespace.into();
        binding
    })
}

/// The rules of RBAC word by word, without any index: every binding, every subject, every rule.
fn naive(objects: &[Value], who: &User, what: &Attributes<'_>) -> bool {
    let text = |value: &Value, pointer: &str| object::text(value, pointer).to_owned();
    let applies = |binding: &Value| {
        object::items(binding, "/subjects").iter().any(|subject| match text(subject, "/kind").as_str() {
            "User" => text(subject, "/name") == who.name,
            _ => who.groups.contains(&text(subject, "/name")),
        })
    };
    objects.iter().filter(|object| applies(object)).any(|binding| {
        let namespace = text(binding, "/metadata/namespace");
        let local = text(binding, "/kind") == "RoleBinding";
        if local && (what.path.is_some() || what.namespace != namespace) {
            return false;
        }
        let kind = text(binding, "/roleRef/kind");
        // Of two objects with one name the later counts; a store has no such pair.
        let role = objects.iter().rfind(|role| {
            text(role, "/kind") == kind
                && text(role, "/metadata/name") == text(binding, "/roleRef/name")
                && (kind == "ClusterRole" || local && text(role, "/metadata/namespace") == namespace)
        });
        role.is_some_and(|role| object::items(role, "/rules").iter().any(|rule| naive_rule(rule, what)))
    })
}

fn naive_rule(rule: &Value, what: &Attributes<'_>) -> bool {
    let list = |field: &str| object::items(rule, field).iter().filter_map(Value::as_str).collect::<Vec<_>>();
    let one = |field: &str, item: &str| list(field).iter().any(|own| *own == "*" || *own == item);
    if !one("/verbs", what.verb) {
        return false;
    }
    if let Some(path) = what.path {
        return list("/nonResourceURLs").iter().any(|own| match own.strip_suffix('*') {
            Some(prefix) => path.starts_with(prefix),
            None => *own == path,
        });
    }
    let combined = what.combined_resource();
    let wild = format!("*/{}", what.subresource);
    one("/apiGroups", what.group)
        && (one("/resources", &combined) || !what.subresource.is_empty() && one("/resources", &wild))
        && (list("/resourceNames").is_empty() || list("/resourceNames").contains(&what.name))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn agrees_with_the_rules_word_by_word(
        roles in prop::collection::vec(any_role(), 1..5),
        bindings in prop::collection::vec(any_binding(), 1..5),
        member in any::<bool>(),
        verb in select(&VERBS[..2]),
        group in select(&GROUPS[..2]),
        (resource, subresource) in select(&[("pods", ""), ("pods", "log"), ("log", "")][..]),
        namespace in select(&["", "ns", "other"][..]),
        name in select(&NAMES[..]),
        path in prop::option::of(select(&["/a", "/a/b", "/a/", "/c"][..])),
    ) {
        let objects: Vec<_> = roles.into_iter().chain(bindings).collect();
        let who = user("bob", if member { &["team"] } else { &[] });
        let what = Attributes { verb, group, version: "", resource, subresource, namespace, name, path };
        prop_assert_eq!(policy(&objects).verdict(&who, &what).allowed, naive(&objects, &who, &what));
    }
}
