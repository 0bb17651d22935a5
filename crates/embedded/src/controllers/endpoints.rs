//! Endpoints: the older list of a Service's pods, one object of the Service's name.
//!
//! A Service that does not choose its pods is left alone, and so are Endpoints that somebody else wrote.

use std::collections::BTreeMap;

use anneal_kit::{CallError, Key, Next, Objects, Queue};
use serde_json::{Value, json};

use super::{
    Context, Controller,
    backends::{Backend, backends},
    records::{Endpoints, Pod, Service},
    services::{HEADLESS, settled_if_ending, wake_services},
};

const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
const MANAGER: &str = "endpoint-controller";
const OVER_CAPACITY: &str = "endpoints.kubernetes.io/over-capacity";
/// The most addresses that one object lists, as upstream has it; slices have no such bound.
const CAPACITY: usize = 1000;

pub fn start(context: &Context) -> impl Future<Output = ()> + Send + use<> {
    let lists = Lists { services: context.objects(), endpoints: context.objects(), pods: context.objects() };
    let queue = Queue::default();
    wake_services(&lists.services, &lists.pods, &queue);
    let endpoints = queue.clone();
    lists.endpoints.cache().on_change(move |change| {
        if let Some(object) = change.any() {
            endpoints.add(Key::of(object.as_ref()));
        }
    });
    context.run(Controller::Endpoints, queue, move |key| {
        let lists = lists.clone();
        async move { settled_if_ending(lists.reconcile(&key).await) }
    })
}

#[derive(Clone)]
struct Lists {
    services: Objects<Service>,
    endpoints: Objects<Endpoints>,
    pods: Objects<Pod>,
}

impl Lists {
    async fn reconcile(&self, key: &Key) -> Result<Next, CallError> {
        let known = self.endpoints.cache().get(key);
        let Some(service) = self.services.cache().get(key).filter(|service| !service.is_ending()) else {
            if let Some(left) = known.filter(|known| is_ours(known)) {
                self.endpoints.delete(&left, None).await?;
            }
            return Ok(Next::Settled);
        };
        if service.selector().is_none() {
            return Ok(Next::Settled);
        }
        let pods = self.pods.cache().in_namespace(&key.namespace);
        let wanted = Wanted::of(&service, &backends(&service, pods.iter().map(AsRef::as_ref)));
        match known {
            None => drop(self.endpoints.create(&key.namespace, &wanted.object(key)).await?),
            Some(known) => {
                if let Some(patch) = wanted.patch(&known) {
                    self.endpoints.merge(key, &patch).await?;
                }
            }
        }
        Ok(Next::Settled)
    }
}

fn is_ours(endpoints: &Endpoints) -> bool {
    endpoints.metadata.labels.iter().flatten().any(|(key, value)| key == MANAGED_BY && value == MANAGER)
}

/// What the Endpoints of a Service should be.
struct Wanted {
    labels: BTreeMap<String, String>,
    subsets: Value,
    truncated: bool,
}

impl Wanted {
    fn of(service: &Service, backends: &[Backend]) -> Self {
        let mut labels = service.metadata.labels.clone().unwrap_or_default();
        labels.insert(MANAGED_BY.to_owned(), MANAGER.to_owned());
        if service.is_headless() {
            labels.insert(HEADLESS.to_owned(), String::new());
        } else {
            labels.remove(HEADLESS);
        }
        // Who is ending gets nothing new, and this list has no way to say that it still answers.
        let mut listed: Vec<_> = backends
            .iter()
            .filter(|backend| backend.ready || !backend.terminating)
            .filter(|backend| !backend.ports.is_empty() || service.spec.ports.is_empty())
            .collect();
        let truncated = listed.len() > CAPACITY;
        // Those that are ready come first where there is no room for all.
        listed.sort_by_key(|backend| !backend.ready);
        listed.truncate(CAPACITY);
        listed.sort_by(|one, other| one.address.cmp(&other.address));
        Self { labels, subsets: subsets(&listed), truncated }
    }

    fn object(&self, key: &Key) -> Value {
        let mut object = json!({
            "apiVersion": "v1", "kind": "Endpoints",
            "metadata": { "name": key.name, "namespace": key.namespace, "labels": self.labels },
        });
        if self.truncated {
            object["metadata"]["annotations"] = json!({ OVER_CAPACITY: "truncated" });
        }
        if !self.subsets.is_null() {
            object["subsets"] = self.subsets.clone();
        }
        object
    }

    /// What is to be changed, if anything.
    fn patch(&self, known: &Endpoints) -> Option<Value> {
        let labels = known.metadata.labels.clone().unwrap_or_default();
        let marked = known.metadata.annotations.iter().flatten().any(|(key, _)| key == OVER_CAPACITY);
        if labels == self.labels && known.subsets == self.subsets && marked == self.truncated {
            return None;
        }
        let mut new_labels = json!(self.labels);
        for gone in labels.keys().filter(|key| !self.labels.contains_key(*key)) {
            new_labels[gone] = Value::Null;
        }
        let mark = if self.truncated { json!("truncated") } else { Value::Null };
        Some(json!({
            "metadata": {
                "labels": new_labels, "annotations": { OVER_CAPACITY: mark },
                "resourceVersion": known.metadata.resource_version,
            },
            "subsets": self.subsets,
        }))
    }
}

/// Addresses, by the ports that they have. Null if there are none.
fn subsets(backends: &[&Backend]) -> Value {
    let mut by_ports: Vec<(&Vec<Value>, Vec<Value>, Vec<Value>)> = Vec::new();
    for backend in backends {
        let mut address = json!({ "ip": backend.address, "targetRef": backend.target });
        if !backend.node.is_empty() {
            address["nodeName"] = json!(backend.node);
        }
        let place = by_ports.iter().position(|(ports, ..)| **ports == backend.ports).unwrap_or_else(|| {
            by_ports.push((&backend.ports, Vec::new(), Vec::new()));
            by_ports.len() - 1
        });
        let (_, ready, not_ready) = &mut by_ports[place];
        if backend.ready { ready } else { not_ready }.push(address);
    }
    if by_ports.is_empty() {
        return Value::Null;
    }
    let subset = |(ports, ready, not_ready): (&Vec<Value>, Vec<Value>, Vec<Value>)| {
        let lists = [("addresses", ready), ("notReadyAddresses", not_ready), ("ports", ports.clone())];
        let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
        Value::Object(lists.map(|(name, list)| (name.to_owned(), plain(list))).collect())
    };
    by_ports.into_iter().map(subset).collect()
}

/// A port without a name has none here.
fn plain(mut list: Vec<Value>) -> Value {
    for item in &mut list {
        if item["name"] == "" {
            item.as_object_mut().map(|item| item.remove("name"));
        }
    }
    list.into()
}
