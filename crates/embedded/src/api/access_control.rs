//! Access as the server sees it: the pure rules of `access`, fed from the store.

use std::sync::{Arc, PoisonError, RwLock};

use anneal_kit::{Clock, Rng};
use http::request::Parts;
use serde_json::Value;

use super::{
    access::{self, Attributes, Authenticator, Objects, Policy, RbacWrite, Secrets, User},
    error::Result,
    handler::Call,
    path::ResourcePath,
    resource::{Resource, collection},
};
use crate::store::{Key, Range, Store};

const RBAC: &str = "rbac.authorization.k8s.io";

/// Who may do what, now.
pub struct AccessControl {
    pub authenticator: Authenticator,
    store: Store,
    collections: [Arc<str>; 4],
    /// The policy, and the revision of the roles and bindings it was made of.
    policy: RwLock<(u64, Arc<Policy>)>,
}

/// The objects that tokens are checked against.
struct Stored(Store);

impl Objects for Stored {
    fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        self.0.get(&Key::new(resource, namespace, name)).map(|record| record.value())
    }
}

impl AccessControl {
    pub fn new(store: Store, secrets: &Secrets, clock: Clock, rng: Rng) -> Self {
        let collections = ["roles", "clusterroles", "rolebindings", "clusterrolebindings"]
            .map(|plural| collection(RBAC, plural));
        let authenticator = Authenticator::new(secrets, Arc::new(Stored(store.clone())), clock, rng);
        let nothing = Policy::build::<Value>([], [], [], []);
        Self { authenticator, store, collections, policy: RwLock::new((0, Arc::new(nothing))) }
    }

    /// Who calls. In this process, clients say so themselves; from outside, their token does. Either may
    /// speak for somebody else.
    pub fn authenticate(&self, head: &Parts) -> Result<User> {
        let caller = match head.extensions.get::<User>() {
            Some(user) => user.clone(),
            None => self.authenticator.authenticate(&head.headers)?,
        };
        Ok(access::impersonate(&head.headers, &caller, &self.policy())?.unwrap_or(caller))
    }

    pub fn authorize(&self, user: &User, what: &Attributes<'_>) -> Result<()> {
        self.policy().authorize(user, what)
    }

    /// Whether a write gives away rights that its writer does not have.
    pub fn may_write(&self, call: &Call, resource: &Resource, new: &Value) -> Result<()> {
        if resource.group != RBAC {
            return Ok(());
        }
        let (namespace, name) = (call.path.namespace.as_str(), call.path.name.as_str());
        let old = self.store.get(&Key::new(resource.collection.clone(), namespace, name));
        let old = old.map(|record| resource.read(&record));
        let write = RbacWrite { resource: &resource.plural, namespace, name, new, old: old.as_ref() };
        access::check_escalation(&self.policy(), &call.user, &write)
    }

    /// Whether a write that turns out to create may do that too.
    pub fn may_create(&self, user: &User, path: &ResourcePath) -> Result<()> {
        let attributes = Attributes {
            verb: "create",
            group: &path.group,
            version: &path.version,
            resource: &path.plural,
            namespace: &path.namespace,
            name: &path.name,
            ..Attributes::default()
        };
        self.authorize(user, &attributes)
    }

    /// The rules as the stored roles and bindings make them.
    pub fn policy(&self) -> Arc<Policy> {
        let latest = self
            .collections
            .iter()
            .map(|collection| self.store.last_change(collection))
            .max()
            .unwrap_or_default();
        {
            let known = self.policy.read().unwrap_or_else(PoisonError::into_inner);
            if known.0 == latest {
                return known.1.clone();
            }
        }
        let mut known = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        if known.0 != latest {
            let objects = |collection: &Arc<str>| -> Vec<Value> {
                let page = self.store.list(&Range::all(collection), None);
                page.map(|page| page.records.iter().map(|(_, record)| record.value()).collect())
                    .unwrap_or_default()
            };
            let [roles, cluster_roles, bindings, cluster_bindings] = &self.collections;
            let policy = Policy::build(
                objects(roles),
                objects(cluster_roles),
                objects(bindings),
                objects(cluster_bindings),
            );
            *known = (latest, Arc::new(policy));
        }
        known.1.clone()
    }
}
