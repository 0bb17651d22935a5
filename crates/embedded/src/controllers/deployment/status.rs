//! What a Deployment's status says of its ReplicaSets, and how a rollout gets on.

mod condition;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{DeploymentCondition, DeploymentStatus, ReplicaSetCondition};

use super::{
    plan::Rollout,
    revision::{HISTORY, REVISION},
    rolling::Bounds,
};
use crate::controllers::records::{Deployment, ReplicaSet};
use condition::Conditions;

const AVAILABLE: &str = "Available";
const PROGRESSING: &str = "Progressing";
const FAILURE: &str = "ReplicaFailure";

const ROLLED_OUT: &str = "NewReplicaSetAvailable";
const TIMED_OUT: &str = "ProgressDeadlineExceeded";
const PAUSED: &str = "DeploymentPaused";

/// How long a status waits for the first word of a new ReplicaSet, which mostly comes within milliseconds.
const FIRST_WORD: SignedDuration = SignedDuration::from_secs(2);
/// Times in conditions are of whole seconds: what began within one may have begun at its end.
const GRAIN: SignedDuration = SignedDuration::from_secs(1);

/// The status of a Deployment.
pub fn of(rollout: &Rollout<'_>, now: Timestamp) -> DeploymentStatus {
    let (deployment, before) = (rollout.deployment, &rollout.deployment.status);
    let sum = |count: fn(&ReplicaSet) -> i32| rollout.sets().map(count).sum::<i32>();
    let available = sum(ReplicaSet::available);
    let mut status = DeploymentStatus {
        observed_generation: deployment.metadata.generation,
        replicas: some(sum(|set| set.status.replicas)),
        updated_replicas: rollout.new.and_then(|set| some(set.status.replicas)),
        ready_replicas: some(sum(|set| set.status.ready_replicas.unwrap_or_default())),
        available_replicas: some(available),
        unavailable_replicas: some((sum(|set| set.spec.replicas) - available).max(0)),
        terminating_replicas: terminating(rollout),
        collision_count: before.collision_count,
        conditions: None,
    };
    let mut conditions = Conditions::new(before.conditions.as_deref(), now);
    let bounds = Bounds::of(deployment);
    if available >= bounds.least() {
        let message = "Deployment has minimum availability.";
        conditions.set(AVAILABLE, "True", "MinimumReplicasAvailable", message);
    } else {
        let message = "Deployment does not have minimum availability.";
        conditions.set(AVAILABLE, "False", "MinimumReplicasUnavailable", message);
    }
    tell_progress(rollout, &status, &mut conditions, now);
    match failure(rollout) {
        Some(failure) => conditions.put(failure),
        None => conditions.remove(FAILURE),
    }
    status.conditions = conditions.finish();
    status
}

/// The status of a Deployment whose ReplicaSet could not be made.
pub fn failed(deployment: &Deployment, message: &str, now: Timestamp) -> DeploymentStatus {
    let mut conditions = Conditions::new(deployment.status.conditions.as_deref(), now);
    if deployment.deadline().is_some() {
        conditions.set(PROGRESSING, "False", "ReplicaSetCreateError", message);
    }
    DeploymentStatus { conditions: conditions.finish(), ..deployment.status.clone() }
}

/// The revision that the Deployment has come to, unless it says so already.
pub fn revision<'a>(rollout: &Rollout<'a>) -> Option<&'a String> {
    let revision = rollout.new?.annotations().get(REVISION)?;
    (rollout.deployment.annotations().get(REVISION) != Some(revision)).then_some(revision)
}

/// Whether all is as the Deployment wants it.
pub fn is_complete(deployment: &Deployment, status: &DeploymentStatus) -> bool {
    let counts = [status.replicas, status.updated_replicas, status.available_replicas];
    counts.into_iter().all(|count| count.unwrap_or_default() == deployment.spec.replicas)
        && status.observed_generation >= deployment.metadata.generation
}

/// How long to wait because a new ReplicaSet has not been heard of yet: what it will say changes the status at once.
pub fn premature(rollout: &Rollout<'_>, now: Timestamp) -> Option<Duration> {
    let silent = rollout.sets().filter(|set| set.status.observed_generation.is_none());
    let youngest = silent.map(ReplicaSet::created).max()?;
    positive(FIRST_WORD - now.duration_since(youngest))
}

/// When the progress deadline of a Deployment with this status has passed.
pub fn due(deployment: &Deployment, status: &DeploymentStatus, now: Timestamp) -> Option<Duration> {
    let conditions = status.conditions.iter().flatten();
    let condition = conditions.into_iter().find(|condition| condition.type_ == PROGRESSING)?;
    positive(time_left(deployment, condition, now)?)
}

fn positive(duration: SignedDuration) -> Option<Duration> {
    Duration::try_from(duration).ok().filter(|duration| !duration.is_zero())
}

/// How much time there is until the deadline, if one is running.
fn time_left(
    deployment: &Deployment,
    condition: &DeploymentCondition,
    now: Timestamp,
) -> Option<SignedDuration> {
    let deadline = deployment.deadline()?;
    if matches!(condition.reason.as_deref(), Some(ROLLED_OUT | TIMED_OUT | PAUSED)) {
        return None;
    }
    let since = condition.last_update_time.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0);
    Some(SignedDuration::from_secs(deadline.into()) + GRAIN - now.duration_since(since))
}

fn tell_progress(
    rollout: &Rollout<'_>,
    status: &DeploymentStatus,
    conditions: &mut Conditions,
    now: Timestamp,
) {
    let deployment = rollout.deployment;
    if deployment.deadline().is_none() {
        return conditions.remove(PROGRESSING);
    }
    let reason = conditions.get(PROGRESSING).and_then(|condition| condition.reason.clone());
    let reason = reason.as_deref();
    if deployment.is_ending() {
        return;
    }
    if deployment.spec.paused {
        if reason != Some(TIMED_OUT) {
            conditions.set(PROGRESSING, "Unknown", PAUSED, "Deployment is paused");
        }
        return;
    }
    let begins = revision(rollout).is_some();
    // Only scaled since it was rolled out: there is no progress to speak of.
    if !begins && reason == Some(ROLLED_OUT) && status.replicas == status.updated_replicas {
        return;
    }
    let who = match rollout.new {
        Some(set) => format!("ReplicaSet {:?}", set.name()),
        None => format!("Deployment {:?}", deployment.name()),
    };
    if is_complete(deployment, status) {
        let message = format!("{who} has successfully progressed.");
        conditions.set(PROGRESSING, "True", ROLLED_OUT, &message);
    } else if let Some(set) = rollout.new.filter(|_| begins || reason.is_none()) {
        let (reason, did) = if begins && !set.annotations().contains_key(HISTORY) {
            ("NewReplicaSetCreated", "Created")
        } else {
            ("FoundNewReplicaSet", "Found")
        };
        let message = format!("{did} new replica set {:?}", set.name());
        conditions.renew(PROGRESSING, "True", reason, &message);
    } else if has_progressed(&deployment.status, status) {
        let message = format!("{who} is progressing.");
        conditions.renew(PROGRESSING, "True", "ReplicaSetUpdated", &message);
    } else if reason == Some(PAUSED) {
        // The deadline begins anew.
        conditions.set(PROGRESSING, "Unknown", "DeploymentResumed", "Deployment is resumed");
    } else if let Some(condition) = conditions.get(PROGRESSING)
        && time_left(deployment, condition, now).is_some_and(|left| !left.is_positive())
    {
        let message = format!("{who} has timed out progressing.");
        conditions.set(PROGRESSING, "False", TIMED_OUT, &message);
    }
}

/// Whether there are more new pods, fewer old ones, or more that are ready or available.
fn has_progressed(before: &DeploymentStatus, now: &DeploymentStatus) -> bool {
    let updated = |status: &DeploymentStatus| status.updated_replicas.unwrap_or_default();
    let old = |status: &DeploymentStatus| status.replicas.unwrap_or_default() - updated(status);
    updated(now) > updated(before)
        || old(now) < old(before)
        || now.ready_replicas > before.ready_replicas
        || now.available_replicas > before.available_replicas
}

/// The new set's failure, or else any old one's.
fn failure(rollout: &Rollout<'_>) -> Option<DeploymentCondition> {
    let mut sets = rollout.new.into_iter().chain(rollout.old.iter().copied());
    let failure = |set: &ReplicaSet| {
        let conditions = set.status.conditions.iter().flatten();
        conditions.into_iter().find(|condition| condition.type_ == FAILURE).cloned()
    };
    let ReplicaSetCondition { type_, status, reason, message, last_transition_time } =
        sets.find_map(failure)?;
    let last_update_time = last_transition_time.clone();
    Some(DeploymentCondition { type_, status, reason, message, last_transition_time, last_update_time })
}

/// None if a set that has been looked at does not say.
fn terminating(rollout: &Rollout<'_>) -> Option<i32> {
    let said = |set: &ReplicaSet| match set.status.terminating_replicas {
        None if set.status.observed_generation.is_none() => Some(0),
        count => count,
    };
    rollout.sets().map(said).sum()
}

fn some(count: i32) -> Option<i32> {
    Some(count).filter(|count| *count != 0)
}

#[cfg(test)]
mod tests;
