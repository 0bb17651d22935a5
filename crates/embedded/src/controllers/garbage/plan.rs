//! What is to become of an object, from how it is with its owners and dependents.

use kube::api::PropagationPolicy;

use super::graph::{FOREGROUND, Look, Node, ORPHAN, Standing};

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Nothing,
    /// To be deleted.
    Delete(PropagationPolicy),
    /// To lose the references to the owners of these uids.
    Strike(Vec<String>),
    /// To hold back no owner any more: it is in a circle with one.
    Unblock,
    /// Its dependents are to lose their references to it.
    Orphan,
    /// To lose this finalizer, which has done its work.
    Release(&'static str),
}

pub fn decide(look: &Look) -> Action {
    match look.node.ending {
        true => end(look),
        false => judge(look),
    }
}

/// An object that is ending is held by what its deleter wished for its dependents.
fn end(look: &Look) -> Action {
    match &look.node {
        node if node.has(ORPHAN) && look.has_dependents => Action::Orphan,
        node if node.has(ORPHAN) => Action::Release(ORPHAN),
        node if node.has(FOREGROUND) && !look.is_blocked => Action::Release(FOREGROUND),
        _ => Action::Nothing,
    }
}

/// An object with owners lives as long as one of them does.
fn judge(look: &Look) -> Action {
    let Look { node, standings, .. } = look;
    let any = |standing: Standing| standings.contains(&standing);
    if standings.is_empty() || any(Standing::Unknown) {
        return Action::Nothing;
    }
    if any(Standing::Solid) {
        // Those that wait must not wait for this, which stays.
        let gone = node.owners.iter().zip(standings).filter(|(_, standing)| **standing != Standing::Solid);
        let gone: Vec<String> = gone.map(|(owner, _)| owner.uid.clone()).collect();
        return if gone.is_empty() { Action::Nothing } else { Action::Strike(gone) };
    }
    if any(Standing::Waiting) && look.has_dependents {
        let blocks = node.owners.iter().any(|owner| owner.block_owner_deletion == Some(true));
        // In a circle everybody would wait for everybody.
        return if look.is_circular && blocks {
            Action::Unblock
        } else {
            Action::Delete(PropagationPolicy::Foreground)
        };
    }
    Action::Delete(policy_of(node))
}

/// What the object's own finalizers ask for.
fn policy_of(node: &Node) -> PropagationPolicy {
    if node.has(ORPHAN) {
        PropagationPolicy::Orphan
    } else if node.has(FOREGROUND) {
        PropagationPolicy::Foreground
    } else {
        PropagationPolicy::Background
    }
}

#[cfg(test)]
mod tests;
