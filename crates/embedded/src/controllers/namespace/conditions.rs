//! What is told of a namespace that is ending: what went wrong, and what is left in it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::controllers::records::NamespaceCondition as Condition;

/// What came of emptying a namespace.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Why kinds could not be discovered.
    pub undiscovered: Option<String>,
    /// What went wrong with a kind's objects, each.
    pub failures: Vec<String>,
    /// How many objects are left, by the kind's name.
    pub remaining: BTreeMap<String, usize>,
    /// How many of them a finalizer holds.
    pub finalizers: BTreeMap<String, usize>,
}

impl Findings {
    /// Whether the namespace is empty, and surely so.
    pub fn is_empty(&self) -> bool {
        self.undiscovered.is_none() && self.failures.is_empty() && self.remaining.is_empty()
    }
}

/// The conditions after what was found. Those of others stay; a time moves only with its status.
pub fn conditions(old: &[Condition], findings: &Findings, now: Timestamp) -> Vec<Condition> {
    let mut all = old.to_vec();
    for mut condition in told(findings) {
        match all.iter_mut().find(|known| known.r#type == condition.r#type) {
            Some(known) => {
                let moved = known.status != condition.status;
                condition.last_transition_time =
                    if moved { Some(Time(now)) } else { known.last_transition_time.clone() };
                *known = condition;
            }
            None => all.push(Condition { last_transition_time: Some(Time(now)), ..condition }),
        }
    }
    all
}

fn told(findings: &Findings) -> [Condition; 5] {
    let undiscovered = findings.undiscovered.clone().map(|message| ("DiscoveryFailed", message));
    let failed = (!findings.failures.is_empty()).then(|| {
        let mut failures = findings.failures.clone();
        failures.sort();
        let (count, failures) = (failures.len(), failures.join(", "));
        (
            "ContentDeletionFailed",
            format!("Failed to delete all resource types, {count} remaining: {failures}"),
        )
    });
    let remaining = counted(&findings.remaining, "has")
        .map(|objects| ("SomeResourcesRemain", format!("Some resources are remaining: {objects}")));
    let finalizers = counted(&findings.finalizers, "in").map(|objects| {
        let message = format!("Some content in the namespace has finalizers remaining: {objects}");
        ("SomeFinalizersRemain", message)
    });
    [
        condition(
            "NamespaceDeletionDiscoveryFailure",
            undiscovered,
            ("ResourcesDiscovered", "All resources successfully discovered"),
        ),
        // Discovery here tells groups and versions apart: there is nothing to parse.
        condition(
            "NamespaceDeletionGroupVersionParsingFailure",
            None,
            ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
        ),
        condition(
            "NamespaceDeletionContentFailure",
            failed,
            ("ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
        ),
        condition(
            "NamespaceContentRemaining",
            remaining,
            ("ContentRemoved", "All content successfully removed"),
        ),
        condition(
            "NamespaceFinalizersRemaining",
            finalizers,
            ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
        ),
    ]
}

/// A condition that is True when something is amiss.
fn condition(kind: &str, amiss: Option<(&str, String)>, fine: (&str, &str)) -> Condition {
    let status = if amiss.is_some() { "True" } else { "False" };
    let (reason, message) = amiss.unwrap_or((fine.0, fine.1.to_owned()));
    Condition {
        r#type: kind.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message,
        last_transition_time: None,
    }
}

/// `pods. has 2 resource instances, …`; none if there are none.
fn counted(counts: &BTreeMap<String, usize>, verb: &str) -> Option<String> {
    let words: Vec<_> =
        counts.iter().map(|(name, count)| format!("{name} {verb} {count} resource instances")).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<'a>(conditions: &'a [Condition], kind: &str) -> &'a Condition {
        conditions.iter().find(|condition| condition.r#type == kind).expect("the condition")
    }

    #[test]
    fn tell_what_remains_and_then_that_nothing_does() {
        let at = |second| Timestamp::from_second(second).expect("a time");
        let mut findings = Findings::default();
        findings.remaining.insert("pods.".to_owned(), 2);
        findings.remaining.insert("deployments.apps".to_owned(), 1);
        findings.finalizers.insert("a/b".to_owned(), 1);
        let first = conditions(&[], &findings, at(1));
        assert_eq!(first.len(), 5);
        let remaining = of(&first, "NamespaceContentRemaining");
        assert_eq!(
            (remaining.status.as_str(), remaining.reason.as_str(), remaining.message.as_str()),
            (
                "True",
                "SomeResourcesRemain",
                "Some resources are remaining: deployments.apps has 1 resource instances, pods. has 2 resource \
                 instances"
            )
        );
        assert_eq!(
            of(&first, "NamespaceFinalizersRemaining").message,
            "Some content in the namespace has finalizers remaining: a/b in 1 resource instances"
        );
        assert_eq!(of(&first, "NamespaceDeletionContentFailure").reason, "ContentDeleted");
        assert_eq!(conditions(&first, &findings, at(2)), first, "nothing moves by itself");

        let second = conditions(&first, &Findings::default(), at(3));
        let removed = of(&second, "NamespaceContentRemaining");
        assert_eq!((removed.status.as_str(), removed.reason.as_str()), ("False", "ContentRemoved"));
        assert_eq!(removed.last_transition_time, Some(Time(at(3))));
        let failure = of(&second, "NamespaceDeletionContentFailure");
        assert_eq!(failure.last_transition_time, Some(Time(at(1))), "its status has not moved");
    }

    #[test]
    fn tell_failures_in_a_stable_order_and_leave_others_alone() {
        let findings = Findings { failures: vec!["b".to_owned(), "a".to_owned()], ..Findings::default() };
        let other = condition("Other", None, ("Fine", "fine"));
        let all = conditions(std::slice::from_ref(&other), &findings, Timestamp::UNIX_EPOCH);
        assert_eq!(
            of(&all, "NamespaceDeletionContentFailure").message,
            "Failed to delete all resource types, 2 remaining: a, b"
        );
        assert_eq!((all.len(), &all[0]), (6, &other));
    }
}
