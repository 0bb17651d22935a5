//! Whose an object is: an owner adopts what it selects and nobody looks after, and lets go of what it no longer
//! selects. It never takes anything from another owner.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use anneal_kit::{Cache, CallError, Key, Objects, Record};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;
use serde_json::json;

use crate::api::selector::LabelSelector;

/// Who looks after an object.
pub fn controller(meta: &ObjectMeta) -> Option<&OwnerReference> {
    meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

/// What an object says of the owner that looks after it. The owner's deletion in the foreground waits for it.
pub fn reference(owner: &impl Resource<DynamicType = ()>) -> Option<OwnerReference> {
    let reference = owner.controller_owner_ref(&())?;
    Some(OwnerReference { block_owner_deletion: Some(true), ..reference })
}

/// Those of a kind that nobody looks after. They are few, and looking for them among all is not.
pub struct Orphans<R> {
    cache: Cache<R>,
    /// With their uids. Some may be orphans no more: the cache knows.
    known: Arc<Mutex<BTreeMap<Key, String>>>,
}

impl<R> Clone for Orphans<R> {
    fn clone(&self) -> Self {
        Self { cache: self.cache.clone(), known: self.known.clone() }
    }
}

impl<R: Record> Orphans<R> {
    /// To be made before the cache is filled.
    pub fn of(cache: &Cache<R>) -> Self {
        let known = Arc::<Mutex<BTreeMap<Key, String>>>::default();
        let orphans = known.clone();
        cache.on_change(move |change| {
            let Some(object) = change.any() else { return };
            let uid = object.meta().uid.as_deref().unwrap_or_default();
            if change.new.is_none() {
                let mut orphans = orphans.lock().unwrap_or_else(PoisonError::into_inner);
                // Another of the same name may have come meanwhile.
                let key = Key::of(object.as_ref());
                if orphans.get(&key).is_some_and(|known| known == uid) {
                    orphans.remove(&key);
                }
            } else if controller(object.meta()).is_none() {
                let mut orphans = orphans.lock().unwrap_or_else(PoisonError::into_inner);
                orphans.insert(Key::of(object.as_ref()), uid.to_owned());
            }
        });
        Self { cache: cache.clone(), known }
    }

    pub fn in_namespace(&self, namespace: &str) -> Vec<Arc<R>> {
        // The lock is held while the cache is read: whoever becomes an orphan meanwhile is put in after that.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let inside = known.range(Key::new(namespace, "")..).take_while(|(key, _)| key.namespace == namespace);
        let (mut orphans, mut others) = (Vec::new(), Vec::new());
        for (key, _) in inside {
            match self.cache.get(key) {
                Some(object) if controller(object.meta()).is_none() => orphans.push(object),
                _ => others.push(key.clone()),
            }
        }
        for key in others {
            known.remove(&key);
        }
        orphans
    }
}

/// What belongs to an owner: what it looks after and selects. Of those that `claimable` says may change hands, it
/// adopts the orphans that it selects, and releases what it does not select any more. An owner that is ending does
/// neither.
pub async fn claim<O, R>(
    (owner, owners): (&O, &Objects<O>),
    selector: &LabelSelector,
    objects: &Objects<R>,
    orphans: &Orphans<R>,
    claimable: fn(&R) -> bool,
) -> Result<Vec<Arc<R>>, CallError>
where
    O: Record + Resource<DynamicType = ()>,
    R: Record,
{
    let uid = owner.meta().uid.as_deref().unwrap_or_default();
    let ending = owner.meta().deletion_timestamp.is_some();
    let mut mine = Vec::new();
    for object in objects.cache().owned_by(uid) {
        if controller(object.meta()).is_none_or(|controller| controller.uid != uid) {
            continue;
        }
        if selects(selector, object.as_ref()) {
            mine.push(object);
        } else if !ending && claimable(&object) {
            release(objects, object.as_ref(), uid).await?;
        }
    }
    if ending {
        return Ok(mine);
    }
    let namespace = owner.meta().namespace.as_deref().unwrap_or_default();
    let mut wanted = orphans.in_namespace(namespace);
    wanted.retain(|object| claimable(object) && selects(selector, object.as_ref()));
    // Whoever was deleted a moment ago must not take over what was just set free.
    if !wanted.is_empty() && !is_alive(owner, owners).await? {
        return Ok(mine);
    }
    for object in wanted {
        mine.extend(adopt(owner, objects, object.as_ref()).await?.map(Arc::new));
    }
    Ok(mine)
}

fn selects<R: Record>(selector: &LabelSelector, object: &R) -> bool {
    let labels = object.meta().labels.as_ref();
    selector.matches_by(|key| labels?.get(key).map(String::as_str))
}

async fn is_alive<O: Record>(owner: &O, owners: &Objects<O>) -> Result<bool, CallError> {
    let live = owners.get(&Key::of(owner)).await?;
    Ok(live
        .is_some_and(|live| live.meta().uid == owner.meta().uid && live.meta().deletion_timestamp.is_none()))
}

async fn adopt<O, R>(owner: &O, objects: &Objects<R>, orphan: &R) -> Result<Option<R>, CallError>
where
    O: Record + Resource<DynamicType = ()>,
    R: Record,
{
    let mut references = orphan.meta().owner_references.clone().unwrap_or_default();
    references.extend(reference(owner));
    set_owners(objects, orphan, &references).await
}

async fn release<R: Record>(objects: &Objects<R>, object: &R, owner: &str) -> Result<(), CallError> {
    let mut references = object.meta().owner_references.clone().unwrap_or_default();
    references.retain(|reference| reference.uid != owner);
    set_owners(objects, object, &references).await.map(drop)
}

/// None if it is gone. The version makes sure that nobody else's change of the owners is undone.
async fn set_owners<R: Record>(
    objects: &Objects<R>,
    object: &R,
    owners: &[OwnerReference],
) -> Result<Option<R>, CallError> {
    let owners = if owners.is_empty() { json!(null) } else { json!(owners) };
    let ObjectMeta { uid, resource_version, .. } = object.meta();
    let patch = json!({
        "metadata": { "uid": uid, "resourceVersion": resource_version, "ownerReferences": owners },
    });
    match objects.merge(&Key::of(object), &patch).await {
        Err(error) if error.is_not_found() => Ok(None),
        outcome => outcome.map(Some),
    }
}
