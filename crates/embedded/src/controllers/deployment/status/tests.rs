//! The status of Deployments through their lives.

use super::{
    super::plan::tests::{deployment, set},
    *,
};

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn progress(status: &DeploymentStatus) -> (String, String) {
    let conditions = status.conditions.iter().flatten();
    let condition = conditions.into_iter().find(|condition| condition.type_ == PROGRESSING).unwrap();
    (condition.status.clone(), condition.reason.clone().unwrap_or_default())
}

/// Lets a Deployment live on with the status that these sets give it.
fn live(
    deployment: &mut Deployment,
    new: Option<&ReplicaSet>,
    old: &[&ReplicaSet],
    now: i64,
) -> (String, String) {
    let rollout = Rollout { deployment, new, old: old.to_vec() };
    let status = of(&rollout, second(now));
    let revision = revision(&rollout).cloned();
    if let Some(revision) = revision {
        let annotations = deployment.metadata.annotations.get_or_insert_default();
        annotations.insert(REVISION.to_owned(), revision);
    }
    deployment.status = status;
    progress(&deployment.status)
}

fn says(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}

#[test]
fn a_rollout_begins_goes_on_stands_still_and_ends() {
    let mut web = deployment(2);
    let new = |replicas, available| set("new-1", replicas, available);
    assert_eq!(live(&mut web, Some(&new(2, 0)), &[], 0), says("True", "NewReplicaSetCreated"));
    assert_eq!(web.status.unavailable_replicas, Some(2));
    assert_eq!(due(&web, &web.status, second(0)), Some(Duration::from_secs(601)));
    assert_eq!(live(&mut web, Some(&new(2, 1)), &[], 500), says("True", "ReplicaSetUpdated"));
    let before = web.status.clone();
    live(&mut web, Some(&new(2, 1)), &[], 1100);
    assert_eq!(web.status, before, "nothing new is nothing to write");
    assert_eq!(live(&mut web, Some(&new(2, 1)), &[], 1101), says("False", "ProgressDeadlineExceeded"));
    assert_eq!(due(&web, &web.status, second(1101)), None);
    assert_eq!(live(&mut web, Some(&new(2, 2)), &[], 2000), says("True", "NewReplicaSetAvailable"));
    assert_eq!(due(&web, &web.status, second(9999)), None);
    // A pod is lost and comes back: that is no rollout.
    assert_eq!(live(&mut web, Some(&new(2, 1)), &[], 9999), says("True", "NewReplicaSetAvailable"));
    // The next template, and back again.
    let (mut next, old) = (set("new-2", 1, 0), set("old-1", 2, 2));
    next.metadata.annotations.get_or_insert_default().insert(REVISION.to_owned(), "2".to_owned());
    assert_eq!(live(&mut web, Some(&next), &[&old], 9999), says("True", "NewReplicaSetCreated"));
    let annotations = next.metadata.annotations.get_or_insert_default();
    annotations.extend([(REVISION.to_owned(), "3".to_owned()), (HISTORY.to_owned(), "2".to_owned())]);
    assert_eq!(live(&mut web, Some(&next), &[&old], 9999), says("True", "FoundNewReplicaSet"));
}

#[test]
fn a_pause_stops_the_deadline() {
    let mut web = deployment(2);
    let new = set("new-1", 2, 1);
    live(&mut web, Some(&new), &[], 0);
    web.spec.paused = true;
    assert_eq!(live(&mut web, Some(&new), &[], 1), says("Unknown", "DeploymentPaused"));
    assert_eq!(due(&web, &web.status, second(1)), None);
    web.spec.paused = false;
    assert_eq!(live(&mut web, Some(&new), &[], 5000), says("Unknown", "DeploymentResumed"));
    assert_eq!(due(&web, &web.status, second(5000)), Some(Duration::from_secs(601)));
}

#[test]
fn a_failure_of_a_set_is_the_deployments() {
    let mut web = deployment(2);
    let mut new = set("new-1", 2, 0);
    new.status.conditions = Some(vec![ReplicaSetCondition {
        type_: FAILURE.to_owned(),
        status: "True".to_owned(),
        reason: Some("FailedCreate".to_owned()),
        ..ReplicaSetCondition::default()
    }]);
    live(&mut web, Some(&new), &[], 0);
    let failing = |web: &Deployment| web.status.conditions.iter().flatten().any(|c| c.type_ == FAILURE);
    assert!(failing(&web));
    new.status.conditions = None;
    live(&mut web, Some(&new), &[], 1);
    assert!(!failing(&web));
}

#[test]
fn the_first_word_of_a_new_set_is_waited_for() {
    let web = deployment(2);
    let mut new = set("new-1", 2, 0);
    let created = new.created();
    let wait = |new: &ReplicaSet, after: i64| {
        let now = created + SignedDuration::from_secs(after);
        premature(&Rollout { deployment: &web, new: Some(new), old: Vec::new() }, now)
    };
    assert_eq!(wait(&new, 0), None, "it has spoken");
    new.status.observed_generation = None;
    assert_eq!(wait(&new, 1), Some(Duration::from_secs(1)));
    assert_eq!(wait(&new, 3), None, "nobody may look after it");
}
