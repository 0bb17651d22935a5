//! The RBAC evaluator: roles and bindings at one moment, in the order in which they are asked for.
//!
//! Rights are found by subject: a user's own and each of their groups', those of the whole cluster and those
//! of the namespace in question. Building takes time in proportion to the objects, asking only to the rights
//! of who asks.

use std::{
    borrow::{Borrow, Cow},
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use serde_json::Value;

use super::{
    aggregation::{self, ClusterRole},
    attributes::Attributes,
    rule::Rule,
    user::{User, service_account_user},
};
use crate::api::{error::Result, object};

/// Who may do what, at one moment.
#[derive(Debug, Default)]
pub struct Policy {
    users: HashMap<String, Grants>,
    groups: HashMap<String, Grants>,
    cluster_roles: BTreeMap<String, Arc<[Rule]>>,
    /// By namespace and name.
    roles: HashMap<(String, String), Arc<[Rule]>>,
}

/// What one subject was given.
#[derive(Debug, Default)]
struct Grants {
    cluster: Vec<Grant>,
    namespaced: HashMap<String, Vec<Grant>>,
}

/// What one binding gives to one subject.
#[derive(Clone, Debug)]
struct Grant {
    /// The binding's place among all; those of the cluster come first.
    order: usize,
    /// `Err` tells which role is missing.
    rules: Result<Arc<[Rule]>, Arc<str>>,
    /// Why a request is allowed, in upstream's words.
    why: Arc<str>,
}

/// The answer to a request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Verdict<'a> {
    pub allowed: bool,
    /// Which binding allows it, or which of the caller's roles are missing; often empty.
    pub reason: Cow<'a, str>,
}

impl Policy {
    /// Takes every Role, ClusterRole, RoleBinding and ClusterRoleBinding there is.
    pub fn build<V: Borrow<Value>>(
        roles: impl IntoIterator<Item = V>,
        cluster_roles: impl IntoIterator<Item = V>,
        role_bindings: impl IntoIterator<Item = V>,
        cluster_role_bindings: impl IntoIterator<Item = V>,
    ) -> Self {
        let mut policy = Self::default();
        for role in roles {
            let role = role.borrow();
            let key = (object::namespace(role).to_owned(), object::name(role).to_owned());
            policy.roles.insert(key, Rule::all_of(role).into());
        }
        let cluster_roles = cluster_roles.into_iter().map(|role| {
            let role = role.borrow();
            (object::name(role).to_owned(), ClusterRole::of(role))
        });
        policy.cluster_roles = aggregation::gather(&cluster_roles.collect());
        let mut order = 0;
        for binding in cluster_role_bindings {
            policy.bind(binding.borrow(), "", order);
            order += 1;
        }
        for binding in role_bindings {
            let binding = binding.borrow();
            // A RoleBinding without a namespace cannot be; it must not count for the cluster.
            if !object::namespace(binding).is_empty() {
                policy.bind(binding, object::namespace(binding), order);
                order += 1;
            }
        }
        policy
    }

    fn bind(&mut self, binding: &Value, namespace: &str, order: usize) {
        let (kind, role) = (object::text(binding, "/roleRef/kind"), object::text(binding, "/roleRef/name"));
        let rules = self.role_rules(kind, role, namespace).ok_or_else(|| {
            Arc::from(format!("{}.rbac.authorization.k8s.io {role:?} not found", kind.to_lowercase()))
        });
        let name = object::name(binding);
        let what = match namespace {
            "" => format!("ClusterRoleBinding {name:?}"),
            namespace => format!("RoleBinding {:?}", format!("{name}/{namespace}")),
        };
        for subject in object::items(binding, "/subjects") {
            let text = |field: &str| subject[field].as_str().unwrap_or_default();
            let (name, at) = (text("name"), text("namespace"));
            let (grants, to) = match text("kind") {
                "User" => (self.users.entry(name.to_owned()), format!("User {name:?}")),
                "Group" => (self.groups.entry(name.to_owned()), format!("Group {name:?}")),
                "ServiceAccount" => {
                    // Without a namespace it is one of the binding's own.
                    let at = if at.is_empty() { namespace } else { at };
                    if at.is_empty() {
                        continue;
                    }
                    let user = self.users.entry(service_account_user(at, name));
                    (user, format!("ServiceAccount {:?}", format!("{name}/{at}")))
                }
                _ => continue,
            };
            let why = format!("RBAC: allowed by {what} of {kind} {role:?} to {to}").into();
            let grant = Grant { order, rules: rules.clone(), why };
            let grants = grants.or_default();
            match namespace {
                "" => grants.cluster.push(grant),
                namespace => grants.namespaced.entry(namespace.to_owned()).or_default().push(grant),
            }
        }
    }

    /// The rules of a role that a binding refers to.
    pub(super) fn role_rules(&self, kind: &str, name: &str, namespace: &str) -> Option<Arc<[Rule]>> {
        match kind {
            "ClusterRole" => self.cluster_roles.get(name).cloned(),
            // A cluster's binding cannot refer to a role of a namespace.
            "Role" if !namespace.is_empty() => {
                self.roles.get(&(namespace.to_owned(), name.to_owned())).cloned()
            }
            _ => None,
        }
    }

    /// Everything that a user was given in a namespace, once for each subject that they are.
    fn grants<'p>(&'p self, user: &User, namespace: &str) -> impl Iterator<Item = &'p Grant> {
        let groups = user.groups.iter().filter_map(|group| self.groups.get(group));
        let all = self.users.get(&user.name).into_iter().chain(groups);
        all.flat_map(move |grants| {
            let local = (!namespace.is_empty()).then(|| grants.namespaced.get(namespace)).flatten();
            grants.cluster.iter().chain(local.into_iter().flatten())
        })
    }

    /// The rules that a user has in a namespace, or in the cluster if that is empty; in the order of the
    /// bindings, each binding once.
    pub fn rules<'p>(&'p self, user: &User, namespace: &str) -> impl Iterator<Item = &'p Rule> {
        let mut grants: Vec<_> = self.grants(user, namespace).collect();
        grants.sort_by_key(|grant| grant.order);
        grants.dedup_by_key(|grant| grant.order);
        grants.into_iter().filter_map(|grant| grant.rules.as_ref().ok()).flat_map(|rules| rules.iter())
    }

    /// Whether a user may do this.
    pub fn verdict<'p>(&'p self, user: &User, what: &Attributes<'_>) -> Verdict<'p> {
        if user.is_master() {
            return Verdict { allowed: true, reason: Cow::Borrowed("") };
        }
        // Paths belong to no namespace.
        let namespace = if what.path.is_some() { "" } else { what.namespace };
        let mut missing: Vec<&str> = Vec::new();
        for grant in self.grants(user, namespace) {
            match &grant.rules {
                Ok(rules) if rules.iter().any(|rule| rule.allows(what)) => {
                    return Verdict { allowed: true, reason: Cow::Borrowed(&grant.why) };
                }
                Ok(_) => {}
                Err(role) if missing.contains(&role.as_ref()) => {}
                Err(role) => missing.push(role),
            }
        }
        let reason = match missing.as_slice() {
            [] => String::new(),
            [role] => format!("RBAC: {role}"),
            roles => format!("RBAC: [{}]", roles.join(", ")),
        };
        Verdict { allowed: false, reason: reason.into() }
    }

    /// Refuses what a user may not do.
    pub fn authorize(&self, user: &User, what: &Attributes<'_>) -> Result<()> {
        let verdict = self.verdict(user, what);
        if verdict.allowed { Ok(()) } else { Err(what.forbidden(user, &verdict.reason)) }
    }
}

#[cfg(test)]
mod tests;
