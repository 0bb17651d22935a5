//! What the server adds to a pod when it is made: its account and the token for it, tolerations, a priority.
//! The latter two it also puts back when a change leaves them out.
//!
//! Upstream these are admission plugins (ServiceAccount, DefaultTolerationSeconds, Priority); they come after the
//! defaults and before `prepare_create`, and see the account.

use serde_json::{Value, json};

use crate::api::{
    builtin::forms::text,
    object::{default, fill, is_empty, items},
};

/// Where programs look for their token.
const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// Five minutes: how long a pod stays bound to a node that does not answer.
const PATIENCE_SECONDS: i64 = 300;
/// An hour and some seconds, by which the tokens that the server adds can be told apart.
const TOKEN_SECONDS: i64 = 3607;
const PREEMPTION: &str = "PreemptLowerPriority";
/// Classes that exist without anybody making them; other classes are no kind that is served.
const PRIORITIES: [(&str, i64); 2] =
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];

/// The name of the account that a pod runs under.
pub fn service_account(pod: &Value) -> &str {
    match text(&pod["spec"], "serviceAccountName") {
        "" => "default",
        name => name,
    }
}

/// Adds what a new pod gets. `account` is the ServiceAccount of that name, whose absence is for the caller to refuse
/// (403, `error looking up service account <namespace>/<name>: serviceaccount "<name>" not found`); `suffix` makes
/// the token volume's name unique, five characters as for a generated name. An error is the reason for a 403.
pub fn pod_admission(pod: &mut Value, account: &Value, suffix: &str) -> Result<(), String> {
    let name = service_account(pod).to_owned();
    let spec = &mut pod["spec"];
    spec["serviceAccountName"] = name.clone().into();
    spec["serviceAccount"] = name.into();
    if is_empty(&spec["imagePullSecrets"]) && !is_empty(&account["imagePullSecrets"]) {
        spec["imagePullSecrets"] = account["imagePullSecrets"].clone();
    }
    if wants_token(spec, account) {
        mount_token(spec, suffix);
    }
    tolerate_a_lost_node(spec);
    let runtime = text(spec, "runtimeClassName");
    if !runtime.is_empty() {
        // There is no such kind here, so there is no such object.
        return Err(format!("pod rejected: RuntimeClass {runtime:?} not found"));
    }
    set_priority(spec)
}

/// Puts back what a client who does not know of it left out of a pod that is there.
pub fn pod_update_admission(pod: &mut Value, old: &Value) {
    let spec = &mut pod["spec"];
    tolerate_a_lost_node(spec);
    for field in ["priority", "preemptionPolicy"] {
        if let Some(was) = old["spec"].get(field) {
            default(spec, field, was.clone());
        }
    }
}

/// The pod decides, else the account, else yes.
fn wants_token(spec: &Value, account: &Value) -> bool {
    let decision =
        [spec, account].into_iter().find_map(|owner| owner["automountServiceAccountToken"].as_bool());
    decision.unwrap_or(true)
}

/// Gives each container the token that has nothing else in that place.
fn mount_token(spec: &mut Value, suffix: &str) {
    let volume = format!("kube-api-access-{suffix}");
    let mut used = false;
    for field in ["initContainers", "containers"] {
        for container in spec.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten() {
            if items(container, "/volumeMounts").iter().any(|mount| mount["mountPath"] == TOKEN_PATH) {
                continue;
            }
            push(
                container,
                "volumeMounts",
                json!({ "name": volume, "mountPath": TOKEN_PATH, "readOnly": true }),
            );
            used = true;
        }
    }
    if !used {
        return;
    }
    let namespace =
        json!({ "fieldRef": { "apiVersion": "v1", "fieldPath": "metadata.namespace" }, "path": "namespace" });
    let sources = json!([
        { "serviceAccountToken": { "expirationSeconds": TOKEN_SECONDS, "path": "token" } },
        { "configMap": { "name": "kube-root-ca.crt", "items": [{ "key": "ca.crt", "path": "ca.crt" }] } },
        { "downwardAPI": { "items": [namespace] } },
    ]);
    push(
        spec,
        "volumes",
        json!({ "name": volume, "projected": { "defaultMode": 0o644, "sources": sources } }),
    );
}

fn tolerate_a_lost_node(spec: &mut Value) {
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let fits = |value: &str, wanted: &str| value.is_empty() || value == wanted;
        let tolerated = items(spec, "/tolerations").iter().any(|toleration| {
            fits(text(toleration, "key"), key) && fits(text(toleration, "effect"), "NoExecute")
        });
        if !tolerated {
            let toleration = json!({
                "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": PATIENCE_SECONDS
            });
            push(spec, "tolerations", toleration);
        }
    }
}

fn set_priority(spec: &mut Value) -> Result<(), String> {
    let class = text(spec, "priorityClassName");
    let priority = match PRIORITIES.iter().find(|(name, _)| *name == class) {
        Some((_, priority)) => *priority,
        None if class.is_empty() => 0,
        None => return Err(format!("no PriorityClass with name {class} was found")),
    };
    if let Some(given) = spec["priority"].as_i64().filter(|given| *given != priority) {
        return Err(format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller \
             computed {priority} from the given PriorityClass name"
        ));
    }
    // Every class that exists may preempt.
    let policy = text(spec, "preemptionPolicy");
    if !policy.is_empty() && policy != PREEMPTION {
        return Err(format!(
            "the string value of PreemptionPolicy ({policy}) must not be provided in pod spec; priority admission \
             controller computed {PREEMPTION} from the given PriorityClass name"
        ));
    }
    spec["priority"] = priority.into();
    fill(spec, "preemptionPolicy", PREEMPTION);
    Ok(())
}

/// Adds to a list, made if it is not there.
fn push(object: &mut Value, field: &str, item: Value) {
    match object[field].as_array_mut() {
        Some(items) => items.push(item),
        None => object[field] = json!([item]),
    }
}
