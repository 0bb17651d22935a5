//! The numbers of a disruption budget.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use anneal_kit::Event;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{
    api::policy::v1::PodDisruptionBudgetStatus,
    apimachinery::pkg::{
        apis::meta::v1::{Condition, Time},
        util::intstr::IntOrString,
    },
};

use super::expected::Owners;
use crate::controllers::records::{DisruptionBudget, DisruptionSpec, Pod};

/// How long after an eviction a pod that nobody deletes is taken for one that stays.
const DELETION_TIMEOUT: SignedDuration = SignedDuration::from_secs(120);

/// How many pods there should be, and how many of them healthy.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Expected {
    pub pods: i32,
    pub healthy: i32,
    pub unmanaged: bool,
    /// Whether it depends on what is not watched.
    pub unwatched: bool,
}

/// Whether a budget is about the pods there should be, not those there are.
pub fn needs_owners(spec: &DisruptionSpec) -> bool {
    spec.max_unavailable.is_some() || matches!(spec.min_available, Some(IntOrString::String(_)))
}

/// What a budget expects of so many pods with these owners; in words why it cannot be told.
pub fn expect(spec: &DisruptionSpec, pods: usize, owners: Owners) -> Result<Expected, String> {
    let Owners { replicas, unmanaged, unwatched } = owners;
    let (pods, healthy) = match (&spec.max_unavailable, &spec.min_available) {
        (Some(most), _) => (replicas, (replicas - amount(most, replicas)?).max(0)),
        (None, Some(least @ IntOrString::String(_))) => (replicas, amount(least, replicas)?),
        (None, Some(IntOrString::Int(least))) => (i32::try_from(pods).unwrap_or(i32::MAX), *least),
        (None, None) => (0, 0),
    };
    Ok(Expected { pods, healthy, unmanaged, unwatched })
}

/// A number, or a share of all, rounded up.
fn amount(amount: &IntOrString, all: i32) -> Result<i32, String> {
    match amount {
        IntOrString::Int(number) => Ok(*number),
        IntOrString::String(text) => {
            let percent = text.strip_suffix('%').and_then(|digits| digits.parse::<u32>().ok());
            let percent = percent.ok_or_else(|| {
                format!("invalid value for IntOrString: invalid type: string is not a percentage: {text:?}")
            })?;
            let share = (i64::from(all) * i64::from(percent) + 99).div_euclid(100);
            Ok(i32::try_from(share).unwrap_or(i32::MAX))
        }
    }
}

/// The status of a budget with these pods, and when it changes by time alone.
pub fn status(
    budget: &DisruptionBudget,
    expected: &Expected,
    pods: &[Arc<Pod>],
    now: Timestamp,
) -> (PodDisruptionBudgetStatus, Option<Duration>) {
    let (disrupted, recheck) = still_disrupted(budget, pods, now);
    let healthy = pods.iter().filter(|pod| {
        !pod.is_ending()
            && pod.is_ready()
            && !disrupted.contains_key(pod.metadata.name.as_deref().unwrap_or_default())
    });
    let healthy = i32::try_from(healthy.count()).unwrap_or(i32::MAX);
    // A budget without pods allows nothing: the first ones may come before they are counted.
    let allowed = if expected.pods > 0 { (healthy - expected.healthy).max(0) } else { 0 };
    let generation = budget.metadata.generation;
    let (is, reason) = if allowed > 0 { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
    let status = PodDisruptionBudgetStatus {
        current_healthy: healthy,
        desired_healthy: expected.healthy,
        expected_pods: expected.pods,
        disruptions_allowed: allowed,
        disrupted_pods: Some(disrupted).filter(|pods| !pods.is_empty()),
        observed_generation: generation,
        conditions: Some(conditions(budget, is, reason, "", generation, now)),
    };
    (status, recheck)
}

/// The status of a budget that cannot be computed: nothing may be disrupted.
pub fn failed(budget: &DisruptionBudget, why: &str, now: Timestamp) -> PodDisruptionBudgetStatus {
    let generation = budget.status.observed_generation;
    PodDisruptionBudgetStatus {
        disruptions_allowed: 0,
        conditions: Some(conditions(budget, "False", "SyncFailed", why, generation, now)),
        ..budget.status.clone()
    }
}

/// Pods that were evicted and may still be about to go.
fn still_disrupted(
    budget: &DisruptionBudget,
    pods: &[Arc<Pod>],
    now: Timestamp,
) -> (BTreeMap<String, Time>, Option<Duration>) {
    let evicted = budget.status.disrupted_pods.iter().flatten();
    let staying: BTreeMap<&str, &Arc<Pod>> =
        pods.iter().filter(|pod| !pod.is_ending()).map(|pod| (pod.name(), pod)).collect();
    let mut still = BTreeMap::new();
    let mut recheck: Option<Duration> = None;
    for (name, at) in evicted.filter(|(name, _)| staying.contains_key(name.as_str())) {
        let end = at.0.saturating_add(DELETION_TIMEOUT).unwrap_or(Timestamp::MAX);
        if let Some(left) = Duration::try_from(end.duration_since(now)).ok().filter(|left| !left.is_zero()) {
            still.insert(name.clone(), at.clone());
            recheck = Some(recheck.map_or(left, |recheck| recheck.min(left)));
        }
    }
    (still, recheck)
}

/// The conditions of a budget with this one of ours, which keeps its time as long as it says the same.
fn conditions(
    budget: &DisruptionBudget,
    is: &str,
    reason: &str,
    message: &str,
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    const KIND: &str = "DisruptionAllowed";
    let mut conditions = budget.status.conditions.clone().unwrap_or_default();
    let now = Time(Timestamp::from_second(now.as_second()).unwrap_or(now));
    let known = conditions.iter_mut().find(|condition| condition.type_ == KIND);
    let since =
        known.as_ref().filter(|known| known.status == is).map(|known| known.last_transition_time.clone());
    let new = Condition {
        type_: KIND.to_owned(),
        status: is.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        observed_generation: generation,
        last_transition_time: since.unwrap_or(now),
    };
    match known {
        Some(known) => *known = new,
        None => conditions.push(new),
    }
    conditions
}

/// What a person should know of a budget whose status has changed.
pub fn events(expected: &Result<Expected, String>, pods: usize) -> Vec<Event> {
    let mut events = Vec::new();
    if pods == 0 {
        events.push(Event::normal("NoPods", "Reconcile", "No matching pods found"));
    }
    match expected {
        Err(why) => {
            let note = format!("Failed to calculate the number of expected pods: {why}");
            events.push(Event::warning("CalculateExpectedPodCountFailed", "Reconcile", note));
        }
        Ok(expected) if expected.unmanaged => {
            let note = "Pods selected by this PodDisruptionBudget were found to be unmanaged. As a result, the status \
                        of the PDB cannot be calculated correctly, which may result in undefined behavior. To account \
                        for these pods please set \".spec.minAvailable\" field of the PDB to an integer value.";
            events.push(Event::warning("UnmanagedPods", "Reconcile", note));
        }
        Ok(_) => {}
    }
    events
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn budget(spec: Value, status: Value) -> DisruptionBudget {
        let metadata = json!({ "name": "a", "generation": 2 });
        let budget = serde_json::from_value(json!({ "metadata": metadata, "spec": spec, "status": status }));
        budget.expect("a budget")
    }

    fn pods(ready: &[bool]) -> Vec<Arc<Pod>> {
        let pod = |(number, ready): (usize, &bool)| {
            let ready = if *ready { "True" } else { "False" };
            let pod = json!({
                "metadata": { "name": format!("pod-{number}") },
                "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": ready }] },
            });
            Arc::new(serde_json::from_value(pod).expect("a pod"))
        };
        ready.iter().enumerate().map(pod).collect()
    }

    #[test]
    fn bounds_are_numbers_or_shares() {
        let owners = |replicas| Owners { replicas, ..Owners::default() };
        for (spec, there, wanted, pods, healthy) in [
            (json!({ "minAvailable": 2 }), 5, 9, 5, 2),
            (json!({ "minAvailable": "50%" }), 5, 3, 3, 2),
            (json!({ "minAvailable": "100%" }), 5, 3, 3, 3),
            (json!({ "maxUnavailable": 1 }), 5, 3, 3, 2),
            (json!({ "maxUnavailable": 7 }), 5, 3, 3, 0),
            (json!({ "maxUnavailable": "30%" }), 5, 10, 10, 7),
            (json!({ "maxUnavailable": "34%" }), 5, 3, 3, 1),
            (json!({}), 5, 3, 0, 0),
        ] {
            let expected =
                expect(&budget(spec.clone(), json!({})).spec, there, owners(wanted)).expect("a number");
            assert_eq!((expected.pods, expected.healthy), (pods, healthy), "{spec}");
        }
        let spec = json!({ "maxUnavailable": "some" });
        assert!(expect(&budget(spec, json!({})).spec, 5, owners(3)).is_err());
    }

    #[test]
    fn evicted_pods_are_taken_for_gone_until_it_is_clear_that_they_stay() {
        let at = |time: &str| time.parse::<Timestamp>().expect("a time");
        let disrupted = json!({ "pod-0": "2026-01-01T00:00:00Z", "vanished": "2026-01-01T00:00:00Z" });
        let budget = budget(json!({ "minAvailable": 1 }), json!({ "disruptedPods": disrupted }));
        let expected = Expected { pods: 2, healthy: 1, unmanaged: false, unwatched: false };
        let pods = pods(&[true, true]);
        let (status, recheck) = super::status(&budget, &expected, &pods, at("2026-01-01T00:01:59Z"));
        assert_eq!((status.current_healthy, status.disruptions_allowed), (1, 0));
        assert_eq!(
            status.disrupted_pods.map(|pods| pods.into_keys().collect::<Vec<_>>()),
            Some(vec!["pod-0".to_owned()])
        );
        assert_eq!(recheck, Some(Duration::from_secs(1)));
        let (status, recheck) = super::status(&budget, &expected, &pods, at("2026-01-01T00:02:00Z"));
        assert_eq!((status.current_healthy, status.disruptions_allowed, recheck), (2, 1, None));
        assert_eq!(status.disrupted_pods, None);
    }

    #[test]
    fn a_status_that_says_the_same_stays_the_same() {
        let expected = Expected { pods: 2, healthy: 1, unmanaged: false, unwatched: false };
        let (pods, later) = (pods(&[true, true]), Timestamp::MAX);
        let mut budget = budget(json!({ "minAvailable": 1 }), json!({}));
        (budget.status, _) = super::status(&budget, &expected, &pods, Timestamp::UNIX_EPOCH);
        assert_eq!(super::status(&budget, &expected, &pods, later).0, budget.status);
        let failed = failed(&budget, "why", later);
        assert_eq!((failed.disruptions_allowed, failed.current_healthy), (0, 2));
        budget.status = failed.clone();
        assert_eq!(super::failed(&budget, "why", Timestamp::UNIX_EPOCH), failed);
    }
}
