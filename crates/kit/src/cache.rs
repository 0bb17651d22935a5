//! What a watch knows of a kind.
//!
//! A cache holds one small record per object, not the object: the record's type says what is read of it. Everybody
//! who cares about a kind shares its one cache and its one watch, and is told of each change, deletions too.
//!
//! Who writes an object tells the cache what the server answered ([`Cache::learn`], [`Cache::forget`]): the next look
//! must not be at a world without one's own write. The watch brings the same later and is then not news.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use futures::{StreamExt, TryStreamExt};
use kube::{
    Api, Resource,
    runtime::{WatchStreamExt, watcher},
};
use serde::de::DeserializeOwned;
use tokio::sync::watch;

/// An object's namespace and name. The namespace of what has none is empty.
#[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Key {
    /// Empty for objects of the cluster.
    pub namespace: String,
    /// Unique in the namespace.
    pub name: String,
}

impl Key {
    /// A key of these.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// The key of an object.
    pub fn of(object: &impl Resource) -> Self {
        let meta = object.meta();
        Self::new(meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => formatter.write_str(&self.name),
            namespace => write!(formatter, "{namespace}/{}", self.name),
        }
    }
}

/// What is kept of an object.
pub trait Record: Resource + Clone + fmt::Debug + DeserializeOwned + Send + Sync + 'static {}

impl<R: Resource + Clone + fmt::Debug + DeserializeOwned + Send + Sync + 'static> Record for R {}

/// An object as it was and as it is. Two changes of one object may be told at once: what counts is in the cache.
pub struct Change<R> {
    /// None if it was not there.
    pub old: Option<Arc<R>>,
    /// None if it is gone.
    pub new: Option<Arc<R>>,
}

impl<R> Change<R> {
    /// The object, as it is or else as it was.
    pub fn any(&self) -> Option<&Arc<R>> {
        self.new.as_ref().or(self.old.as_ref())
    }

    /// Both that there are.
    pub fn both(&self) -> impl Iterator<Item = &Arc<R>> {
        self.old.iter().chain(&self.new)
    }
}

type Handler<R> = Box<dyn Fn(&Change<R>) + Send + Sync>;

/// A shared cache. Clones are the same one.
pub struct Cache<R>(Arc<Shared<R>>);

impl<R> Clone for Cache<R> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

struct Shared<R> {
    known: RwLock<Known<R>>,
    handlers: RwLock<Vec<Handler<R>>>,
    synced: watch::Sender<bool>,
}

struct Known<R> {
    objects: BTreeMap<Key, Arc<R>>,
    /// By the uid of each owner.
    owned: HashMap<String, BTreeSet<Key>>,
    /// Uids of what its deleter knows to be gone and the watch does not yet.
    gone: HashSet<String>,
    /// The newest version that the watch has brought: older answers are old news.
    position: u64,
}

/// An object's version as a number: versions of one server are ordered.
fn version(object: &impl Resource) -> u64 {
    object.meta().resource_version.as_deref().and_then(|version| version.parse().ok()).unwrap_or_default()
}

fn uid(object: &impl Resource) -> &str {
    object.meta().uid.as_deref().unwrap_or_default()
}

impl<R: Record> Known<R> {
    fn put(&mut self, key: Key, object: Arc<R>) -> Option<Arc<R>> {
        let old = self.take(&key);
        for owner in object.meta().owner_references.iter().flatten() {
            self.owned.entry(owner.uid.clone()).or_default().insert(key.clone());
        }
        self.objects.insert(key, object);
        old
    }

    fn take(&mut self, key: &Key) -> Option<Arc<R>> {
        let old = self.objects.remove(key)?;
        for owner in old.meta().owner_references.iter().flatten() {
            if let Some(keys) = self.owned.get_mut(&owner.uid) {
                keys.remove(key);
                if keys.is_empty() {
                    self.owned.remove(&owner.uid);
                }
            }
        }
        Some(old)
    }

    /// Takes an object in unless something newer is known.
    fn update(&mut self, object: R) -> Option<Change<R>> {
        if self.gone.contains(uid(&object)) {
            return None;
        }
        let key = Key::of(&object);
        if self.objects.get(&key).is_some_and(|known| version(known.as_ref()) >= version(&object)) {
            return None;
        }
        let new = Arc::new(object);
        let old = self.put(key, new.clone());
        Some(Change { old, new: Some(new) })
    }

    fn remove(&mut self, object: &R) -> Option<Change<R>> {
        let key = Key::of(object);
        // One of the same name may be there already.
        if self.objects.get(&key).is_none_or(|known| uid(known.as_ref()) != uid(object)) {
            return None;
        }
        Some(Change { old: self.take(&key), new: None })
    }

    /// All there is, as a list tells it.
    fn replace(&mut self, listed: BTreeMap<Key, Arc<R>>) -> Vec<Change<R>> {
        self.gone.clear();
        let lost: Vec<Key> = self.objects.keys().filter(|key| !listed.contains_key(*key)).cloned().collect();
        let mut changes: Vec<_> = lost.iter().map(|key| Change { old: self.take(key), new: None }).collect();
        for (key, object) in listed {
            let known = self.objects.get(&key).map(|known| version(known.as_ref()));
            if known.is_none_or(|known| known < version(object.as_ref())) {
                let old = self.put(key, object.clone());
                changes.push(Change { old, new: Some(object) });
            }
        }
        changes
    }
}

impl<R: Record> Default for Cache<R> {
    fn default() -> Self {
        let known =
            Known { objects: BTreeMap::new(), owned: HashMap::new(), gone: HashSet::new(), position: 0 };
        Self(Arc::new(Shared {
            known: RwLock::new(known),
            handlers: RwLock::default(),
            synced: watch::Sender::new(false),
        }))
    }
}

impl<R: Record> Cache<R> {
    /// Calls somebody at each change from now on. They must be quick: the watch waits for them.
    pub fn on_change(&self, handler: impl Fn(&Change<R>) + Send + Sync + 'static) {
        self.0.handlers.write().unwrap_or_else(PoisonError::into_inner).push(Box::new(handler));
    }

    /// The object of this key.
    pub fn get(&self, key: &Key) -> Option<Arc<R>> {
        self.read(|known| known.objects.get(key).cloned())
    }

    /// What refers to the owner of this uid.
    pub fn owned_by(&self, uid: &str) -> Vec<Arc<R>> {
        self.read(|known| {
            let keys = known.owned.get(uid).into_iter().flatten();
            keys.filter_map(|key| known.objects.get(key)).cloned().collect()
        })
    }

    /// All in a namespace.
    pub fn in_namespace(&self, namespace: &str) -> Vec<Arc<R>> {
        self.read(|known| {
            let first = Key::new(namespace, "");
            let inside = known.objects.range(first..).take_while(|(key, _)| key.namespace == namespace);
            inside.map(|(_, object)| object.clone()).collect()
        })
    }

    /// All there is.
    pub fn all(&self) -> Vec<Arc<R>> {
        self.read(|known| known.objects.values().cloned().collect())
    }

    /// What the server answered to a write.
    pub fn learn(&self, object: R) {
        let change = self.write(|known| {
            // The watch is past it: if it is not here, it is gone.
            if version(&object) <= known.position { None } else { known.update(object) }
        });
        self.tell(change);
    }

    /// What the server said to be gone.
    pub fn forget(&self, object: &R) {
        let change = self.write(|known| {
            let change = known.remove(object);
            if change.is_some() {
                known.gone.insert(uid(object).to_owned());
            }
            change
        });
        self.tell(change);
    }

    /// Turns true when everything there is was seen once.
    pub fn subscribe_synced(&self) -> watch::Receiver<bool> {
        self.0.synced.subscribe()
    }

    /// Keeps up with the server, for ever.
    pub async fn follow(self, api: Api<R>, config: watcher::Config) {
        let mut listed = BTreeMap::new();
        let mut events = watcher(api, config).default_backoff().into_stream().boxed();
        loop {
            match events.try_next().await {
                Ok(Some(event)) => self.take_in(event, &mut listed),
                Ok(None) => return,
                // The stream itself waits before it tries again.
                Err(error) => {
                    let kind = std::any::type_name::<R>();
                    tracing::warn!(kind, %error, "Watching failed, trying again");
                }
            }
        }
    }

    fn take_in(&self, event: watcher::Event<R>, listed: &mut BTreeMap<Key, Arc<R>>) {
        match event {
            watcher::Event::Init => listed.clear(),
            watcher::Event::InitApply(object) => {
                listed.insert(Key::of(&object), Arc::new(object));
            }
            watcher::Event::InitDone => {
                let listed = std::mem::take(listed);
                let changes = self.write(|known| {
                    let newest = listed.values().map(|object| version(object.as_ref())).max();
                    known.position = known.position.max(newest.unwrap_or_default());
                    known.replace(listed)
                });
                self.tell(changes);
                self.0.synced.send_replace(true);
            }
            watcher::Event::Apply(object) => self.tell(self.write(|known| {
                known.position = known.position.max(version(&object));
                known.update(object)
            })),
            watcher::Event::Delete(object) => self.tell(self.write(|known| {
                known.position = known.position.max(version(&object));
                known.gone.remove(uid(&object));
                known.remove(&object)
            })),
        }
    }

    fn tell(&self, changes: impl IntoIterator<Item = Change<R>>) {
        let handlers = self.0.handlers.read().unwrap_or_else(PoisonError::into_inner);
        for change in changes {
            for handler in handlers.iter() {
                handler(&change);
            }
        }
    }

    fn read<T>(&self, look: impl FnOnce(&Known<R>) -> T) -> T {
        look(&self.0.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut Known<R>) -> T) -> T {
        change(&mut self.0.known.write().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests;
