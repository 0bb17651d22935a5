//! How many pods there should be: the sum of what the owners of the pods want.

use std::{collections::BTreeMap, sync::Arc};

use anneal_kit::{Cache, Key};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{
    Client,
    api::{GetParams, Request},
};
use serde_json::Value;

use crate::controllers::records::{Deployment, Pod, ReplicaSet, StatefulSet};

/// What the owners of some pods want.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Owners {
    /// How many pods they want in all.
    pub replicas: i32,
    /// Whether pods are there that nobody owns.
    pub unmanaged: bool,
    /// Whether an owner is of a kind that is not watched.
    pub unwatched: bool,
}

/// Somebody who wants pods.
struct Scale {
    uid: String,
    replicas: i32,
    unwatched: bool,
}

/// Where to learn how many pods somebody wants.
#[derive(Clone)]
pub struct Scales {
    pub client: Client,
    pub deployments: Cache<Deployment>,
    pub replica_sets: Cache<ReplicaSet>,
    pub stateful_sets: Cache<StatefulSet>,
}

impl Scales {
    /// What the owners of these pods want; in words why it cannot be told.
    pub async fn of(&self, pods: &[Arc<Pod>]) -> Result<Owners, String> {
        // By the uid of the direct owner, each of which is asked once.
        let mut direct: BTreeMap<&str, (&OwnerReference, &Pod)> = BTreeMap::new();
        let mut owners = Owners::default();
        for pod in pods {
            match pod.controller() {
                Some(owner) => drop(direct.entry(&owner.uid).or_insert((owner, pod))),
                None => owners.unmanaged = true,
            }
        }
        let mut scales = BTreeMap::new();
        for (owner, pod) in direct.into_values() {
            let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
            let found = match self.watched(owner, namespace) {
                Some(found) => found,
                None => self.served(owner, namespace).await?,
            };
            let scale = found.ok_or_else(|| format!("found no controllers for pod {:?}", pod.name()))?;
            owners.unwatched |= scale.unwatched;
            scales.insert(scale.uid, scale.replicas);
        }
        owners.replicas = scales.values().fold(0, |sum: i32, replicas| sum.saturating_add(*replicas));
        Ok(owners)
    }

    /// What an owner of a watched kind wants, if it is there; none if its kind is not watched.
    fn watched(&self, owner: &OwnerReference, namespace: &str) -> Option<Option<Scale>> {
        if owner.api_version.split_once('/').map(|(group, _)| group) != Some("apps") {
            return None;
        }
        let key = Key::new(namespace, &owner.name);
        let scale = |replicas| Some(Scale { uid: owner.uid.clone(), replicas, unwatched: false });
        let is_owner = |uid: &Option<String>| uid.as_ref() == Some(&owner.uid);
        match owner.kind.as_str() {
            "StatefulSet" => {
                let found = self.stateful_sets.get(&key).filter(|found| is_owner(&found.metadata.uid));
                Some(found.and_then(|found| scale(found.spec.replicas)))
            }
            "ReplicaSet" => {
                let found = self.replica_sets.get(&key).filter(|found| is_owner(&found.metadata.uid))?;
                let owners = found.metadata.owner_references.iter().flatten();
                let above = owners.into_iter().find(|owner| owner.controller == Some(true));
                match above.filter(|above| above.kind == "Deployment") {
                    Some(deployment) => Some(self.of_deployment(deployment, namespace)),
                    None => Some(scale(found.spec.replicas)),
                }
            }
            _ => None,
        }
    }

    fn of_deployment(&self, owner: &OwnerReference, namespace: &str) -> Option<Scale> {
        let found = self.deployments.get(&Key::new(namespace, &owner.name))?;
        let is_owner = found.metadata.uid.as_ref() == Some(&owner.uid);
        is_owner.then(|| Scale { uid: owner.uid.clone(), replicas: found.spec.replicas, unwatched: false })
    }

    /// What an owner of any other kind wants, by its scale.
    async fn served(&self, owner: &OwnerReference, namespace: &str) -> Result<Option<Scale>, String> {
        let version = &owner.api_version;
        let (group, listed) = match version.split_once('/') {
            Some((group, _)) => (group, self.client.list_api_group_resources(version).await),
            None => ("", self.client.list_core_api_resources(version).await),
        };
        let resources = listed.map_err(|error| error.to_string())?.resources;
        let plain = resources.iter().find(|one| one.kind == owner.kind && !one.name.contains('/'));
        let Some(plural) = plain.map(|one| &one.name) else {
            return Err(format!("no matches for kind {:?} in version {version:?}", owner.kind));
        };
        if !resources.iter().any(|one| one.name == format!("{plural}/scale")) {
            let resource = if group.is_empty() { plural.clone() } else { format!("{plural}.{group}") };
            return Err(format!("{resource} does not implement the scale subresource"));
        }
        let root = if group.is_empty() { "/api" } else { "/apis" };
        let path = Request::new(format!("{root}/{version}/namespaces/{namespace}/{plural}"));
        let request = path.get(&format!("{}/scale", owner.name), &GetParams::default());
        match self.client.request::<Value>(request.map_err(|error| error.to_string())?).await {
            Ok(scale) if scale["metadata"]["uid"] == owner.uid.as_str() => Ok(Some(Scale {
                uid: owner.uid.clone(),
                replicas: scale["spec"]["replicas"]
                    .as_i64()
                    .and_then(|count| i32::try_from(count).ok())
                    .unwrap_or(0),
                unwatched: true,
            })),
            Ok(_) => Ok(None),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }
}
