//! The roles and bindings that a cluster begins with, as upstream's, cut down to the kinds served here.
//!
//! They are ensured at every start: what is missing is put back ([`reconcile`]), what somebody added stays.
//! `system:service-account-issuer-discovery` is not among them: our tokens have no public key to discover.

use serde_json::{Value, json};

use super::{
    rule::Rule,
    user::{ALL_AUTHENTICATED, ALL_UNAUTHENTICATED, MASTERS},
};
use crate::api::object;

const API_VERSION: &str = "rbac.authorization.k8s.io/v1";
const GROUP: &str = "rbac.authorization.k8s.io";
const AUTO_UPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";

const READ: &[&str] = &["get", "list", "watch"];
const WRITE: &[&str] = &["create", "delete", "deletecollection", "patch", "update"];
const READ_AND_WRITE: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const CREATE: &[&str] = &["create"];

/// Groups, resources, verbs.
type Rights = (&'static [&'static str], &'static [&'static str], &'static [&'static str]);

const TO_ADMIN: &[Rights] = &[
    (&["authorization.k8s.io"], &["localsubjectaccessreviews"], CREATE),
    (&[GROUP], &["rolebindings", "roles"], READ_AND_WRITE),
];

const TO_EDIT: &[Rights] = &[
    (&[""], &["pods/attach", "pods/exec", "pods/portforward", "secrets"], READ),
    (&[""], &["serviceaccounts"], &["impersonate"]),
    (&[""], &["pods", "pods/attach", "pods/exec", "pods/portforward"], WRITE),
    (&[""], &["pods/eviction"], CREATE),
    (&[""], &["configmaps", "persistentvolumeclaims", "secrets", "serviceaccounts", "services"], WRITE),
    (&[""], &["serviceaccounts/token"], CREATE),
    (&["", "events.k8s.io"], &["events"], WRITE),
    (
        &["apps"],
        &[
            "daemonsets",
            "deployments",
            "deployments/scale",
            "replicasets",
            "replicasets/scale",
            "statefulsets",
            "statefulsets/scale",
        ],
        WRITE,
    ),
    (&["autoscaling"], &["horizontalpodautoscalers"], WRITE),
    (&["batch"], &["cronjobs", "jobs"], WRITE),
    (&["policy"], &["poddisruptionbudgets"], WRITE),
    (&["networking.k8s.io"], &["ingresses", "networkpolicies"], WRITE),
    (&["coordination.k8s.io"], &["leases"], READ_AND_WRITE),
];

const TO_VIEW: &[Rights] = &[
    (
        &[""],
        &[
            "configmaps",
            "endpoints",
            "persistentvolumeclaims",
            "persistentvolumeclaims/status",
            "pods",
            "serviceaccounts",
            "services",
            "services/status",
        ],
        READ,
    ),
    (&[""], &["namespaces/status", "pods/log", "pods/status"], READ),
    (&[""], &["namespaces"], READ),
    (&["", "events.k8s.io"], &["events"], READ),
    (&["discovery.k8s.io"], &["endpointslices"], READ),
    (
        &["apps"],
        &[
            "daemonsets",
            "daemonsets/status",
            "deployments",
            "deployments/scale",
            "deployments/status",
            "replicasets",
            "replicasets/scale",
            "replicasets/status",
            "statefulsets",
            "statefulsets/scale",
            "statefulsets/status",
        ],
        READ,
    ),
    (&["autoscaling"], &["horizontalpodautoscalers", "horizontalpodautoscalers/status"], READ),
    (&["batch"], &["cronjobs", "cronjobs/status", "jobs", "jobs/status"], READ),
    (&["policy"], &["poddisruptionbudgets", "poddisruptionbudgets/status"], READ),
    (&["networking.k8s.io"], &["ingresses", "ingresses/status", "networkpolicies"], READ),
];

const BASIC: &[Rights] = &[
    (&["authorization.k8s.io"], &["selfsubjectaccessreviews", "selfsubjectrulesreviews"], CREATE),
    (&["authentication.k8s.io"], &["selfsubjectreviews"], CREATE),
];

const DISCOVERY: &[&str] = &[
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/healthz",
    "/livez",
    "/openapi",
    "/openapi/*",
    "/readyz",
    "/version",
    "/version/",
];

const PUBLIC: &[&str] = &["/healthz", "/livez", "/readyz", "/version", "/version/"];

/// The ClusterRoles and ClusterRoleBindings that a cluster begins with.
pub fn bootstrap_objects() -> Vec<Value> {
    let everything = json!([
        { "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] },
        { "nonResourceURLs": ["*"], "verbs": ["*"] },
    ]);
    vec![
        role("cluster-admin", None, everything),
        gatherer("admin", None),
        gatherer("edit", Some("admin")),
        gatherer("view", Some("edit")),
        role("system:aggregate-to-admin", Some("admin"), rules(TO_ADMIN)),
        role("system:aggregate-to-edit", Some("edit"), rules(TO_EDIT)),
        role("system:aggregate-to-view", Some("view"), rules(TO_VIEW)),
        role("system:basic-user", None, rules(BASIC)),
        role("system:discovery", None, json!([{ "nonResourceURLs": DISCOVERY, "verbs": ["get"] }])),
        role("system:public-info-viewer", None, json!([{ "nonResourceURLs": PUBLIC, "verbs": ["get"] }])),
        binding("cluster-admin", &[MASTERS]),
        binding("system:basic-user", &[ALL_AUTHENTICATED]),
        binding("system:discovery", &[ALL_AUTHENTICATED]),
        binding("system:public-info-viewer", &[ALL_AUTHENTICATED, ALL_UNAUTHENTICATED]),
    ]
}

/// What an object of [`bootstrap_objects`] must become, given what there is; `None` if nothing is missing, or
/// if its annotation says that it is to be left alone. A binding whose role was changed gets ours back, which
/// a client could only do by deleting it.
pub fn reconcile(existing: &Value, wanted: &Value) -> Option<Value> {
    if existing["metadata"]["annotations"][AUTO_UPDATE] == "false" {
        return None;
    }
    let mut new = existing.clone();
    for map in ["labels", "annotations"] {
        let metadata = object::child(&mut new, "metadata")?;
        let have = metadata.entry(map).or_insert_with(|| json!({}));
        for (key, value) in wanted["metadata"][map].as_object().into_iter().flatten() {
            object::default(have, key, value.clone());
        }
    }
    add_rules(&mut new, wanted);
    add_missing(&mut new["subjects"], object::items(wanted, "/subjects"));
    let selectors = object::items(wanted, "/aggregationRule/clusterRoleSelectors");
    if !selectors.is_empty() {
        add_missing(&mut new["aggregationRule"]["clusterRoleSelectors"], selectors);
    }
    if !wanted["roleRef"].is_null() {
        new["roleRef"] = wanted["roleRef"].clone();
    }
    let fields = new.as_object_mut()?;
    fields.retain(|_, value| !value.is_null());
    (new != *existing).then_some(new)
}

/// Adds the rules that no rule of the role covers.
fn add_rules(new: &mut Value, wanted: &Value) {
    let have = Rule::all_of(new);
    let rules = object::items(wanted, "/rules").iter();
    let missing = rules.filter(|rule| !have.iter().any(|have| have.covers(&Rule::of(rule))));
    add_missing(&mut new["rules"], &missing.cloned().collect::<Vec<_>>());
}

fn add_missing(list: &mut Value, items: &[Value]) {
    let missing: Vec<_> = {
        let have = list.as_array().map_or(&[][..], Vec::as_slice);
        items.iter().filter(|item| !have.contains(item)).cloned().collect()
    };
    if missing.is_empty() {
        return;
    }
    match list.as_array_mut() {
        Some(list) => list.extend(missing),
        None => *list = missing.into(),
    }
}

fn rules(rights: &[Rights]) -> Value {
    let rule = |(groups, resources, verbs): &Rights| json!({ "apiGroups": groups, "resources": resources, "verbs": verbs });
    rights.iter().map(rule).collect()
}

/// A role, gathered by another if that is given.
fn role(name: &str, to: Option<&str>, rules: Value) -> Value {
    let mut role = part(name, to);
    role["rules"] = rules;
    role
}

/// A role that gathers the rules of others. Its own are the gatherer's business.
fn gatherer(name: &str, to: Option<&str>) -> Value {
    let mut role = part(name, to);
    let labels = json!({ aggregate_to(name): "true" });
    role["aggregationRule"] = json!({ "clusterRoleSelectors": [{ "matchLabels": labels }] });
    role
}

fn part(name: &str, to: Option<&str>) -> Value {
    let mut role = object("ClusterRole", name);
    if let Some(to) = to {
        role["metadata"]["labels"][aggregate_to(to)] = "true".into();
    }
    role
}

fn aggregate_to(role: &str) -> String {
    format!("rbac.authorization.k8s.io/aggregate-to-{role}")
}

/// A binding of a role to groups, named like the role.
fn binding(role: &str, groups: &[&str]) -> Value {
    let mut binding = object("ClusterRoleBinding", role);
    let subject = |group: &&str| json!({ "apiGroup": GROUP, "kind": "Group", "name": group });
    binding["roleRef"] = json!({ "apiGroup": GROUP, "kind": "ClusterRole", "name": role });
    binding["subjects"] = groups.iter().map(subject).collect();
    binding
}

fn object(kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": {
            "name": name,
            "labels": { "kubernetes.io/bootstrapping": "rbac-defaults" },
            "annotations": { AUTO_UPDATE: "true" },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::builtin::BUILTINS;

    #[test]
    fn grants_only_what_is_served() {
        // Answered, not kept; `exec` and its like are refused by name.
        let other = ["pods/attach", "pods/exec", "pods/portforward"];
        for role in bootstrap_objects() {
            for rule in Rule::all_of(&role) {
                for resource in &rule.resources {
                    let plural = resource.split('/').next().unwrap_or_default();
                    let served = BUILTINS.iter().any(|builtin| builtin.plural == plural);
                    let review = plural.ends_with("reviews");
                    assert!(
                        served || review || resource == "*" || other.contains(&resource.as_str()),
                        "{resource}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_missing_is_put_back_and_what_was_added_stays() {
        for wanted in bootstrap_objects() {
            assert_eq!(reconcile(&wanted, &wanted), None, "{wanted}");
        }
        let wanted = role("a", None, rules(BASIC));
        let mut changed = wanted.clone();
        changed["rules"] = json!([{ "apiGroups": ["x"], "resources": ["y"], "verbs": ["get"] }]);
        changed["metadata"]["uid"] = "7".into();
        let back = reconcile(&changed, &wanted).expect("rules are missing");
        assert_eq!(back["rules"].as_array().map(Vec::len), Some(3));
        assert_eq!(back["metadata"]["uid"], "7");
        assert_eq!(reconcile(&back, &wanted), None);
        changed["metadata"]["annotations"][AUTO_UPDATE] = "false".into();
        assert_eq!(reconcile(&changed, &wanted), None);
        let bound = binding("a", &["g"]);
        let mut nobody = bound.clone();
        nobody["subjects"] = Value::Null;
        assert_eq!(reconcile(&nobody, &bound), Some(bound));
    }
}
