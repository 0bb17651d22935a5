//! Writing objects of one kind, and remembering what came of it.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Client, Resource,
    api::{
        DeleteParams, GetParams, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy, Request,
    },
};
use serde_json::Value;

use crate::cache::{Cache, Key, Record};

/// A request that failed, and what it was about.
#[derive(Debug, thiserror::Error)]
#[error("failed to {verb} {kind} {key}: {}", words(source))]
pub struct CallError {
    verb: &'static str,
    kind: String,
    key: Key,
    source: Box<kube::Error>,
}

/// What the server said, without the rest of its answer.
fn words(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}

impl CallError {
    /// Says what a call was about: of calls beside [`Objects`].
    pub fn new(verb: &'static str, kind: &str, key: &Key, source: kube::Error) -> Self {
        Self { verb, kind: kind.to_owned(), key: key.clone(), source: Box::new(source) }
    }

    fn code(&self) -> u16 {
        match self.source.as_ref() {
            kube::Error::Api(status) => status.code,
            _ => 0,
        }
    }

    /// Nobody is there.
    pub fn is_not_found(&self) -> bool {
        self.code() == 404
    }

    /// Somebody else was faster.
    pub fn is_conflict(&self) -> bool {
        self.code() == 409
    }

    /// The server does not want it, whatever the rights: a namespace that is ending, a quota.
    pub fn is_forbidden(&self) -> bool {
        self.code() == 403
    }

    /// The object is wrong.
    pub fn is_invalid(&self) -> bool {
        self.code() == 422
    }

    /// The namespace is ending: nothing can be made in it any more.
    pub fn is_namespace_ending(&self) -> bool {
        let kube::Error::Api(status) = self.source.as_ref() else { return false };
        let causes = status.details.iter().flat_map(|details| &details.causes);
        causes.into_iter().any(|cause| cause.reason == "NamespaceTerminating")
    }

    /// What the server said.
    pub fn message(&self) -> String {
        words(&self.source)
    }
}

/// Writes objects of one kind as one manager; their cache learns the answers.
pub struct Objects<R: Resource> {
    client: Client,
    kind: R::DynamicType,
    manager: &'static str,
    cache: Cache<R>,
}

impl<R: Record> Clone for Objects<R>
where
    R::DynamicType: Clone,
{
    fn clone(&self) -> Self {
        let Self { client, kind, manager, cache } = self;
        Self { client: client.clone(), kind: kind.clone(), manager, cache: cache.clone() }
    }
}

impl<R: Record> fmt::Debug for Objects<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Objects of {}", R::kind(&self.kind))
    }
}

impl<R: Record> Objects<R> {
    /// Objects of this kind, written in the name of `manager`.
    pub fn new(client: Client, kind: R::DynamicType, manager: &'static str, cache: Cache<R>) -> Self {
        Self { client, kind, manager, cache }
    }

    /// What is known of them.
    pub fn cache(&self) -> &Cache<R> {
        &self.cache
    }

    fn path(&self, namespace: &str) -> Request {
        Request::new(R::url_path(&self.kind, (!namespace.is_empty()).then_some(namespace)))
    }

    fn failed<'a>(&'a self, verb: &'static str, key: &'a Key) -> impl Fn(kube::Error) -> CallError + 'a {
        move |source| CallError {
            verb,
            kind: R::kind(&self.kind).into_owned(),
            key: key.clone(),
            source: Box::new(source),
        }
    }

    /// Reads one from the server, not from the cache.
    ///
    /// # Errors
    /// When the call fails; one that is not there is none.
    pub async fn get(&self, key: &Key) -> Result<Option<R>, CallError> {
        let failed = self.failed("get", key);
        let request = self.path(&key.namespace).get(&key.name, &GetParams::default()).map_err(building);
        match self.client.request::<R>(request.map_err(&failed)?).await {
            Ok(object) => Ok(Some(object)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// Makes one.
    ///
    /// # Errors
    /// When the call fails.
    pub async fn create(&self, namespace: &str, object: &Value) -> Result<R, CallError> {
        let name = object["metadata"]["name"].as_str().or(object["metadata"]["generateName"].as_str());
        let key = Key::new(namespace, name.unwrap_or_default());
        let failed = self.failed("create", &key);
        let params = PostParams { field_manager: Some(self.manager.to_owned()), ..PostParams::default() };
        let request = self.path(namespace).create(&params, object.to_string().into_bytes()).map_err(building);
        let made = self.client.request::<R>(request.map_err(&failed)?).await.map_err(&failed)?;
        self.cache.learn(made.clone());
        Ok(made)
    }

    /// Merges a patch into one.
    ///
    /// # Errors
    /// When the call fails.
    pub async fn merge(&self, key: &Key, patch: &Value) -> Result<R, CallError> {
        self.patch("", key, patch).await
    }

    /// Merges a patch into the status of one.
    ///
    /// # Errors
    /// When the call fails.
    pub async fn merge_status(&self, key: &Key, patch: &Value) -> Result<R, CallError> {
        self.patch("status", key, patch).await
    }

    async fn patch(&self, subresource: &str, key: &Key, patch: &Value) -> Result<R, CallError> {
        let failed = self.failed(if subresource.is_empty() { "patch" } else { "patch the status of" }, key);
        let params = PatchParams { field_manager: Some(self.manager.to_owned()), ..PatchParams::default() };
        let path = self.path(&key.namespace);
        let request = match subresource {
            "" => path.patch(&key.name, &params, &Patch::Merge(patch)),
            subresource => path.patch_subresource(subresource, &key.name, &params, &Patch::Merge(patch)),
        };
        let request = request.map_err(building).map_err(&failed)?;
        let changed = self.client.request::<R>(request).await.map_err(&failed)?;
        // A status ends nothing; and what its metadata does not hold, its spec may: a namespace.
        if subresource.is_empty() && has_ended(changed.meta()) {
            self.cache.forget(&changed);
        } else {
            self.cache.learn(changed.clone());
        }
        Ok(changed)
    }

    /// Deletes this very object; it is no failure if it is gone, or another has its name.
    ///
    /// # Errors
    /// When the call fails.
    pub async fn delete(&self, object: &R, policy: Option<PropagationPolicy>) -> Result<(), CallError> {
        self.delete_by(object, DeleteParams { propagation_policy: policy, ..DeleteParams::default() }).await
    }

    /// The same without any time to end in: for what nobody is there to end.
    ///
    /// # Errors
    /// When the call fails.
    pub async fn delete_at_once(&self, object: &R) -> Result<(), CallError> {
        self.delete_by(object, DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() })
            .await
    }

    async fn delete_by(&self, object: &R, params: DeleteParams) -> Result<(), CallError> {
        let key = Key::of(object);
        let failed = self.failed("delete", &key);
        let preconditions = Preconditions { uid: object.meta().uid.clone(), ..Preconditions::default() };
        let params = DeleteParams { preconditions: Some(preconditions), ..params };
        let request = self.path(&key.namespace).delete(&key.name, &params).map_err(building);
        match self.client.request::<Value>(request.map_err(&failed)?).await {
            Ok(answer) => {
                // What is left for a while is in the answer; what is gone at once may be too, without its end.
                let ending = answer["metadata"]["deletionTimestamp"].is_string();
                match serde_json::from_value::<R>(answer) {
                    Ok(left) if ending => self.cache.learn(left),
                    _ => self.cache.forget(object),
                }
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.code == 404 || status.code == 409 => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }
}

/// Whether this was the last that was seen of an object: nothing holds it any more.
fn has_ended(meta: &ObjectMeta) -> bool {
    meta.deletion_timestamp.is_some()
        && meta.finalizers.as_ref().is_none_or(Vec::is_empty)
        && meta.deletion_grace_period_seconds.unwrap_or_default() == 0
}

fn building(error: kube::core::request::Error) -> kube::Error {
    kube::Error::BuildRequest(error)
}
