//! What every namespace has from its beginning: the service account `default`, and the certificate by which its pods
//! trust the API. Both come back when somebody deletes them, and the certificate when somebody changes it.

use anneal_kit::{CallError, Key, Next, Objects, Queue, Record};
use kube::runtime::watcher;
use serde_json::json;

use super::{
    Context, Controller, MANAGER,
    records::{Namespace, RootCertificate, ServiceAccount},
};

const ACCOUNT: &str = "default";
const CERTIFICATE: &str = "kube-root-ca.crt";

pub fn start(context: &Context) -> impl Future<Output = ()> + Send + use<> {
    let select = watcher::Config::default().fields(&format!("metadata.name={CERTIFICATE}"));
    let certificates = context.watches.selected::<RootCertificate>(select);
    let defaults = Defaults {
        namespaces: context.objects(),
        accounts: context.objects(),
        certificates: Objects::new(context.client.clone(), (), MANAGER, certificates),
        authority: context.authority.to_string(),
    };
    let queue = Queue::default();
    wake_by_name(&defaults.namespaces, &queue);
    wake_by_namespace(&defaults.accounts, &queue);
    wake_by_namespace(&defaults.certificates, &queue);
    context.run(Controller::NamespaceDefaults, queue, move |key| {
        let defaults = defaults.clone();
        async move { defaults.reconcile(&key).await }
    })
}

fn wake_by_name(namespaces: &Objects<Namespace>, queue: &Queue<Key>) {
    let queue = queue.clone();
    namespaces.cache().on_change(move |change| {
        if let Some(namespace) = &change.new {
            queue.add(Key::of(namespace.as_ref()));
        }
    });
}

fn wake_by_namespace<R: Record>(objects: &Objects<R>, queue: &Queue<Key>) {
    let queue = queue.clone();
    objects.cache().on_change(move |change| {
        if let Some(namespace) = change.any().and_then(|object| object.meta().namespace.clone()) {
            queue.add(Key::new("", namespace));
        }
    });
}

#[derive(Clone)]
struct Defaults {
    namespaces: Objects<Namespace>,
    accounts: Objects<ServiceAccount>,
    certificates: Objects<RootCertificate>,
    authority: String,
}

impl Defaults {
    async fn reconcile(&self, key: &Key) -> Result<Next, CallError> {
        if self.namespaces.cache().get(key).is_none_or(|namespace| namespace.is_ending()) {
            return Ok(Next::Settled);
        }
        let outcome = self.ensure(&key.name).await;
        // It may have begun to end, or be gone: then nothing is missing.
        match outcome {
            Err(error) if error.is_forbidden() || error.is_not_found() || error.is_conflict() => {
                match self.namespaces.get(key).await? {
                    Some(namespace) if !namespace.is_ending() => Err(error),
                    _ => Ok(Next::Settled),
                }
            }
            outcome => outcome.map(|()| Next::Settled),
        }
    }

    async fn ensure(&self, namespace: &str) -> Result<(), CallError> {
        if self.accounts.cache().get(&Key::new(namespace, ACCOUNT)).is_none() {
            let account = json!({
                "apiVersion": "v1", "kind": "ServiceAccount",
                "metadata": { "name": ACCOUNT, "namespace": namespace },
            });
            self.accounts.create(namespace, &account).await?;
        }
        let key = Key::new(namespace, CERTIFICATE);
        let data = json!({ "ca.crt": self.authority });
        match self.certificates.cache().get(&key) {
            None => {
                let about = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal \
                             endpoints such as the internal service IP or kubernetes.default.svc.";
                let annotations = json!({ "kubernetes.io/description": about });
                let map = json!({
                    "apiVersion": "v1", "kind": "ConfigMap", "data": data,
                    "metadata": { "name": CERTIFICATE, "namespace": namespace, "annotations": annotations },
                });
                self.certificates.create(namespace, &map).await?;
            }
            Some(known) if json!(known.data) != data => {
                let extra = known.data.keys().filter(|key| *key != "ca.crt");
                let mut patch = data;
                for key in extra {
                    patch[key] = serde_json::Value::Null;
                }
                self.certificates.merge(&key, &json!({ "data": patch })).await?;
            }
            Some(_) => {}
        }
        Ok(())
    }
}
