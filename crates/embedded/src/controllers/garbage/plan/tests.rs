//! Decisions, case by case.

use std::sync::Arc;

use anneal_kit::Key;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::*;
use crate::controllers::kinds::Kind;
use Standing::{Absent, Solid, Unknown, Waiting};

/// An object whose owners are `0`, `1` and so on.
fn look(standings: &[Standing]) -> Look {
    let owner = |at: usize| OwnerReference {
        uid: at.to_string(),
        block_owner_deletion: Some(true),
        ..OwnerReference::default()
    };
    let node = Node {
        kind: Arc::new(Kind::test("", "ConfigMap", true)),
        key: Key::new("ns", "a"),
        version: 1,
        ending: false,
        finalizers: Vec::new(),
        owners: (0..standings.len()).map(owner).collect(),
    };
    let standings = standings.to_vec();
    Look { node, standings, has_dependents: false, is_blocked: false, is_circular: false }
}

#[test]
fn an_object_lives_as_long_as_an_owner() {
    let strike = |owners: &[&str]| Action::Strike(owners.iter().map(ToString::to_string).collect());
    let background = || Action::Delete(PropagationPolicy::Background);
    for (standings, action) in [
        (vec![], Action::Nothing),
        (vec![Solid], Action::Nothing),
        (vec![Solid, Solid], Action::Nothing),
        (vec![Solid, Absent], strike(&["1"])),
        (vec![Waiting, Solid, Absent], strike(&["0", "2"])),
        (vec![Absent], background()),
        (vec![Absent, Absent], background()),
        (vec![Waiting], background()),
        (vec![Absent, Waiting], background()),
        // Nobody may act on what nobody knows.
        (vec![Unknown], Action::Nothing),
        (vec![Unknown, Absent], Action::Nothing),
        (vec![Unknown, Solid, Absent], Action::Nothing),
    ] {
        assert_eq!(decide(&look(&standings)), action, "{standings:?}");
    }
}

#[test]
fn foreground_is_passed_on_to_what_has_dependents_itself() {
    let middle = Look { has_dependents: true, ..look(&[Waiting]) };
    assert_eq!(decide(&middle), Action::Delete(PropagationPolicy::Foreground));
    let orphaned = Look { has_dependents: true, ..look(&[Absent]) };
    assert_eq!(decide(&orphaned), Action::Delete(PropagationPolicy::Background));
}

#[test]
fn a_circle_is_broken_once() {
    let mut circular = Look { has_dependents: true, is_circular: true, ..look(&[Waiting]) };
    assert_eq!(decide(&circular), Action::Unblock);
    circular.node.owners[0].block_owner_deletion = Some(false);
    assert_eq!(decide(&circular), Action::Delete(PropagationPolicy::Foreground));
}

#[test]
fn a_deletion_keeps_to_the_finalizers_that_are_there() {
    for (finalizer, policy) in
        [(ORPHAN, PropagationPolicy::Orphan), (FOREGROUND, PropagationPolicy::Foreground)]
    {
        let mut look = look(&[Absent]);
        look.node.finalizers = vec!["a/b".to_owned(), finalizer.to_owned()];
        assert_eq!(decide(&look), Action::Delete(policy));
    }
}

#[test]
fn an_ending_owner_is_released_when_its_wish_is_fulfilled() {
    for (finalizer, has_dependents, is_blocked, action) in [
        ("a/b", true, true, Action::Nothing),
        (FOREGROUND, true, true, Action::Nothing),
        (FOREGROUND, true, false, Action::Release(FOREGROUND)),
        (FOREGROUND, false, false, Action::Release(FOREGROUND)),
        (ORPHAN, true, false, Action::Orphan),
        (ORPHAN, false, false, Action::Release(ORPHAN)),
    ] {
        // Its own owners count no more.
        let mut look = Look { has_dependents, is_blocked, ..look(&[Absent]) };
        look.node.ending = true;
        look.node.finalizers = vec![finalizer.to_owned()];
        assert_eq!(decide(&look), action, "{finalizer} {has_dependents} {is_blocked}");
    }
}
