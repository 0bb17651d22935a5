//! Cluster roles that gather the rules of others by label.
//!
//! Upstream's controller writes the gathered rules into the object, from where the evaluator takes them. Here
//! the evaluator gathers by itself ([`gather`]), so that a right counts at once; the controller only makes it visible.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use serde_json::Value;

use super::rule::Rule;
use crate::api::object;

/// A cluster role, as far as gathering goes by it.
pub(super) struct ClusterRole {
    labels: Value,
    /// `None` if it does not gather.
    selectors: Option<Vec<Value>>,
    rules: Vec<Rule>,
}

impl ClusterRole {
    pub(super) fn of(role: &Value) -> Self {
        let selectors = role.get("aggregationRule").filter(|rule| !rule.is_null());
        Self {
            labels: role["metadata"]["labels"].clone(),
            selectors: selectors.map(|rule| object::items(rule, "/clusterRoleSelectors").to_vec()),
            rules: Rule::all_of(role),
        }
    }
}

/// The rules that each cluster role has, those of gatherers included.
///
/// A gatherer has what the roles it selects have, and they what those select, each once: roles that gather
/// each other end there. What its object shows does not count, for it may be of yesterday.
pub(super) fn gather(roles: &BTreeMap<String, ClusterRole>) -> BTreeMap<String, Arc<[Rule]>> {
    roles.iter().map(|(name, role)| (name.clone(), effective(name, role, roles).into())).collect()
}

fn effective(name: &str, role: &ClusterRole, roles: &BTreeMap<String, ClusterRole>) -> Vec<Rule> {
    if role.selectors.is_none() {
        return role.rules.clone();
    }
    let mut rules: Vec<Rule> = Vec::new();
    let (mut seen, mut todo) = (HashSet::from([name]), vec![role]);
    while let Some(gatherer) = todo.pop() {
        for selector in gatherer.selectors.iter().flatten() {
            for (name, other) in roles {
                if selects(selector, &other.labels) && seen.insert(name) {
                    if other.selectors.is_some() {
                        todo.push(other);
                    } else {
                        rules.extend(other.rules.iter().cloned());
                    }
                }
            }
        }
    }
    rules
}

/// Whether a label selector selects these labels. An empty one selects everything.
fn selects(selector: &Value, labels: &Value) -> bool {
    let mut wanted = selector["matchLabels"].as_object().into_iter().flatten();
    wanted.all(|(key, value)| labels.get(key) == Some(value))
        && object::items(selector, "/matchExpressions").iter().all(|expression| holds(expression, labels))
}

fn holds(expression: &Value, labels: &Value) -> bool {
    let label = expression["key"].as_str().and_then(|key| labels.get(key));
    let listed = || label.is_some_and(|label| object::items(expression, "/values").contains(label));
    match expression["operator"].as_str() {
        Some("In") => listed(),
        Some("NotIn") => !listed(),
        Some("Exists") => label.is_some(),
        Some("DoesNotExist") => label.is_none(),
        // Refused when it is written; a selector that nobody understands must give no rights.
        _ => false,
    }
}
