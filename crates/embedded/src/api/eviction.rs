//! Evicting a pod: a deletion that disruption budgets may forbid.

use serde_json::{Value, json};

use super::{
    delete,
    error::{ApiError, Result},
    object,
    options::DeleteOptions,
    selector::LabelSelector,
    write::{Origin, Write},
};
use crate::store::Range;

const BUDGETS: &str = "poddisruptionbudgets.policy";

/// Evicts a pod, if the budgets allow.
pub async fn evict(
    pods: &Write<'_>,
    budgets: &mut Write<'_>,
    name: &str,
    options: &DeleteOptions,
) -> Result<Value> {
    let key = pods.key(name);
    let Some(record) = pods.server.store.get(&key) else {
        return Err(ApiError::not_found(pods.resource.about(name)));
    };
    let pod = pods.resource.read(&record);
    if !is_free(&pod) {
        spend(pods, budgets, &pod).await?;
    }
    delete::delete(pods, name, options).await?;
    Ok(json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success" }))
}

/// Pods that do not run yet or any more, and those that are going already, count for no budget.
fn is_free(pod: &Value) -> bool {
    matches!(object::text(pod, "/status/phase"), "Pending" | "Succeeded" | "Failed")
        || super::metadata::is_terminating(pod)
}

/// Takes one disruption from the budget that covers a pod.
async fn spend(pods: &Write<'_>, budgets: &mut Write<'_>, pod: &Value) -> Result<()> {
    let listed = pods.server.store.list(&Range::namespace(BUDGETS, pods.namespace), None);
    let records = listed.map(|page| page.records).unwrap_or_default();
    let covering: Vec<Value> = records
        .iter()
        .map(|(_, record)| record.value())
        .filter(|budget| {
            LabelSelector::of_spec(&budget["spec"]["selector"]).is_ok_and(|s| s.matches_object(pod))
        })
        .collect();
    let [budget] = covering.as_slice() else {
        return if covering.is_empty() {
            Ok(())
        } else {
            // Upstream's words and code: it does not know which one to count.
            let message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
            Err(ApiError::new(http::StatusCode::INTERNAL_SERVER_ERROR, "", message))
        };
    };
    let unhealthy_goes = budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow" || {
        let (healthy, desired) = (&budget["status"]["currentHealthy"], &budget["status"]["desiredHealthy"]);
        healthy.as_i64() >= desired.as_i64() && desired.as_i64() > Some(0)
    };
    if !is_ready(pod) && unhealthy_goes {
        return Ok(());
    }
    let (name, pod_name) = (object::name(budget).to_owned(), object::name(pod).to_owned());
    let now = object::timestamp(pods.server.clock.now());
    budgets
        .modify(&name, Origin::Patch, |_, live| {
            let allowed = live["status"]["disruptionsAllowed"].as_i64().unwrap_or_default();
            let behind =
                live["status"]["observedGeneration"].as_i64() < live["metadata"]["generation"].as_i64();
            if behind || allowed <= 0 {
                return Err(refused(&name, live, behind));
            }
            let mut spent = live.clone();
            spent["status"]["disruptionsAllowed"] = (allowed - 1).into();
            spent["status"]["disruptedPods"][&pod_name] = now.as_str().into();
            Ok(spent)
        })
        .await?;
    Ok(())
}

fn is_ready(pod: &Value) -> bool {
    object::items(pod, "/status/conditions").iter().any(|c| c["type"] == "Ready" && c["status"] == "True")
}

fn refused(name: &str, budget: &Value, behind: bool) -> ApiError {
    let message = if behind {
        format!("The disruption budget {name} is still being processed by the server.")
    } else {
        let count = |field: &str| budget["status"][field].as_i64().unwrap_or_default();
        format!(
            "The disruption budget {name} needs {} healthy pods and has {} currently",
            count("desiredHealthy"),
            count("currentHealthy")
        )
    };
    let retry_after = behind.then_some(10);
    let mut error = ApiError::too_many_requests(
        "Cannot evict pod as it would violate the pod's disruption budget.",
        retry_after,
    );
    error.details = json!({ "causes": [{ "reason": "DisruptionBudget", "message": message }] });
    error
}
