//! The end of a namespace: everything in it is deleted, kind by kind, and then the namespace is let go.
//!
//! Pods go first, and the rest after the last pod is gone: what a pod needs while it ends should be there. What holds
//! the end up is told in the namespace's conditions. A namespace that nobody deleted is never touched.

mod conditions;
mod content;

use std::time::Duration;

use anneal_kit::{CallError, Clock, Key, Next, Objects, Queue};
use kube::{
    Client, Resource,
    api::{PostParams, Request},
};
use serde_json::json;

use self::conditions::{Findings, conditions};
use super::{
    Context, Controller, MANAGER,
    kinds::{self, Kind},
    records::{Namespace, Pod},
};

/// The finalizer that stands for the contents.
const FINALIZER: &str = "kubernetes";
/// What remains is looked at again after this share of the time since the deletion, within these bounds: soon after
/// it, when most things end, and not too often if something is stuck.
const PATIENCE: u32 = 4;
const SHORTEST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("failed to empty the namespace: {0}")]
    Content(String),
}

pub fn start(context: &Context) -> impl Future<Output = ()> + Send + use<> {
    let namespaces: Objects<Namespace> = context.objects();
    let queue = Queue::default();
    wake_by_namespace(&namespaces, &queue);
    wake_by_last_pods(&namespaces, &context.objects(), &queue);
    let ender = Ender { client: context.client.clone(), clock: context.clock.clone(), namespaces };
    context.run(Controller::Namespace, queue, move |key| {
        let ender = ender.clone();
        async move { ender.reconcile(&key).await }
    })
}

fn wake_by_namespace(namespaces: &Objects<Namespace>, queue: &Queue<Key>) {
    let queue = queue.clone();
    namespaces.cache().on_change(move |change| {
        if let Some(namespace) = change.new.as_ref().filter(|namespace| namespace.is_ending()) {
            queue.add(Key::of(namespace.as_ref()));
        }
    });
}

/// A namespace waits for its pods, which may take their time.
fn wake_by_last_pods(namespaces: &Objects<Namespace>, pods: &Objects<Pod>, queue: &Queue<Key>) {
    let (queue, namespaces) = (queue.clone(), namespaces.cache().clone());
    pods.cache().on_change(move |change| {
        if change.new.is_some() {
            return;
        }
        let key = change.any().and_then(|pod| pod.metadata.namespace.clone()).map(|name| Key::new("", name));
        if let Some(key) = key
            && namespaces.get(&key).is_some_and(|namespace| namespace.is_ending())
        {
            queue.add(key);
        }
    });
}

#[derive(Clone)]
struct Ender {
    client: Client,
    clock: Clock,
    namespaces: Objects<Namespace>,
}

impl Ender {
    async fn reconcile(&self, key: &Key) -> Result<Next, Error> {
        let Some(namespace) = self.namespaces.cache().get(key) else { return Ok(Next::Settled) };
        if !namespace.is_ending() || namespace.spec.finalizers.is_empty() {
            return Ok(Next::Settled);
        }
        let findings = self.empty(&key.name).await;
        let done = findings.is_empty();
        let mut version = namespace.metadata.resource_version.clone();
        // What goes at once has nobody to tell.
        if !done || outlives_its_contents(&namespace) {
            version = self.tell(key, &namespace, &findings).await?;
        }
        if done {
            self.let_go(key, &namespace, version).await?;
            return Ok(Next::Settled);
        }
        let mut errors = findings.undiscovered.into_iter().chain(findings.failures.clone());
        match errors.next() {
            Some(error) if findings.remaining.is_empty() => Err(Error::Content(error)),
            _ => Ok(Next::After(self.wait(&namespace))),
        }
    }

    /// Deletes what there is.
    async fn empty(&self, namespace: &str) -> Findings {
        let mut findings = Findings::default();
        let kinds = match kinds::discover(&self.client).await {
            Ok(kinds) => kinds,
            Err(error) => {
                findings.undiscovered = Some(error.to_string());
                return findings;
            }
        };
        let (pods, others): (Vec<_>, Vec<_>) = kinds
            .into_iter()
            .filter(|kind| kind.namespaced && kind.can("delete"))
            .partition(|kind| kind.name() == "pods.");
        for kinds in [pods, others] {
            for kind in kinds {
                self.clear(&kind, namespace, &mut findings).await;
            }
            if !findings.is_empty() {
                break;
            }
        }
        findings
    }

    async fn clear(&self, kind: &Kind, namespace: &str, findings: &mut Findings) {
        let left = match content::clear(&self.client, kind, namespace, self.clock.now()).await {
            Ok(left) => left,
            Err(error) => return findings.failures.push(error.to_string()),
        };
        if left.count > 0 {
            findings.remaining.insert(kind.name(), left.count);
        }
        for finalizer in left.finalizers {
            *findings.finalizers.entry(finalizer).or_default() += 1;
        }
        if left.is_overdue {
            let (group, version, plural) = (&kind.api.group, &kind.api.version, &kind.api.plural);
            findings.failures.push(format!(
                "unexpected items still remain in namespace: {namespace} for gvr: {group}/{version}, Resource={plural}"
            ));
        }
    }

    /// Writes the conditions if they have changed. Answers the version that is then there.
    async fn tell(
        &self,
        key: &Key,
        namespace: &Namespace,
        findings: &Findings,
    ) -> Result<Option<String>, CallError> {
        let known = &namespace.status.conditions;
        let told = conditions(known, findings, self.clock.now());
        let version = namespace.metadata.resource_version.clone();
        if told == *known {
            return Ok(version);
        }
        let status = json!({ "phase": "Terminating", "conditions": told });
        let patch = json!({ "metadata": { "resourceVersion": version }, "status": status });
        let written = self.namespaces.merge_status(key, &patch).await?;
        Ok(written.metadata.resource_version)
    }

    /// Removes our finalizer: the server deletes a namespace that has no other.
    async fn let_go(
        &self,
        key: &Key,
        namespace: &Namespace,
        version: Option<String>,
    ) -> Result<(), CallError> {
        let kept: Vec<_> =
            namespace.spec.finalizers.iter().filter(|finalizer| *finalizer != FINALIZER).collect();
        if kept.len() == namespace.spec.finalizers.len() {
            return Ok(());
        }
        let body = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": { "name": key.name, "uid": namespace.metadata.uid, "resourceVersion": version },
            "spec": { "finalizers": kept },
        });
        let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        let path = Request::new(Namespace::url_path(&(), None));
        let request = path.replace_subresource("finalize", &key.name, &params, body.to_string().into_bytes());
        let failed = |error| CallError::new("finalize", "Namespace", key, error);
        let request = request.map_err(|error| failed(kube::Error::BuildRequest(error)))?;
        match self.client.request::<Namespace>(request).await.map_err(failed) {
            Err(error) if error.is_not_found() => Ok(()),
            outcome => outcome.map(drop),
        }
    }

    /// How long to wait for what remains.
    fn wait(&self, namespace: &Namespace) -> Duration {
        let since = namespace
            .metadata
            .deletion_timestamp
            .as_ref()
            .map(|time| self.clock.now().duration_since(time.0));
        let since = since.and_then(|since| Duration::try_from(since).ok()).unwrap_or_default();
        (since / PATIENCE).clamp(SHORTEST_WAIT, LONGEST_WAIT)
    }
}

/// Whether others hold a namespace when its contents do not.
fn outlives_its_contents(namespace: &Namespace) -> bool {
    namespace.metadata.finalizers.as_ref().is_some_and(|finalizers| !finalizers.is_empty())
        || namespace.spec.finalizers.iter().any(|finalizer| finalizer != FINALIZER)
}
