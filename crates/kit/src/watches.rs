//! One watch per kind, however many care about it.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use futures::future::BoxFuture;
use kube::{Api, Client, Resource, runtime::watcher};
use tokio::sync::watch;

use crate::cache::{Cache, Record};

/// The caches of a process, each made when it is first asked for. A record's type stands for what it watches.
pub struct Watches {
    client: Client,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    caches: HashMap<TypeId, Box<dyn Any + Send>>,
    synced: Vec<watch::Receiver<bool>>,
    following: Vec<BoxFuture<'static, ()>>,
}

impl Watches {
    /// Watches what this client may see.
    pub fn new(client: Client) -> Self {
        Self { client, state: Mutex::default() }
    }

    /// The cache of a kind.
    pub fn of<R: Record + Resource<DynamicType = ()>>(&self) -> Cache<R> {
        self.selected(watcher::Config::default())
    }

    /// The cache of those of a kind that this selects. Whoever asks for the same record must select the same.
    pub fn selected<R: Record + Resource<DynamicType = ()>>(&self, select: watcher::Config) -> Cache<R> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let known = state.caches.get(&TypeId::of::<R>()).and_then(|cache| cache.downcast_ref::<Cache<R>>());
        if let Some(cache) = known {
            return cache.clone();
        }
        let cache = Cache::<R>::default();
        state.caches.insert(TypeId::of::<R>(), Box::new(cache.clone()));
        state.synced.push(cache.subscribe_synced());
        state.following.push(Box::pin(cache.clone().follow(Api::all(self.client.clone()), select)));
        cache
    }

    /// Waits until each cache has seen everything there is once.
    pub async fn synced(&self) {
        let all = self.state.lock().unwrap_or_else(PoisonError::into_inner).synced.clone();
        for mut synced in all {
            // The sender lives in the cache, which we hold, so that waiting cannot fail.
            let _ = synced.wait_for(|synced| *synced).await;
        }
    }

    /// What keeps the caches up to date, each to be run for ever; of caches that were made since the last call.
    /// Whoever wants to hear of every change must have said so before they run.
    pub fn following(&self) -> Vec<BoxFuture<'static, ()>> {
        std::mem::take(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner).following)
    }
}
