//! Which Services a change of theirs, or of a pod, concerns.

use anneal_kit::{CallError, Key, Next, Objects, Queue};

use super::records::{Pod, Service};

/// Says of what lists a Service's pods that the Service has no address of its own.
pub const HEADLESS: &str = "service.kubernetes.io/headless";

/// Wakes a Service when it changes, or when a pod does that it chooses, or chose.
pub fn wake_services(services: &Objects<Service>, pods: &Objects<Pod>, queue: &Queue<Key>) {
    let changed = queue.clone();
    services.cache().on_change(move |change| {
        if let Some(service) = change.any() {
            changed.add(Key::of(service.as_ref()));
        }
    });
    let (services, queue) = (services.cache().clone(), queue.clone());
    pods.cache().on_change(move |change| {
        let Some(namespace) = change.any().and_then(|pod| pod.metadata.namespace.as_deref()) else { return };
        for service in services.in_namespace(namespace) {
            if change.both().any(|pod| service.selects(pod.labels())) {
                queue.add(Key::of(service.as_ref()));
            }
        }
    });
}

/// In a namespace that is ending nothing new can be made, and nothing needs to be.
pub fn settled_if_ending(outcome: Result<Next, CallError>) -> Result<Next, CallError> {
    match outcome {
        Err(error) if error.is_namespace_ending() => Ok(Next::Settled),
        outcome => outcome,
    }
}
