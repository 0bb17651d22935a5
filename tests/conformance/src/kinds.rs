//! Kinds, and the calls one makes on their objects.

use anneal_harness::{Http, PatchKind, Reply, Watch};
use anyhow::Result;
use serde_json::{Value, json};

/// A kind of object and where it is served.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Group and version, for example `apps/v1`.
    pub api_version: &'static str,
    /// The kind's name.
    pub kind: &'static str,
    /// Its name in paths.
    pub plural: &'static str,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

const fn namespaced(api_version: &'static str, kind: &'static str, plural: &'static str) -> Kind {
    Kind { api_version, kind, plural, namespaced: true }
}

const fn cluster(api_version: &'static str, kind: &'static str, plural: &'static str) -> Kind {
    Kind { api_version, kind, plural, namespaced: false }
}

#[allow(missing_docs, reason = "the names say it")]
impl Kind {
    pub const CONFIG_MAP: Self = namespaced("v1", "ConfigMap", "configmaps");
    pub const SECRET: Self = namespaced("v1", "Secret", "secrets");
    pub const SERVICE: Self = namespaced("v1", "Service", "services");
    pub const SERVICE_ACCOUNT: Self = namespaced("v1", "ServiceAccount", "serviceaccounts");
    pub const POD: Self = namespaced("v1", "Pod", "pods");
    pub const ENDPOINTS: Self = namespaced("v1", "Endpoints", "endpoints");
    pub const CORE_EVENT: Self = namespaced("v1", "Event", "events");
    pub const EVENT: Self = namespaced("events.k8s.io/v1", "Event", "events");
    pub const DEPLOYMENT: Self = namespaced("apps/v1", "Deployment", "deployments");
    pub const REPLICA_SET: Self = namespaced("apps/v1", "ReplicaSet", "replicasets");
    pub const JOB: Self = namespaced("batch/v1", "Job", "jobs");
    pub const LEASE: Self = namespaced("coordination.k8s.io/v1", "Lease", "leases");
    pub const ENDPOINT_SLICE: Self = namespaced("discovery.k8s.io/v1", "EndpointSlice", "endpointslices");
    pub const DISRUPTION_BUDGET: Self =
        namespaced("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets");
    pub const ROLE: Self = namespaced("rbac.authorization.k8s.io/v1", "Role", "roles");
    pub const ROLE_BINDING: Self = namespaced("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings");
    pub const CLUSTER_ROLE: Self = cluster("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles");
    pub const CLUSTER_ROLE_BINDING: Self =
        cluster("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings");
    pub const NAMESPACE: Self = cluster("v1", "Namespace", "namespaces");
    pub const CRD: Self =
        cluster("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions");

    /// The path of its objects; `namespace` counts only if it has namespaces.
    pub fn path(&self, namespace: &str) -> String {
        let root = if self.api_version.contains('/') { "/apis" } else { "/api" };
        let Self { api_version, plural, .. } = self;
        if self.namespaced {
            format!("{root}/{api_version}/namespaces/{namespace}/{plural}")
        } else {
            format!("{root}/{api_version}/{plural}")
        }
    }
}

/// The objects of a kind in one place, as somebody sees them.
#[derive(Clone)]
pub struct Objects {
    http: Http,
    kind: Kind,
    path: String,
}

impl Objects {
    pub(crate) fn new(http: Http, kind: &Kind, namespace: &str) -> Self {
        Self { http, kind: *kind, path: kind.path(namespace) }
    }

    /// The path of the collection.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Creates an object; apiVersion and kind are filled in.
    pub async fn create(&self, object: Value) -> Result<Reply> {
        self.create_with("", object).await
    }

    /// Creates an object with parameters such as `?dryRun=All`.
    pub async fn create_with(&self, query: &str, object: Value) -> Result<Reply> {
        self.http.post(&format!("{}{query}", self.path), &self.typed(object)).await
    }

    /// Gets an object; `name` may carry a subresource or parameters: `a/status`, `a?pretty=true`.
    pub async fn get(&self, name: &str) -> Result<Reply> {
        self.http.get(&self.at(name)).await
    }

    /// Lists, with parameters such as `?limit=2` or none.
    pub async fn list(&self, query: &str) -> Result<Reply> {
        self.http.get(&format!("{}{query}", self.path)).await
    }

    /// Replaces an object; `name` as in [`Objects::get`].
    pub async fn update(&self, name: &str, object: &Value) -> Result<Reply> {
        self.http.put(&self.at(name), &self.typed(object.clone())).await
    }

    /// Patches an object; `name` as in [`Objects::get`].
    pub async fn patch(&self, name: &str, kind: PatchKind, patch: &Value) -> Result<Reply> {
        self.http.patch(&self.at(name), kind, patch).await
    }

    /// Patches an object by merge patch.
    pub async fn merge(&self, name: &str, patch: Value) -> Result<Reply> {
        self.patch(name, PatchKind::Merge, &patch).await
    }

    /// Applies an object server-side; apiVersion, kind and name are filled in.
    pub async fn apply(&self, name: &str, manager: &str, object: Value) -> Result<Reply> {
        self.apply_with(name, &format!("fieldManager={manager}"), object).await
    }

    /// Applies an object server-side and takes what others own.
    pub async fn apply_by_force(&self, name: &str, manager: &str, object: Value) -> Result<Reply> {
        self.apply_with(name, &format!("fieldManager={manager}&force=true"), object).await
    }

    /// Applies an object server-side with these parameters; `name` may carry a subresource.
    pub async fn apply_with(&self, name: &str, query: &str, object: Value) -> Result<Reply> {
        let mut object = self.typed(object);
        let plain = name.split('/').next().unwrap_or_default();
        object["metadata"]["name"] = plain.into();
        self.patch(&format!("{name}?{query}"), PatchKind::Apply, &object).await
    }

    /// Deletes an object; `name` may carry parameters.
    pub async fn delete(&self, name: &str) -> Result<Reply> {
        self.delete_with(name, &Value::Null).await
    }

    /// Deletes an object with a body of DeleteOptions.
    pub async fn delete_with(&self, name: &str, options: &Value) -> Result<Reply> {
        self.http.delete(&self.at(name), options).await
    }

    /// Deletes a collection, with parameters such as `?labelSelector=a=b`.
    pub async fn delete_all(&self, query: &str) -> Result<Reply> {
        self.http.delete(&format!("{}{query}", self.path), &Value::Null).await
    }

    /// Watches, from a version on (`resourceVersion=5`) or as the other parameters say.
    pub async fn watch(&self, query: &str) -> Result<Watch> {
        self.http.watch(&self.path, query).await
    }

    /// Lists, and watches from there on.
    pub async fn watch_from_now(&self) -> Result<Watch> {
        let list = self.list("").await?.ok()?;
        let version = list["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        self.watch(&format!("resourceVersion={version}")).await
    }

    /// The names in the collection, in the order the server gives.
    pub async fn names(&self, query: &str) -> Result<Vec<String>> {
        let list = self.list(query).await?.ok()?;
        let name = |item: &Value| item["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        Ok(list["items"].as_array().into_iter().flatten().map(name).collect())
    }

    fn at(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    fn typed(&self, mut object: Value) -> Value {
        // Tests of wrong types bring their own.
        let fields = object.as_object_mut().expect("an object must be one");
        fields.entry("apiVersion").or_insert_with(|| json!(self.kind.api_version));
        fields.entry("kind").or_insert_with(|| json!(self.kind.kind));
        object
    }
}
