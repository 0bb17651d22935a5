//! EndpointSlices: where a Service leads, in pieces of at most a hundred.
//!
//! A Service that chooses its pods has slices of those pods. For one that does not, slices follow the Endpoints that
//! somebody wrote by hand. Slices of other managers are not touched. When an owner goes, the garbage collector takes
//! its slices along.

mod mirror;
mod plan;

use std::collections::BTreeMap;

use anneal_kit::{CallError, Key, Next, Objects, Queue};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;
use serde_json::{Value, json};

use self::plan::{Group, Step, plan};
use super::{
    Context, Controller,
    backends::{Backend, backends},
    records::{EndpointSlice, Endpoints, Pod, Service},
    services::{HEADLESS, settled_if_ending, wake_services},
};

const SERVICE_NAME: &str = "kubernetes.io/service-name";
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const OF_PODS: &str = "endpointslice-controller.k8s.io";
const OF_ENDPOINTS: &str = "endpointslicemirroring-controller.k8s.io";

pub fn start(context: &Context) -> impl Future<Output = ()> + Send + use<> {
    let slicer = Slicer {
        services: context.objects(),
        slices: context.objects(),
        endpoints: context.objects(),
        pods: context.objects(),
    };
    let queue = Queue::default();
    wake_services(&slicer.services, &slicer.pods, &queue);
    let woken = queue.clone();
    slicer.endpoints.cache().on_change(move |change| {
        if let Some(endpoints) = change.any() {
            woken.add(Key::of(endpoints.as_ref()));
        }
    });
    let woken = queue.clone();
    slicer.slices.cache().on_change(move |change| {
        for slice in change.both() {
            if let Some(service) = label(slice, SERVICE_NAME) {
                woken.add(Key::new(slice.metadata.namespace.clone().unwrap_or_default(), service));
            }
        }
    });
    context.run(Controller::EndpointSlices, queue, move |key| {
        let slicer = slicer.clone();
        async move { settled_if_ending(slicer.reconcile(&key).await) }
    })
}

fn label<'a>(slice: &'a EndpointSlice, key: &str) -> Option<&'a str> {
    slice.metadata.labels.as_ref()?.get(key).map(String::as_str)
}

#[derive(Clone)]
struct Slicer {
    services: Objects<Service>,
    slices: Objects<EndpointSlice>,
    endpoints: Objects<Endpoints>,
    pods: Objects<Pod>,
}

/// What the slices of an owner have in common.
struct Family {
    owner: Option<OwnerReference>,
    manager: &'static str,
    labels: BTreeMap<String, String>,
}

fn nothing(manager: &'static str) -> Family {
    Family { owner: None, manager, labels: BTreeMap::new() }
}

impl Slicer {
    async fn reconcile(&self, key: &Key) -> Result<Next, CallError> {
        let service = self.services.cache().get(key).filter(|service| !service.is_ending());
        let endpoints = self.endpoints.cache().get(key);
        if let Some(service) = service.as_ref().filter(|service| service.selector().is_some()) {
            let pods = self.pods.cache().in_namespace(&key.namespace);
            let groups = of_pods(&backends(service, pods.iter().map(AsRef::as_ref)));
            let mut labels = service.metadata.labels.clone().unwrap_or_default();
            if service.is_headless() {
                labels.insert(HEADLESS.to_owned(), String::new());
            }
            let owner = service.controller_owner_ref(&());
            self.settle(key, Family { owner, manager: OF_PODS, labels }, groups, true).await?;
            self.settle(key, nothing(OF_ENDPOINTS), Vec::new(), false).await?;
        } else if let Some(endpoints) =
            endpoints.filter(|endpoints| service.is_some() && mirror::wanted(endpoints))
        {
            let owner = endpoints.controller_owner_ref(&());
            let labels = endpoints.metadata.labels.clone().unwrap_or_default();
            let groups = mirror::groups(&endpoints.subsets);
            self.settle(key, Family { owner, manager: OF_ENDPOINTS, labels }, groups, false).await?;
        } else {
            self.settle(key, nothing(OF_ENDPOINTS), Vec::new(), false).await?;
            // Slices of pods go with their Service: one that stopped choosing leads where it led, until somebody says
            // otherwise.
            if service.is_none() {
                self.settle(key, nothing(OF_PODS), Vec::new(), false).await?;
            }
        }
        Ok(Next::Settled)
    }

    /// Makes the slices of one manager what they should be.
    async fn settle(
        &self,
        key: &Key,
        family: Family,
        groups: Vec<Group>,
        at_least_one: bool,
    ) -> Result<(), CallError> {
        let mut labels = family.labels;
        labels.insert(SERVICE_NAME.to_owned(), key.name.clone());
        labels.insert(MANAGED_BY.to_owned(), family.manager.to_owned());
        let known = self.slices.cache().in_namespace(&key.namespace);
        let own: Vec<_> = known
            .iter()
            .filter(|slice| label(slice, SERVICE_NAME) == Some(&key.name))
            .filter(|slice| label(slice, MANAGED_BY) == Some(family.manager))
            .filter(|slice| slice.metadata.deletion_timestamp.is_none())
            .map(AsRef::as_ref)
            .collect();
        for step in plan(&own, groups, &labels, at_least_one) {
            match step {
                Step::Create { group } => {
                    let slice = json!({
                        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
                        "metadata": {
                            "generateName": format!("{}-", key.name), "namespace": key.namespace, "labels": labels,
                            "ownerReferences": family.owner.as_slice(),
                        },
                        "addressType": group.address_type, "ports": group.ports, "endpoints": group.endpoints,
                    });
                    self.slices.create(&key.namespace, &slice).await?;
                }
                Step::Update { slice, group } => {
                    let patch = json!({
                        "metadata": {
                            "labels": replaced(slice.metadata.labels.as_ref(), &labels),
                            "resourceVersion": slice.metadata.resource_version,
                        },
                        "ports": group.ports, "endpoints": group.endpoints,
                    });
                    self.slices.merge(&Key::of(slice), &patch).await?;
                }
                Step::Delete { slice } => self.slices.delete(slice, None).await?,
            }
        }
        Ok(())
    }
}

/// Labels as a patch that leaves no others.
fn replaced(known: Option<&BTreeMap<String, String>>, wanted: &BTreeMap<String, String>) -> Value {
    let mut labels = json!(wanted);
    for gone in known.into_iter().flatten().map(|(key, _)| key).filter(|key| !wanted.contains_key(*key)) {
        labels[gone] = Value::Null;
    }
    labels
}

/// Backends by the ports that they have.
fn of_pods(backends: &[Backend]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for backend in backends {
        let mut endpoint = json!({
            "addresses": [backend.address],
            "conditions": {
                "ready": backend.ready, "serving": backend.serving, "terminating": backend.terminating,
            },
            "targetRef": backend.target,
        });
        if !backend.node.is_empty() {
            endpoint["nodeName"] = json!(backend.node);
        }
        Group::add(&mut groups, "IPv4", &backend.ports, endpoint);
    }
    groups
}
