//! Revisions: which template came when, so that people can go back to one. They are kept in annotations, which kubectl
//! reads.

use std::collections::BTreeMap;

use super::plan::Rollout;
use crate::controllers::records::ReplicaSet;

/// The number of a rollout, on a ReplicaSet and on its Deployment.
pub const REVISION: &str = "deployment.kubernetes.io/revision";
/// The earlier numbers of a ReplicaSet that was gone back to.
pub const HISTORY: &str = "deployment.kubernetes.io/revision-history";
/// How many pods the Deployment wanted when it last sized the ReplicaSet.
pub const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
/// How many pods there could be at most then.
pub const MOST: &str = "deployment.kubernetes.io/max-replicas";

/// What a Deployment's annotations say of itself, and not of its ReplicaSets.
const OWN: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "deprecated.deployment.rollback.to",
    REVISION,
    HISTORY,
    DESIRED,
    MOST,
];
/// How long a history may become, in bytes; the oldest numbers fall out.
const LONGEST_HISTORY: usize = 2000;

/// A set's number: none if it is not one, 0 if it has none.
fn number(set: &ReplicaSet) -> Option<i64> {
    set.annotations().get(REVISION).map_or(Some(0), |revision| revision.parse().ok())
}

/// The order in which sets were rolled out, the oldest first.
pub fn age(set: &ReplicaSet) -> (i64, jiff::Timestamp, &str) {
    (number(set).unwrap_or_default(), set.created(), set.name())
}

/// The annotations that the set of the present template must get, of those that it does not have yet.
pub fn missing(rollout: &Rollout<'_>) -> BTreeMap<String, String> {
    let theirs = rollout.deployment.annotations().iter().filter(|(name, _)| !OWN.contains(&name.as_str()));
    let mut wanted: BTreeMap<_, _> = theirs.map(|(name, value)| (name.clone(), value.clone())).collect();
    let next = rollout.old.iter().filter_map(|set| number(set)).max().unwrap_or_default() + 1;
    match rollout.new {
        None => drop(wanted.insert(REVISION.to_owned(), next.to_string())),
        Some(set) => {
            // Old sets may have been deleted since it got its number: that never falls.
            if let Some(before) = number(set).filter(|before| *before < next) {
                wanted.insert(REVISION.to_owned(), next.to_string());
                if set.annotations().contains_key(REVISION) {
                    let history = set.annotations().get(HISTORY).map_or("", String::as_str);
                    wanted.insert(HISTORY.to_owned(), remembered(history, before));
                }
            }
            wanted.retain(|name, value| set.annotations().get(name) != Some(value));
        }
    }
    wanted
}

/// A history with one number more.
fn remembered(history: &str, before: i64) -> String {
    let before = before.to_string();
    let mut kept = history;
    while !kept.is_empty() {
        if kept.len() + 1 + before.len() <= LONGEST_HISTORY {
            return format!("{kept},{before}");
        }
        kept = kept.split_once(',').map_or("", |(_, rest)| rest);
    }
    before
}

#[cfg(test)]
mod tests {
    use super::{
        super::plan::tests::{deployment, set},
        *,
    };

    #[test]
    fn a_set_that_is_gone_back_to_gets_the_next_number_and_remembers_its_old_one() {
        let mut deployment = deployment(1);
        deployment.metadata.annotations = Some(
            [("a", "1"), (OWN[0], "{}"), (REVISION, "3")].map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
        );
        let with = |revision: &str, history: &str| {
            let mut set = set("a", 1, 1);
            let annotations = [(REVISION, revision), (HISTORY, history)].into_iter();
            let annotations = annotations.filter(|(_, value)| !value.is_empty());
            set.metadata.annotations = Some(annotations.map(|(k, v)| (k.to_owned(), v.to_owned())).collect());
            set
        };
        let (new, old, none) = (with("2", "1"), with("3", ""), with("", ""));
        let missing = |new: Option<&ReplicaSet>, old: &[&ReplicaSet]| {
            let rollout = Rollout { deployment: &deployment, new, old: old.to_vec() };
            let missing = missing(&rollout).into_iter();
            missing
                .map(|(name, value)| format!("{}={value}", name.rsplit('/').next().unwrap_or("")))
                .collect::<Vec<_>>()
        };
        assert_eq!(missing(Some(&new), &[&old]), ["a=1", "revision=4", "revision-history=1,2"]);
        assert_eq!(missing(Some(&old), &[&new]), ["a=1"], "its number is the highest");
        assert_eq!(missing(Some(&none), &[]), ["a=1", "revision=1"], "there is nothing to remember");
        assert_eq!(missing(None, &[&new, &old]), ["a=1", "revision=4"]);
    }

    #[test]
    fn a_history_forgets_its_beginning() {
        let long = vec!["12345"; 333].join(",");
        assert_eq!(long.len(), 1997);
        let next = remembered(&long, 678);
        assert!(next.len() <= LONGEST_HISTORY && next.ends_with("12345,678"), "{next}");
        assert_eq!(remembered("", 1), "1");
    }
}
