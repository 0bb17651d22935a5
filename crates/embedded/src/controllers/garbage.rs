//! The garbage collector: dependents go with their owners.
//!
//! - An object whose owners are all gone is deleted; while one lives, references to those that are gone are struck out.
//! - An owner with the finalizer `foregroundDeletion` goes after its dependents: after those that block it.
//! - An owner with the finalizer `orphan` goes after its dependents have lost their references to it.
//!
//! It looks at metadata alone, of every kind that can be listed, watched and deleted, and it never touches an object
//! without owners that nobody deleted. What it writes carries uid and version: a decision about what was is not
//! carried out on what is.

mod graph;
mod monitors;
mod plan;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
    time::Duration,
};

use anneal_kit::{CallError, Event, Key, Next, Queue, Recorder};
use futures::future::join;
use k8s_openapi::{api::core::v1::ObjectReference, apimachinery::pkg::apis::meta::v1::OwnerReference};
use kube::{
    Client,
    api::{DeleteParams, Patch, PatchParams, Preconditions, PropagationPolicy},
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use self::{
    graph::{Graph, Look, Node, Standing, Uid},
    monitors::{Kinds, Monitors, Referred},
    plan::Action,
};
use super::{Context, Controller, MANAGER, kinds::Thing, records::Definition};

/// An owner that the server knows and no watch has told of: it will, soon, or its end was missed.
const UNTIL_TOLD: Duration = Duration::from_secs(1);
/// The same if nobody watches its kind.
const UNTOLD: Duration = Duration::from_secs(30);
/// A kind that was just defined is listed within moments. Until then nobody knows all dependents.
const UNTIL_LISTED: Duration = Duration::from_millis(50);

pub fn start(context: &Context) -> impl Future<Output = ()> + Send + use<> {
    let collector = Arc::new(Collector {
        client: context.client.clone(),
        recorder: context.recorder("garbage-collector-controller"),
        graph: Mutex::default(),
        kinds: RwLock::default(),
        queue: Queue::default(),
    });
    let definitions = context.watches.of::<Definition>();
    let changed = Arc::new(Notify::new());
    let (notify, noting) = (changed.clone(), collector.clone());
    definitions.on_change(move |change| {
        noting.kinds.write().unwrap_or_else(PoisonError::into_inner).note(change);
        notify.notify_one();
    });
    let monitors = Monitors::new(collector.clone(), definitions, context.clock.clone());
    let listed = monitors.listed();
    let queue = collector.queue.clone();
    let running = context.run(Controller::GarbageCollector, queue, move |uid: Id| {
        let collector = collector.clone();
        async move { collector.reconcile(&uid.0).await }
    });
    async move {
        join(monitors.keep(changed), async {
            listed.await;
            running.await;
        })
        .await;
    }
}

/// A uid in the queue.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
struct Id(Uid);

impl std::fmt::Display for Id {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

struct Collector {
    client: Client,
    recorder: Recorder,
    graph: Mutex<Graph>,
    kinds: RwLock<Kinds>,
    queue: Queue<Id>,
}

impl Collector {
    async fn reconcile(&self, uid: &Uid) -> Result<Next, CallError> {
        let Some(mut look) = self.graph().look(uid) else { return Ok(Next::Settled) };
        let next = self.ask_for_unknown_owners(uid, &mut look).await?;
        let action = plan::decide(&look);
        if matches!(action, Action::Orphan | Action::Release(_)) && !self.knows_all_dependents() {
            return Ok(Next::After(UNTIL_LISTED));
        }
        match action {
            Action::Nothing => {}
            Action::Delete(policy) => self.delete(uid, &look.node, policy).await?,
            Action::Strike(owners) => self.strike(uid, &look.node, &owners).await?,
            Action::Unblock => self.unblock(uid, &look.node).await?,
            Action::Orphan => self.orphan(uid).await?,
            Action::Release(finalizer) => self.release(uid, &look.node, finalizer).await?,
        }
        Ok(next)
    }

    fn graph(&self) -> MutexGuard<'_, Graph> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, looks: Vec<Uid>) {
        for uid in looks {
            self.queue.add(Id(uid));
        }
    }

    fn knows_all_dependents(&self) -> bool {
        self.kinds.read().unwrap_or_else(PoisonError::into_inner).are_listed()
    }

    /// Reads from the server how it is with the owners that no watch has told of. One of a kind that is not served
    /// stays unknown until it is.
    async fn ask_for_unknown_owners(&self, uid: &Uid, look: &mut Look) -> Result<Next, CallError> {
        let mut next = Next::Settled;
        if look.node.ending {
            return Ok(next);
        }
        for (reference, standing) in look.node.owners.iter().zip(&mut look.standings) {
            if *standing != Standing::Unknown {
                continue;
            }
            let kind = self.kinds.read().unwrap_or_else(PoisonError::into_inner).of_reference(reference);
            let (kind, watched) = match kind {
                Referred::Served(kind, watched) => (kind, watched),
                Referred::Ended => {
                    *standing = Standing::Absent;
                    continue;
                }
                Referred::Unserved => continue,
            };
            let namespace = if kind.namespaced { look.node.key.namespace.as_str() } else { "" };
            if kind.namespaced && namespace.is_empty() {
                // What is in no namespace cannot have an owner in one: nobody could say which is meant.
                continue;
            }
            let key = Key::new(namespace, &reference.name);
            let found = match kind.objects(&self.client, namespace).get(&reference.name).await {
                Ok(owner) => Some(owner),
                Err(kube::Error::Api(status)) if status.code == 404 => {
                    // Only if the answer names the object is it the object that is not there; else it is the kind.
                    if status.details.is_none_or(|details| details.name != reference.name) {
                        continue;
                    }
                    None
                }
                Err(error) => return Err(CallError::new("get", &kind.api.kind, &key, error)),
            };
            *standing = match found {
                Some(owner) if owner.metadata.uid.as_deref() == Some(&reference.uid) => {
                    let after = if watched { UNTIL_TOLD } else { UNTOLD };
                    next = Next::After(after);
                    let owner = Node::of(&kind, owner.metadata);
                    if owner.awaits_dependents() { Standing::Waiting } else { Standing::Solid }
                }
                _ => {
                    self.tell_of_wrong_namespace(uid, &look.node, reference);
                    Standing::Absent
                }
            };
        }
        Ok(next)
    }

    /// A person meant something by a reference across namespaces, and it does not work.
    fn tell_of_wrong_namespace(&self, uid: &Uid, node: &Node, reference: &OwnerReference) {
        let elsewhere = |owner: &Node| owner.kind.namespaced && owner.key.namespace != node.key.namespace;
        if !self.graph().get(&reference.uid).is_some_and(elsewhere) {
            return;
        }
        let OwnerReference { api_version, kind, name, uid: owner, .. } = reference;
        let namespace = &node.key.namespace;
        let note = format!(
            "ownerRef [{api_version}/{kind}, namespace: {namespace}, name: {name}, uid: {owner}] does not exist in \
             namespace {namespace:?}"
        );
        let regarding = ObjectReference {
            api_version: Some(node.kind.api.api_version.clone()),
            kind: Some(node.kind.api.kind.clone()),
            namespace: Some(namespace.clone()),
            name: Some(node.key.name.clone()),
            uid: Some(uid.to_string()),
            ..ObjectReference::default()
        };
        self.recorder.publish(regarding, Event::warning("OwnerRefInvalidNamespace", "Collect", note));
    }

    async fn delete(&self, uid: &Uid, node: &Node, policy: PropagationPolicy) -> Result<(), CallError> {
        let preconditions =
            Preconditions { uid: Some(uid.to_string()), resource_version: Some(node.version.to_string()) };
        let params = DeleteParams {
            preconditions: Some(preconditions),
            propagation_policy: Some(policy),
            ..DeleteParams::default()
        };
        let objects = node.kind.objects(&self.client, &node.key.namespace);
        match objects.delete(&node.key.name, &params).await {
            // What stays for a while is in the answer; of what is gone the watch will tell.
            Ok(answer) => answer.left().into_iter().for_each(|left| self.learn(uid, node, left)),
            Err(error) => gone_is_fine(CallError::new("delete", &node.kind.api.kind, &node.key, error))?,
        }
        Ok(())
    }

    /// Strikes out references to these owners.
    async fn strike(&self, uid: &Uid, node: &Node, owners: &[String]) -> Result<(), CallError> {
        let kept: Vec<_> = node.owners.iter().filter(|owner| !owners.contains(&owner.uid)).collect();
        self.patch(uid, node, "ownerReferences", json!(kept)).await
    }

    async fn unblock(&self, uid: &Uid, node: &Node) -> Result<(), CallError> {
        let mut owners = node.owners.clone();
        for owner in &mut owners {
            owner.block_owner_deletion = Some(false);
        }
        self.patch(uid, node, "ownerReferences", json!(owners)).await
    }

    /// Strikes out the references of all dependents. When the last is gone, the owner is looked at again.
    async fn orphan(&self, uid: &Uid) -> Result<(), CallError> {
        let dependents: Vec<_> = {
            let graph = self.graph();
            let dependents = graph.dependents(uid).into_iter().filter(|dependent| dependent != uid);
            dependents.filter_map(|uid| graph.get(&uid).cloned().map(|node| (uid, node))).collect()
        };
        for (dependent, node) in dependents {
            self.strike(&dependent, &node, &[uid.to_string()]).await?;
        }
        self.queue.add(Id(uid.clone()));
        Ok(())
    }

    async fn release(&self, uid: &Uid, node: &Node, finalizer: &str) -> Result<(), CallError> {
        let kept: Vec<_> = node.finalizers.iter().filter(|known| *known != finalizer).collect();
        self.patch(uid, node, "finalizers", json!(kept)).await
    }

    /// Sets a list in the metadata of this very version of an object.
    async fn patch(&self, uid: &Uid, node: &Node, field: &str, list: Value) -> Result<(), CallError> {
        let mut metadata = json!({ "uid": &**uid, "resourceVersion": node.version.to_string() });
        metadata[field] = if list == json!([]) { Value::Null } else { list };
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        let objects = node.kind.objects(&self.client, &node.key.namespace);
        match objects.patch(&node.key.name, &params, &patch).await {
            Ok(left) => self.learn(uid, node, left),
            Err(error) => gone_is_fine(CallError::new("patch", &node.kind.api.kind, &node.key, error))?,
        }
        Ok(())
    }

    /// Takes in what the server answered to a write, so that the next look is not at a world without it.
    fn learn(&self, uid: &Uid, node: &Node, left: Thing) {
        if left.metadata.uid.as_deref() == Some(uid) {
            let looks = self.graph().learn(uid, Node::of(&node.kind, left.metadata));
            self.wake(looks);
        }
    }
}

fn gone_is_fine(error: CallError) -> Result<(), CallError> {
    if error.is_not_found() { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests;
