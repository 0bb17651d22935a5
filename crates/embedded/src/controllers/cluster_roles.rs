//! Cluster roles that gather the rules of others by label: this writes the gathered rules into them, where people
//! look. Access does not go by what is written: it gathers by itself, so that a right counts at once.

use std::{collections::HashSet, sync::Arc};

use anneal_kit::{CallError, Key, Next, Objects, Queue};
use serde_json::{Value, json};

use super::{Context, Controller, records::ClusterRole};
use crate::api::selector::LabelSelector;

pub fn start(context: &Context) -> impl Future<Output = ()> + Send + use<> {
    let roles: Objects<ClusterRole> = context.objects();
    let queue = Queue::default();
    let (cache, woken) = (roles.cache().clone(), queue.clone());
    // Whose labels change may be gathered by any; there are few that gather.
    roles.cache().on_change(move |_| {
        for role in cache.all().iter().filter(|role| role.aggregation_rule.is_some()) {
            woken.add(Key::of(role.as_ref()));
        }
    });
    context.run(Controller::ClusterRoles, queue, move |key| {
        let roles = roles.clone();
        async move {
            let Some(role) = roles.cache().get(&key) else { return Ok::<_, CallError>(Next::Settled) };
            if let Some(rules) = gathered(&role, &roles.cache().all()) {
                let meta = json!({ "resourceVersion": role.metadata.resource_version });
                roles.merge(&key, &json!({ "metadata": meta, "rules": rules })).await?;
            }
            Ok(Next::Settled)
        }
    })
}

/// The rules that a role should show; `None` if it shows them already or gathers nothing.
///
/// It goes by what the others show, so that a role that gathers gatherers is right after as many rounds as they are
/// deep.
fn gathered(role: &ClusterRole, all: &[Arc<ClusterRole>]) -> Option<Vec<Value>> {
    let selectors = role.aggregation_rule.as_ref()?["clusterRoleSelectors"].as_array()?;
    let mut rules = Vec::new();
    let mut seen = HashSet::new();
    for selector in selectors {
        // One that cannot be read selects nothing: the server does not take such.
        let Ok(selector) = LabelSelector::of_spec(selector) else { continue };
        let others = all.iter().filter(|other| other.metadata.name != role.metadata.name);
        for other in others.filter(|other| selector.matches(other.labels())) {
            for rule in other.rules.iter().flatten() {
                if seen.insert(rule.to_string()) {
                    rules.push(rule.clone());
                }
            }
        }
    }
    (rules != role.rules.as_deref().unwrap_or_default()).then_some(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(name: &str, labels: Value, gathers: Option<&str>, rules: &[&str]) -> Arc<ClusterRole> {
        let selectors =
            gathers.map(|label| json!({ "clusterRoleSelectors": [{ "matchLabels": { label: "yes" } }] }));
        let rules: Vec<_> = rules.iter().map(|verb| json!({ "verbs": [verb] })).collect();
        let metadata = json!({ "name": name, "labels": labels });
        let role = json!({ "metadata": metadata, "aggregationRule": selectors, "rules": rules });
        Arc::new(serde_json::from_value(role).expect("a role"))
    }

    #[test]
    fn rules_are_gathered_once_each_and_then_left_alone() {
        let part = role("part", json!({ "a": "yes", "b": "yes" }), None, &["get"]);
        let other = role("other", json!({ "a": "yes" }), None, &["get", "list"]);
        let sum = role("sum", json!({ "a": "yes" }), Some("a"), &["of yesterday"]);
        let all = [part.clone(), other, sum.clone()];
        assert_eq!(gathered(&part, &all), None);
        let rules = gathered(&sum, &all).expect("the rules must change");
        assert_eq!(rules, [json!({ "verbs": ["get"] }), json!({ "verbs": ["list"] })]);
        assert_eq!(gathered(&role("sum", json!({}), Some("a"), &["get", "list"]), &all), None);
    }
}
