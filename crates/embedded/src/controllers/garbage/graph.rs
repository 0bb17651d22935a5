//! Who owns whom, of all kinds, by uid.
//!
//! The graph takes in objects as watches tell of them, in any order across kinds, and answers which objects a change
//! gives reason to look at. It knows only what it was told: an owner that nobody has told of is unknown, which is
//! something else than absent.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use anneal_kit::Key;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use crate::controllers::kinds::Kind;

/// Holds an owner until its blocking dependents are gone.
pub const FOREGROUND: &str = "foregroundDeletion";
/// Holds an owner until its dependents no longer refer to it.
pub const ORPHAN: &str = "orphan";

pub type Uid = Arc<str>;

/// What is known of an object.
#[derive(Clone, Debug)]
pub struct Node {
    pub kind: Arc<Kind>,
    pub key: Key,
    /// Versions of one server are ordered.
    pub version: u64,
    pub ending: bool,
    pub finalizers: Vec<String>,
    pub owners: Vec<OwnerReference>,
}

impl Node {
    pub fn of(kind: &Arc<Kind>, meta: ObjectMeta) -> Self {
        Self {
            kind: kind.clone(),
            key: Key::new(meta.namespace.unwrap_or_default(), meta.name.unwrap_or_default()),
            version: meta.resource_version.and_then(|version| version.parse().ok()).unwrap_or_default(),
            ending: meta.deletion_timestamp.is_some(),
            finalizers: meta.finalizers.unwrap_or_default(),
            owners: meta.owner_references.unwrap_or_default(),
        }
    }

    pub fn has(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|known| known == finalizer)
    }

    /// Whether its dependents are to go before it.
    pub fn awaits_dependents(&self) -> bool {
        self.ending && self.has(FOREGROUND)
    }

    /// Whether nothing that matters here has changed: most changes are of other parts of an object.
    fn is_the_same_as(&self, other: &Self) -> bool {
        self.ending == other.ending && self.finalizers == other.finalizers && self.owners == other.owners
    }

    /// Whether it holds back this owner.
    fn blocks(&self, owner: &str) -> bool {
        self.owners.iter().any(|known| known.uid == owner && known.block_owner_deletion == Some(true))
    }

    /// Whether a reference means this object, beyond its uid.
    fn is_named_by(&self, reference: &OwnerReference, namespace: &str) -> bool {
        let group = reference.api_version.rsplit_once('/').map_or("", |(group, _)| group);
        self.kind.api.kind == reference.kind
            && self.kind.api.group == group
            && self.key.name == reference.name
            && (!self.kind.namespaced || self.key.namespace == namespace)
    }
}

/// How it is with an owner.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Standing {
    /// It keeps its dependents alive.
    Solid,
    /// It is ending, and waits for its dependents to go.
    Waiting,
    Absent,
    /// Only the server can tell.
    Unknown,
}

/// All that a decision about an object needs.
#[derive(Clone, Debug)]
pub struct Look {
    pub node: Node,
    /// Of each of the node's owners.
    pub standings: Vec<Standing>,
    pub has_dependents: bool,
    /// Whether a dependent holds it back.
    pub is_blocked: bool,
    /// Whether a dependent waits for its own dependents, of which this is one: a circle.
    pub is_circular: bool,
}

#[derive(Default)]
pub struct Graph {
    nodes: HashMap<Uid, Node>,
    /// By the uid of each owner, known or not.
    dependents: HashMap<Uid, BTreeSet<Uid>>,
    /// Owners that were seen to go, as long as somebody refers to them.
    absent: HashSet<Uid>,
}

impl Graph {
    /// Takes an object in unless something newer is known. Answers who is to be looked at.
    pub fn put(&mut self, uid: &Uid, node: Node) -> Vec<Uid> {
        let known = self.nodes.get_mut(uid);
        if let Some(known) = known.filter(|known| Arc::ptr_eq(&known.kind, &node.kind)) {
            if known.is_the_same_as(&node) {
                known.version = known.version.max(node.version);
                return Vec::new();
            }
            if known.version >= node.version {
                return Vec::new();
            }
        }
        self.absent.remove(uid);
        for owner in &node.owners {
            self.link(&owner.uid, uid);
        }
        let mut looks = Vec::new();
        if node.awaits_dependents() && !self.nodes.get(uid).is_some_and(Node::awaits_dependents) {
            looks.extend(self.dependents(uid));
        }
        if self.is_worth_a_look(&node) {
            looks.push(uid.clone());
        }
        let (mut struck, mut released) = (Vec::new(), Vec::new());
        if let Some(old) = self.nodes.get(uid) {
            for OwnerReference { uid: owner, .. } in &old.owners {
                if old.blocks(owner) && !node.blocks(owner) {
                    released.push(owner.clone());
                }
                if !node.owners.iter().any(|kept| kept.uid == *owner) {
                    struck.push(owner.clone());
                }
            }
        }
        self.nodes.insert(uid.clone(), node);
        for owner in struck {
            self.unlink(&owner, uid);
        }
        looks.extend(released.iter().filter_map(|owner| self.waiting(owner)));
        looks
    }

    /// The same for an object that is known already, and nothing for others: an answer to a write may come after
    /// the watch has told of the object's end.
    pub fn learn(&mut self, uid: &Uid, node: Node) -> Vec<Uid> {
        if self.nodes.contains_key(uid) { self.put(uid, node) } else { Vec::new() }
    }

    /// An object is gone.
    pub fn remove(&mut self, uid: &str) -> Vec<Uid> {
        let mut looks = self.forget(uid);
        if let Some((owner, dependents)) = self.dependents.get_key_value(uid) {
            self.absent.insert(owner.clone());
            looks.extend(dependents.iter().cloned());
        }
        looks
    }

    /// All there is of a kind, as a list tells: others are gone.
    pub fn retain(&mut self, kind: &Kind, listed: &HashSet<Uid>) -> Vec<Uid> {
        let lost: Vec<Uid> = self.of_kind(kind).filter(|uid| !listed.contains(*uid)).cloned().collect();
        lost.iter().flat_map(|uid| self.remove(uid)).collect()
    }

    /// A kind is served no more. Its objects went with it if its definition did; else nothing is known of them.
    pub fn end_kind(&mut self, kind: &Kind, are_gone: bool) -> Vec<Uid> {
        let lost: Vec<Uid> = self.of_kind(kind).cloned().collect();
        lost.iter().flat_map(|uid| if are_gone { self.remove(uid) } else { self.forget(uid) }).collect()
    }

    /// All that a decision about an object needs; none if it is not known.
    pub fn look(&self, uid: &str) -> Option<Look> {
        let node = self.nodes.get(uid)?;
        let dependents = || {
            let others = self.dependents.get(uid).into_iter().flatten().filter(|other| &***other != uid);
            others.filter_map(|other| self.nodes.get(other))
        };
        Some(Look {
            standings: self.standings(node),
            has_dependents: dependents().next().is_some(),
            is_blocked: dependents().any(|dependent| dependent.blocks(uid)),
            is_circular: dependents().any(Node::awaits_dependents),
            node: node.clone(),
        })
    }

    pub fn get(&self, uid: &str) -> Option<&Node> {
        self.nodes.get(uid)
    }

    pub fn dependents(&self, uid: &str) -> Vec<Uid> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }

    /// Those with an owner of which nothing is known.
    pub fn unresolved(&self) -> Vec<Uid> {
        let unresolved = |node: &Node| !node.ending && self.standings(node).contains(&Standing::Unknown);
        self.nodes.iter().filter(|(_, node)| unresolved(node)).map(|(uid, _)| uid.clone()).collect()
    }

    fn is_worth_a_look(&self, node: &Node) -> bool {
        if node.ending {
            return node.has(FOREGROUND) || node.has(ORPHAN);
        }
        node.owners.iter().any(|owner| self.standing(owner, &node.key.namespace) != Standing::Solid)
    }

    fn standings(&self, node: &Node) -> Vec<Standing> {
        node.owners.iter().map(|owner| self.standing(owner, &node.key.namespace)).collect()
    }

    fn standing(&self, reference: &OwnerReference, namespace: &str) -> Standing {
        if self.absent.contains(reference.uid.as_str()) {
            return Standing::Absent;
        }
        match self.nodes.get(reference.uid.as_str()) {
            Some(owner) if !owner.is_named_by(reference, namespace) => Standing::Unknown,
            Some(owner) if owner.awaits_dependents() => Standing::Waiting,
            Some(_) => Standing::Solid,
            None => Standing::Unknown,
        }
    }

    /// An owner, if it waits for its dependents.
    fn waiting(&self, uid: &str) -> Option<Uid> {
        let (uid, node) = self.nodes.get_key_value(uid)?;
        node.awaits_dependents().then(|| uid.clone())
    }

    fn of_kind<'a>(&'a self, kind: &'a Kind) -> impl Iterator<Item = &'a Uid> {
        let same =
            |node: &Node| node.kind.api.group == kind.api.group && node.kind.api.plural == kind.api.plural;
        self.nodes.iter().filter(move |(_, node)| same(node)).map(|(uid, _)| uid)
    }

    /// Forgets an object, and answers which owners may have waited for it.
    fn forget(&mut self, uid: &str) -> Vec<Uid> {
        let Some(node) = self.nodes.remove(uid) else { return Vec::new() };
        for owner in &node.owners {
            self.unlink(&owner.uid, uid);
        }
        node.owners.iter().filter_map(|owner| self.waiting(&owner.uid)).collect()
    }

    fn link(&mut self, owner: &str, dependent: &Uid) {
        match self.dependents.get_mut(owner) {
            Some(dependents) => drop(dependents.insert(dependent.clone())),
            None => drop(self.dependents.insert(owner.into(), BTreeSet::from([dependent.clone()]))),
        }
    }

    fn unlink(&mut self, owner: &str, dependent: &str) {
        if let Some(dependents) = self.dependents.get_mut(owner) {
            dependents.remove(dependent);
            if dependents.is_empty() {
                self.dependents.remove(owner);
                self.absent.remove(owner);
            }
        }
    }
}

#[cfg(test)]
mod tests;
