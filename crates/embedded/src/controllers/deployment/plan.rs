//! What is to be done with a Deployment's ReplicaSets, from what they are now.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use super::{
    revision::{self, DESIRED, MOST},
    rolling::{self, Bounds, Size},
    scaling::{self, Part},
    template,
};
use crate::controllers::records::{Deployment, ReplicaSet};

/// A Deployment and its ReplicaSets.
pub struct Rollout<'a> {
    pub deployment: &'a Deployment,
    /// The one of the present template.
    pub new: Option<&'a ReplicaSet>,
    /// The others, oldest first.
    pub old: Vec<&'a ReplicaSet>,
}

impl<'a> Rollout<'a> {
    pub fn of(deployment: &'a Deployment, sets: &'a [Arc<ReplicaSet>]) -> Self {
        let mut old: Vec<_> = sets.iter().map(AsRef::as_ref).collect();
        old.sort_by_key(|set: &&ReplicaSet| (set.created(), set.name()));
        // Should several have the template, the oldest is it, always.
        let new = old.iter().position(|set| template::is_same(&set.spec.template, &deployment.spec.template));
        let new = new.map(|position| old.remove(position));
        Self { deployment, new, old }
    }

    pub fn sets(&self) -> impl Iterator<Item = &'a ReplicaSet> {
        self.old.iter().copied().chain(self.new)
    }

    fn active(&self) -> Vec<&'a ReplicaSet> {
        self.sets().filter(|set| set.spec.replicas > 0).collect()
    }
}

/// A write to ReplicaSets.
#[derive(Debug)]
pub enum Step<'a> {
    /// Make the one of the present template.
    Make {
        replicas: i32,
        annotations: BTreeMap<String, String>,
    },
    Change(Change<'a>),
}

/// What becomes different of a ReplicaSet.
#[derive(Debug)]
pub struct Change<'a> {
    pub set: &'a ReplicaSet,
    /// As many as there are if it is only about the rest.
    pub replicas: i32,
    pub annotations: BTreeMap<String, String>,
    pub min_ready_seconds: Option<i32>,
}

impl<'a> Change<'a> {
    /// None if nothing becomes different.
    fn step(self) -> Option<Step<'a>> {
        let Self { set, replicas, annotations, min_ready_seconds } = &self;
        let differs =
            *replicas != set.spec.replicas || !annotations.is_empty() || min_ready_seconds.is_some();
        differs.then_some(Step::Change(self))
    }
}

/// How many pods each set should have.
struct Sizes {
    /// None if there is no new one, and none is to be made.
    new: Option<i32>,
    old: Vec<i32>,
}

impl Sizes {
    fn now(rollout: &Rollout<'_>) -> Self {
        let size = |set: &&ReplicaSet| set.spec.replicas;
        Self { new: rollout.new.as_ref().map(size), old: rollout.old.iter().map(size).collect() }
    }

    fn set(&mut self, rollout: &Rollout<'_>, set: &ReplicaSet, size: i32) {
        match rollout.old.iter().position(|old| old.uid() == set.uid()) {
            Some(position) => self.old[position] = size,
            None => self.new = Some(size),
        }
    }
}

/// What is to be done next, the new set first: it grows before the old ones shrink. `runs` says whether pods of a set
/// are still there.
pub fn steps<'a>(rollout: &Rollout<'a>, runs: impl Fn(&ReplicaSet) -> bool) -> Vec<Step<'a>> {
    let deployment = rollout.deployment;
    let bounds = Bounds::of(deployment);
    let scales = deployment.spec.paused || was_sized_for_another_number(rollout);
    let sizes = if scales {
        scaled(rollout, bounds)
    } else if deployment.is_rolling() {
        rolled(rollout, bounds)
    } else {
        recreated(rollout, runs)
    };
    // Whoever is sized must remember for what; scaling is over when all who have pods do.
    let sized = |set: &'a ReplicaSet, replicas: i32| {
        let mut change = Change { set, replicas, annotations: BTreeMap::new(), min_ready_seconds: None };
        if replicas != set.spec.replicas || (scales && set.spec.replicas > 0) {
            let sized_for = template::sized_for(bounds.wanted, bounds.most()).into_iter();
            let news = sized_for.filter(|(name, value)| set.annotations().get(name) != Some(value));
            change.annotations.extend(news);
        }
        change
    };
    let new = match (rollout.new, sizes.new) {
        (None, None) => None,
        (None, Some(replicas)) => {
            let mut annotations = revision::missing(rollout);
            annotations.extend(template::sized_for(bounds.wanted, bounds.most()));
            Some(Step::Make { replicas, annotations })
        }
        (Some(set), size) => {
            let mut change = sized(set, size.unwrap_or(set.spec.replicas));
            change.annotations.extend(revision::missing(rollout));
            let min_ready_seconds = deployment.spec.min_ready_seconds;
            change.min_ready_seconds =
                Some(min_ready_seconds).filter(|seconds| *seconds != set.spec.min_ready_seconds);
            change.step()
        }
    };
    let old = rollout.old.iter().zip(sizes.old).filter_map(|(set, size)| sized(set, size).step());
    new.into_iter().chain(old).collect()
}

/// Old sets beyond those that are kept to go back to, oldest first; only such that have no pods.
pub fn surplus<'a>(rollout: &Rollout<'a>) -> Vec<&'a ReplicaSet> {
    let Some(limit) = rollout.deployment.history_limit() else { return Vec::new() };
    let mut sets: Vec<_> = rollout.old.iter().copied().filter(|set| !set.is_ending()).collect();
    sets.sort_by_key(|set| revision::age(set));
    let beyond = sets.len().saturating_sub(usize::try_from(limit).unwrap_or_default());
    sets.truncate(beyond);
    sets.retain(|set| set.spec.replicas == 0 && set.status.replicas == 0 && set.is_observed());
    sets
}

fn remembered(set: &ReplicaSet, name: &str) -> Option<i32> {
    set.annotations().get(name)?.parse().ok().filter(|number| *number >= 0)
}

fn was_sized_for_another_number(rollout: &Rollout<'_>) -> bool {
    let wanted = rollout.deployment.spec.replicas;
    rollout.active().iter().any(|set| remembered(set, DESIRED).is_some_and(|desired| desired != wanted))
}

fn rolled(rollout: &Rollout<'_>, bounds: Bounds) -> Sizes {
    let size = |set: &&ReplicaSet| Size::new(set.spec.replicas, set.available());
    let old: Vec<_> = rollout.old.iter().map(size).collect();
    let (new, old) = rolling::roll(bounds, rollout.new.as_ref().map(size).unwrap_or_default(), &old);
    Sizes { new: Some(new), old }
}

/// Old pods go first, and are waited for to the last.
fn recreated(rollout: &Rollout<'_>, runs: impl Fn(&ReplicaSet) -> bool) -> Sizes {
    let mut sizes = Sizes::now(rollout);
    if sizes.old.iter().any(|size| *size > 0) {
        sizes.old.fill(0);
    } else if !rollout.old.iter().any(|set| set.status.replicas > 0 || runs(set)) {
        sizes.new = Some(rollout.deployment.spec.replicas);
    }
    sizes
}

/// Another number of pods, without rolling any further.
fn scaled(rollout: &Rollout<'_>, bounds: Bounds) -> Sizes {
    let mut sizes = Sizes::now(rollout);
    let mut active = rollout.active();
    match active.as_slice() {
        [] => {
            if let Some(latest) = rollout.new.or(rollout.old.last().copied()) {
                sizes.set(rollout, latest, bounds.wanted);
            }
        }
        [only] => sizes.set(rollout, only, bounds.wanted),
        _ if rollout.new.is_some_and(|new| is_saturated(new, bounds.wanted)) => sizes.old.fill(0),
        _ if rollout.deployment.is_rolling() => {
            let grows = active.iter().map(|set| set.spec.replicas).sum::<i32>() < bounds.most();
            active.sort_by_key(|set| (set.created(), set.name()));
            // Of sets of the same size the newer ones grow first, and the older ones shrink first.
            if grows {
                active.reverse();
            }
            active.sort_by_key(|set| Reverse(set.spec.replicas));
            let before = rollout.deployment.status.replicas.unwrap_or_default();
            let part = |set: &&ReplicaSet| Part {
                replicas: set.spec.replicas,
                most_before: remembered(set, MOST).filter(|most| *most > 0).unwrap_or(before),
            };
            let parts: Vec<_> = active.iter().map(part).collect();
            for (set, size) in active.iter().zip(scaling::proportional(bounds, &parts)) {
                sizes.set(rollout, set, size);
            }
        }
        _ => {}
    }
    sizes
}

/// Whether a set has all the pods, and knows that these are all.
fn is_saturated(set: &ReplicaSet, wanted: i32) -> bool {
    set.spec.replicas == wanted && set.available() == wanted && remembered(set, DESIRED) == Some(wanted)
}

#[cfg(test)]
pub mod tests;
