//! Plans for Deployments in all kinds of states.

use serde_json::json;

use super::*;

/// A Deployment that wants so many pods of the template `new`.
pub fn deployment(replicas: i32) -> Deployment {
    let deployment = json!({
        "metadata": { "name": "web", "namespace": "n", "uid": "web", "generation": 1 },
        "spec": {
            "replicas": replicas,
            "progressDeadlineSeconds": 600,
            "revisionHistoryLimit": 1,
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 }
            },
            "template": { "spec": "new" }
        }
    });
    serde_json::from_value(deployment).unwrap()
}

/// A ReplicaSet with as many available pods, of the template that its name begins with, made for 3 pods.
pub fn set(name: &str, replicas: i32, available: i32) -> ReplicaSet {
    let age = i64::from(name.bytes().last().unwrap_or_default());
    let set = json!({
        "metadata": {
            "name": name, "uid": name, "generation": 1,
            "creationTimestamp": jiff::Timestamp::from_second(age).unwrap().to_string(),
            "annotations": { DESIRED: "3", MOST: "4", revision::REVISION: "1" }
        },
        "spec": { "replicas": replicas, "template": { "spec": name.split('-').next() } },
        "status": { "replicas": available, "availableReplicas": available, "observedGeneration": 1 }
    });
    serde_json::from_value(set).unwrap()
}

fn arcs(sets: &[(&str, i32, i32)]) -> Vec<Arc<ReplicaSet>> {
    sets.iter().map(|(name, replicas, available)| Arc::new(set(name, *replicas, *available))).collect()
}

/// What is done: `+3` is made, `a=3` is sized.
fn planned(deployment: &Deployment, sets: &[(&str, i32, i32)], runs: bool) -> Vec<String> {
    let sets = arcs(sets);
    let steps = steps(&Rollout::of(deployment, &sets), |_| runs);
    let told = |step: &Step<'_>| match step {
        Step::Make { replicas, .. } => format!("+{replicas}"),
        Step::Change(change) => format!("{}={}", change.set.name(), change.replicas),
    };
    steps.iter().map(told).collect()
}

#[test]
fn rolls_the_new_set_up_and_the_old_ones_down() {
    let mut deployment = deployment(3);
    assert_eq!(planned(&deployment, &[], false), ["+3"]);
    assert_eq!(planned(&deployment, &[("old-1", 3, 3)], true), ["+1"]);
    // Its revision is no longer the highest: it gets the next one with its size.
    assert_eq!(planned(&deployment, &[("old-1", 3, 3), ("new-2", 1, 1)], true), ["new-2=1", "old-1=2"]);
    assert_eq!(planned(&deployment, &[("new-1", 3, 0)], true), [""; 0]);
    deployment.spec.min_ready_seconds = 5;
    assert_eq!(planned(&deployment, &[("new-1", 3, 0)], true), ["new-1=3"]);
}

#[test]
fn recreates_when_the_last_old_pod_is_gone() {
    let mut deployment = deployment(3);
    deployment.spec.strategy.r#type = "Recreate".to_owned();
    assert_eq!(planned(&deployment, &[("old-1", 3, 3), ("old-2", 0, 0)], true), ["old-1=0"]);
    assert_eq!(planned(&deployment, &[("old-1", 0, 1)], false), [""; 0]);
    assert_eq!(planned(&deployment, &[("old-1", 0, 0)], true), [""; 0]);
    assert_eq!(planned(&deployment, &[("old-1", 0, 0)], false), ["+3"]);
}

#[test]
fn scales_without_rolling() {
    // Sets were made for 3 pods, 4 at most.
    let five = deployment(5);
    assert_eq!(planned(&five, &[("new-1", 3, 3)], true), ["new-1=5"]);
    assert_eq!(planned(&five, &[("old-1", 0, 0), ("old-2", 3, 0)], true), ["old-2=5"]);
    assert_eq!(planned(&five, &[("old-1", 3, 3), ("new-2", 1, 0)], true), ["new-2=1", "old-1=5"]);
    let mut paused = deployment(3);
    paused.spec.paused = true;
    assert_eq!(planned(&paused, &[], false), [""; 0]);
    assert_eq!(planned(&paused, &[("old-1", 0, 0), ("old-2", 0, 0)], false), ["old-2=3"]);
    assert_eq!(planned(&paused, &[("old-1", 1, 1), ("new-2", 3, 3)], true), ["new-2=3", "old-1=0"]);
    let mut zero = paused;
    zero.spec.replicas = 0;
    assert_eq!(planned(&zero, &[("old-1", 3, 3), ("new-2", 1, 0)], true), ["new-2=0", "old-1=0"]);
}

#[test]
fn a_set_is_told_what_it_was_sized_for() {
    let five = deployment(5);
    let sets = arcs(&[("new-1", 3, 3)]);
    let steps = steps(&Rollout::of(&five, &sets), |_| true);
    let [Step::Change(change)] = steps.as_slice() else { panic!("{steps:?}") };
    let wanted = [(DESIRED, "5"), (MOST, "6")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(change.annotations, wanted.into());
}

#[test]
fn old_sets_without_pods_are_kept_up_to_the_limit() {
    let surplus = |sets: &[(&str, i32, i32)]| {
        let sets = arcs(sets);
        let deployment = deployment(3);
        let rollout = Rollout::of(&deployment, &sets);
        surplus(&rollout).iter().map(|set| set.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(surplus(&[("a-1", 0, 0), ("b-2", 0, 0), ("c-3", 0, 0), ("new-4", 3, 3)]), ["a-1", "b-2"]);
    assert_eq!(surplus(&[("a-1", 0, 1), ("b-2", 1, 1), ("c-3", 0, 0)]), [""; 0]);
    assert_eq!(surplus(&[("a-1", 0, 0), ("new-2", 3, 3)]), [""; 0]);
}
