//! Nobody gives away rights that they do not have.
//!
//! Writing a role needs the rights in it, or the verb `escalate` on it. Writing a binding needs the rights of
//! its role, or the verb `bind` on that. Gathering rules by label needs every right, for the labels may be
//! anybody's.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{attributes::Attributes, authenticator::quoted, policy::Policy, rule::Rule, user::User};
use crate::api::{
    error::{About, ApiError, Result},
    object,
};

const GROUP: &str = "rbac.authorization.k8s.io";

/// A comparison takes a step for each combination of verb, group, resource and name, which a small body can
/// make very many of. Upstream's largest own role has some thousand.
const MAX_COMBINATIONS: usize = 20_000;

/// How many items may be compared, the writer's with the rules': it all happens within one request, on a
/// thread that others wait for. A namespace's administrator who grants all they have takes some
/// hundred thousand.
const MAX_COMPARISONS: usize = 20_000_000;

/// A message is for people.
const MAX_SHOWN: usize = 100;

/// A write to a role or binding.
#[derive(Clone, Copy, Debug)]
pub struct RbacWrite<'a> {
    /// `roles`, `clusterroles`, `rolebindings` or `clusterrolebindings`.
    pub resource: &'a str,
    /// Of the path, empty for cluster roles and their bindings.
    pub namespace: &'a str,
    /// Of the path, empty for a POST.
    pub name: &'a str,
    pub new: &'a Value,
    pub old: Option<&'a Value>,
}

/// Refuses a write to a role or binding by which somebody would grant more than they have. To be asked for
/// creates and updates alike, after the object has passed validation.
pub fn check_escalation(policy: &Policy, user: &User, write: &RbacWrite<'_>) -> Result<()> {
    if user.is_master() || write.old.is_some_and(|old| same_but_for_deletion(write.new, old)) {
        return Ok(());
    }
    match write.resource {
        "roles" | "clusterroles" => check_role(policy, user, write),
        _ => check_binding(policy, user, write),
    }
}

fn check_role(policy: &Policy, user: &User, write: &RbacWrite<'_>) -> Result<()> {
    let escalate = Attributes {
        verb: "escalate",
        group: GROUP,
        resource: write.resource,
        namespace: write.namespace,
        name: write.name,
        ..Attributes::default()
    };
    if policy.verdict(user, &escalate).allowed {
        return Ok(());
    }
    confirm(policy, user, write, &Rule::all_of(write.new))?;
    let gathers = |role: &Value| role.get("aggregationRule").is_some_and(|rule| !rule.is_null());
    if gathers(write.new) || write.old.is_some_and(gathers) {
        let everything = [
            Rule { verbs: any(), groups: any(), resources: any(), ..Rule::default() },
            Rule { verbs: any(), paths: any(), ..Rule::default() },
        ];
        let why = "must have cluster-admin privileges to use the aggregationRule";
        confirm(policy, user, write, &everything).map_err(|_| forbidden(write, why))?;
    }
    Ok(())
}

fn check_binding(policy: &Policy, user: &User, write: &RbacWrite<'_>) -> Result<()> {
    let (kind, name) = (object::text(write.new, "/roleRef/kind"), object::text(write.new, "/roleRef/name"));
    let bind = Attributes {
        verb: "bind",
        group: object::text(write.new, "/roleRef/apiGroup"),
        resource: if kind == "Role" { "roles" } else { "clusterroles" },
        namespace: write.namespace,
        name,
        ..Attributes::default()
    };
    if policy.verdict(user, &bind).allowed {
        return Ok(());
    }
    let rules = policy.role_rules(kind, name, write.namespace);
    // Upstream names the binding's resource with the role's name.
    let missing = || ApiError::not_found(About { group: GROUP, resource: write.resource, name });
    confirm(policy, user, write, &rules.ok_or_else(missing)?)
}

fn any() -> Vec<String> {
    vec!["*".to_owned()]
}

/// Whether nothing changed but what lets the garbage collector finish: that must never be in the way.
fn same_but_for_deletion(new: &Value, old: &Value) -> bool {
    let without = |role: &Value| {
        let mut role = role.clone();
        if let Some(metadata) = role.get_mut("metadata").and_then(Value::as_object_mut) {
            for field in ["ownerReferences", "finalizers", "managedFields", "resourceVersion"] {
                metadata.remove(field);
            }
        }
        role
    };
    without(new) == without(old)
}

/// Refuses rules that a user does not have.
fn confirm(policy: &Policy, user: &User, write: &RbacWrite<'_>, rules: &[Rule]) -> Result<()> {
    let own: Vec<_> = policy.rules(user, write.namespace).collect();
    let too_many = || forbidden(write, "the rules have too many combinations to compare them with yours");
    let mut left = MAX_COMPARISONS;
    let mut uncovered = |rules: Vec<Rule>| -> Result<Vec<Rule>> {
        let mut open = Vec::new();
        for rule in rules {
            let mut covered = false;
            for own in &own {
                left = left.checked_sub(comparisons(own, &rule)).ok_or_else(too_many)?;
                covered = own.covers(&rule);
                if covered {
                    break;
                }
            }
            if !covered {
                open.push(rule);
            }
        }
        Ok(open)
    };
    // Most rules are covered as a whole, above all an administrator's.
    let open = uncovered(rules.to_vec())?;
    let steps = open.iter().map(combinations).fold(0, usize::saturating_add);
    if steps > MAX_COMBINATIONS {
        return Err(too_many());
    }
    let missing = uncovered(open.iter().flat_map(single).collect())?;
    if missing.is_empty() {
        return Ok(());
    }
    let why = format!(
        "user {:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        user.name,
        quoted(&user.groups),
        describe(missing)
    );
    Err(forbidden(write, &why))
}

fn forbidden(write: &RbacWrite<'_>, why: &str) -> ApiError {
    let name = object::name(write.new);
    ApiError::forbidden(About { group: GROUP, resource: write.resource, name }, why)
}

/// How many items are compared, at most, to see whether one rule covers another.
fn comparisons(own: &Rule, other: &Rule) -> usize {
    let of = |own: &[String], other: &[String]| own.len().saturating_mul(other.len());
    [
        of(&own.verbs, &other.verbs),
        of(&own.groups, &other.groups),
        of(&own.resources, &other.resources),
        of(&own.names, &other.names),
        of(&own.paths, &other.paths),
    ]
    .into_iter()
    .fold(1, usize::saturating_add)
}

fn combinations(rule: &Rule) -> usize {
    let objects =
        rule.groups.len().saturating_mul(rule.resources.len()).saturating_mul(rule.names.len().max(1));
    objects.saturating_add(rule.paths.len()).saturating_mul(rule.verbs.len())
}

/// A rule for each combination of one verb, group, resource and name.
fn single(rule: &Rule) -> Vec<Rule> {
    let one = |text: &String| vec![text.clone()];
    let mut all = Vec::new();
    let names: Vec<Vec<String>> =
        if rule.names.is_empty() { vec![Vec::new()] } else { rule.names.iter().map(one).collect() };
    for verb in &rule.verbs {
        for group in &rule.groups {
            for resource in &rule.resources {
                for names in &names {
                    all.push(Rule {
                        verbs: one(verb),
                        groups: one(group),
                        resources: one(resource),
                        names: names.clone(),
                        paths: Vec::new(),
                    });
                }
            }
        }
        for path in &rule.paths {
            all.push(Rule { verbs: one(verb), paths: one(path), ..Rule::default() });
        }
    }
    all
}

/// One line for each thing that is missing, with all its verbs.
fn describe(missing: Vec<Rule>) -> String {
    type Key = (Vec<String>, Vec<String>, Vec<String>);
    let mut lines = BTreeSet::new();
    let mut objects: BTreeMap<Key, Vec<String>> = BTreeMap::new();
    for rule in missing {
        if rule.paths.is_empty() {
            let verbs = objects.entry((rule.groups, rule.resources, rule.names)).or_default();
            verbs.extend(rule.verbs.into_iter().filter(|verb| !verbs.contains(verb)).collect::<Vec<_>>());
        } else {
            lines.insert(format!(
                "{{NonResourceURLs:{}, Verbs:{}}}",
                quoted(&rule.paths),
                quoted(&rule.verbs)
            ));
        }
    }
    for ((groups, resources, names), verbs) in objects {
        let names =
            if names.is_empty() { String::new() } else { format!(", ResourceNames:{}", quoted(&names)) };
        lines.insert(format!(
            "{{APIGroups:{}, Resources:{}{names}, Verbs:{}}}",
            quoted(&groups),
            quoted(&resources),
            quoted(&verbs)
        ));
    }
    let more = lines.len().saturating_sub(MAX_SHOWN);
    let mut shown: Vec<_> = lines.into_iter().take(MAX_SHOWN).collect();
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    shown.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::access::fixtures::{binding, policy, role, rule, user};

    fn check(resource: &str, new: &Value, old: Option<&Value>, rules: Value) -> Result<()> {
        let binding = binding("RoleBinding", "own", "Role", "own", &[("User", "bob")]);
        let secret = role("Role", "secret", json!([rule("get", "secrets")]));
        let policy = policy(&[role("Role", "own", rules), secret, binding]);
        let namespace = if resource.starts_with("cluster") { "" } else { "ns" };
        let write = RbacWrite { resource, namespace, name: "", new, old };
        check_escalation(&policy, &user("bob", &["system:authenticated"]), &write)
    }

    #[test]
    fn nobody_grants_what_they_lack() {
        let own = json!([rule("get", "configmaps")]);
        let granted = |rules: Value| check("roles", &role("Role", "more", rules), None, own.clone());
        assert!(granted(json!([rule("get", "configmaps")])).is_ok());
        let mut named = rule("get", "configmaps");
        named["resourceNames"] = json!(["a"]);
        assert!(granted(json!([named])).is_ok(), "a name is less than all");
        assert!(granted(json!([rule("*", "configmaps")])).is_err());
        assert!(granted(json!([rule("get", "*")])).is_err());
        let both = json!([{ "apiGroups": ["", "apps"], "resources": ["secrets", "configmaps"], "verbs": ["list", "get"] }]);
        let error = granted(both).expect_err("secrets must be refused");
        assert_eq!(error.code, 403);
        assert_eq!(
            error.message,
            "roles.rbac.authorization.k8s.io \"more\" is forbidden: user \"bob\" \
             (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n\
             {APIGroups:[\"\"], Resources:[\"configmaps\"], Verbs:[\"list\"]}\n\
             {APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"list\" \"get\"]}\n\
             {APIGroups:[\"apps\"], Resources:[\"configmaps\"], Verbs:[\"list\" \"get\"]}\n\
             {APIGroups:[\"apps\"], Resources:[\"secrets\"], Verbs:[\"list\" \"get\"]}"
        );
    }

    #[test]
    fn rights_may_come_from_several_rules() {
        let own = json!([
            rule("get", "configmaps"),
            rule("list", "configmaps"),
            rule("get", "pods"),
            rule("list", "pods")
        ]);
        let sum =
            json!([{ "apiGroups": [""], "resources": ["pods", "configmaps"], "verbs": ["get", "list"] }]);
        assert!(check("roles", &role("Role", "more", sum), None, own).is_ok());
    }

    #[test]
    fn escalate_and_bind_are_rights_of_their_own() {
        let mut escalate = rule("escalate", "roles");
        escalate["apiGroups"] = json!([GROUP]);
        let more = role("Role", "more", json!([rule("get", "secrets")]));
        assert!(check("roles", &more, None, json!([escalate])).is_ok());
        let to = |kind: &str, role: &str| binding("RoleBinding", "more", kind, role, &[("User", "bob")]);
        assert_eq!(
            check("rolebindings", &to("Role", "secret"), None, json!([])).expect_err("lacks").code,
            403
        );
        assert!(check("rolebindings", &to("Role", "secret"), None, json!([rule("get", "secrets")])).is_ok());
        let mut bind = rule("bind", "roles");
        bind["apiGroups"] = json!([GROUP]);
        bind["resourceNames"] = json!(["secret"]);
        assert!(check("rolebindings", &to("Role", "secret"), None, json!([bind])).is_ok());
        let missing = check("rolebindings", &to("ClusterRole", "no-such"), None, json!([]));
        assert_eq!(missing.expect_err("there is no such role").code, 404);
    }

    #[test]
    fn gathering_needs_every_right() {
        let mut sum = role("ClusterRole", "sum", json!([]));
        sum["aggregationRule"] = json!({ "clusterRoleSelectors": [{ "matchLabels": { "a": "b" } }] });
        let error = check("clusterroles", &sum, None, json!([rule("*", "*")])).expect_err("must be refused");
        assert!(error.message.ends_with("must have cluster-admin privileges to use the aggregationRule"));
    }

    #[test]
    fn the_garbage_collector_is_not_in_the_way() {
        let old = role("Role", "more", json!([rule("get", "secrets")]));
        let mut new = old.clone();
        new["metadata"]["finalizers"] = json!(["a/b"]);
        assert!(check("roles", &new, Some(&old), json!([])).is_ok());
        new["rules"] = json!([rule("list", "secrets")]);
        assert!(check("roles", &new, Some(&old), json!([])).is_err());
    }

    #[test]
    fn a_small_body_cannot_keep_us_busy() {
        let many: Vec<_> = (0..1000).map(|number| number.to_string()).collect();
        let rules = json!([{ "apiGroups": many, "resources": many, "verbs": many, "resourceNames": many }]);
        let error =
            check("roles", &role("Role", "more", rules), None, json!([])).expect_err("must be refused");
        assert!(error.message.contains("too many combinations"), "{}", error.message);
    }

    #[test]
    fn two_long_lists_cannot_keep_us_busy() {
        let rules =
            |verb: &str| (0..5000).map(|number| rule(verb, &format!("things-{number}"))).collect::<Vec<_>>();
        let (own, more) = (json!(rules("get")), json!(rules("list")));
        let error = check("roles", &role("Role", "more", more), None, own).expect_err("must be refused");
        assert!(error.message.contains("too many combinations"), "{}", error.message);
    }
}
