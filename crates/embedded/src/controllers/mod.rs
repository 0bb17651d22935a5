//! The built-in controllers: what makes of objects in an API a cluster that lives.
//!
//! Each sees nothing but a client. What it knows comes from caches that all share ([`anneal_kit::Watches`]); what it
//! does is decided by pure functions from what is there, never from what happened. Any of them can be switched off.

mod backends;
mod claim;
mod cluster_roles;
mod deployment;
mod disruption;
mod endpoint_slices;
mod endpoints;
mod garbage;
mod job;
mod kinds;
mod merge_patch;
mod namespace;
mod namespace_defaults;
mod pod_gc;
mod records;
mod replica_set;
mod selection;
mod services;
mod ttl_after_finished;
mod wake;

use std::{fmt::Display, hash::Hash, sync::Arc};

use anneal_kit::{Clock, Next, Objects, Queue, Record, Recorder, Rng, Watches, work};
use futures::future::BoxFuture;
use kube::{Client, Resource};

pub use selection::{Controller, Selection, UnknownController};

/// In whose name controllers write, as upstream's do.
const MANAGER: &str = "kube-controller-manager";

/// How many objects a controller works on at a time.
const AT_ONCE: usize = 4;

/// What every controller is given.
#[derive(Clone)]
pub struct Context {
    pub client: Client,
    pub clock: Clock,
    pub rng: Rng,
    /// The certificate by which pods trust the API.
    pub authority: Arc<str>,
    recorder: Recorder,
    watches: Arc<Watches>,
}

impl Context {
    /// The objects of a kind: its shared cache, and writes that it learns from.
    fn objects<R: Record + Resource<DynamicType = ()>>(&self) -> Objects<R> {
        Objects::new(self.client.clone(), (), MANAGER, self.watches.of())
    }

    /// Runs a controller from when all caches are filled.
    fn run<K, E, F, Fut>(
        &self,
        controller: Controller,
        queue: Queue<K>,
        reconcile: F,
    ) -> impl Future<Output = ()> + Send + use<K, E, F, Fut>
    where
        K: Clone + Eq + Hash + Ord + Display + Send + Sync + 'static,
        E: Display + Send + 'static,
        F: Fn(K) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Next, E>> + Send + 'static,
    {
        let (watches, rng) = (self.watches.clone(), self.rng.clone());
        async move {
            watches.synced().await;
            work(controller.name(), queue, AT_ONCE, rng, reconcile).await;
        }
    }

    /// Tells Events in the name of a controller.
    fn recorder(&self, controller: &'static str) -> Recorder {
        self.recorder.of(controller)
    }
}

/// What runs the selected controllers: futures to be run until the cluster stops.
pub fn start(
    client: Client,
    clock: Clock,
    rng: Rng,
    authority: &str,
    selection: &Selection,
) -> Vec<BoxFuture<'static, ()>> {
    let (recorder, recording) = Recorder::new(client.clone(), clock.clone(), MANAGER.to_owned());
    let watches = Arc::new(Watches::new(client.clone()));
    let context = Context { client, clock, rng, authority: authority.into(), recorder, watches };
    // Each says what it wants to hear before it is run, and the watches begin after that.
    let mut running: Vec<BoxFuture<'static, ()>> = selection
        .iter()
        .map(|controller| -> BoxFuture<'static, ()> {
            match controller {
                Controller::ClusterRoles => Box::pin(cluster_roles::start(&context)),
                Controller::Deployment => Box::pin(deployment::start(&context)),
                Controller::Disruption => Box::pin(disruption::start(&context)),
                Controller::EndpointSlices => Box::pin(endpoint_slices::start(&context)),
                Controller::Endpoints => Box::pin(endpoints::start(&context)),
                Controller::GarbageCollector => Box::pin(garbage::start(&context)),
                Controller::Job => Box::pin(job::start(&context)),
                Controller::Namespace => Box::pin(namespace::start(&context)),
                Controller::NamespaceDefaults => Box::pin(namespace_defaults::start(&context)),
                Controller::PodGc => Box::pin(pod_gc::start(&context)),
                Controller::ReplicaSet => Box::pin(replica_set::start(&context)),
                Controller::TtlAfterFinished => Box::pin(ttl_after_finished::start(&context)),
            }
        })
        .collect();
    running.extend(context.watches.following());
    running.push(Box::pin(recording));
    running
}

#[cfg(test)]
mod tests;
