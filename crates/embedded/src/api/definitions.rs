//! Serving custom resources: definitions are looked at as they change, established, and cleared away.
//!
//! Upstream does this inside its API server too, so it is no controller of the cluster: a definition is served
//! as soon as it is stored, whoever else runs. It is idempotent: every look begins with what is stored.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use super::{
    crd::{self, CustomKind},
    delete,
    error::Result,
    metadata, object,
    options::{DeleteOptions, FieldValidation},
    resource::{Resource, collection},
    server::Server,
    write::{Origin, Write},
};
use crate::store::{Range, Record};

/// Where definitions are stored.
pub const COLLECTION: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// Holds a definition until its objects are gone.
const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Keeps what is served in step with the definitions, for ever.
pub async fn keep_serving(server: Arc<Server>) {
    let mut keeper = Keeper { server, served: Vec::new() };
    loop {
        let from = keeper.server.store.revision();
        let mut waiting = keeper.look().await;
        let Ok(mut watcher) = keeper.server.store.watch(COLLECTION, None, from) else { continue };
        loop {
            tokio::select! {
                events = watcher.next(64) => if events.is_err() {
                    // The history has moved on while this was busy: it begins anew.
                    break;
                },
                () = keeper.server.clock.sleep(LOOK_AGAIN), if waiting => {}
            }
            waiting = keeper.look().await;
        }
    }
}

/// How often the objects of a definition that is going are looked at, while finalizers hold them.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

struct Keeper {
    server: Arc<Server>,
    /// Collections that are served, with the revision of the definition each was made of.
    served: Vec<(Arc<str>, u64)>,
}

impl Keeper {
    /// Looks at every definition: the oldest first, for the first takes a name. Tells whether to look again
    /// soon.
    async fn look(&mut self) -> bool {
        let Ok(page) = self.server.store.list(&Range::all(COLLECTION), None) else { return true };
        let mut all: Vec<(Arc<Record>, Value)> =
            page.records.into_iter().map(|(_, record)| (record.clone(), record.value())).collect();
        all.sort_by(|(_, a), (_, b)| age(a).cmp(&age(b)));
        for at in 0..all.len() {
            let others: Vec<&Value> = all.iter().map(|(_, crd)| crd).collect();
            let mut status = crd::establish(&all[at].1, others, self.server.clock.now());
            if metadata::is_terminating(&all[at].1) {
                mark_terminating(&mut status, &all[at].1);
            }
            all[at].1["status"] = status;
        }
        let mut changed = self.stop_serving(&all);
        for (record, definition) in &all {
            changed |= self.serve(record, definition);
        }
        if changed {
            self.server.resources_changed.send_modify(|count| *count += 1);
        }
        // Only what is served may say that it is: the status comes last.
        let mut waiting = false;
        for (_, definition) in all {
            match self.settle(&definition).await {
                Ok(done) => waiting |= !done,
                Err(error) => {
                    let name = object::name(&definition);
                    tracing::warn!(name, error = error.message, "Settling a definition failed");
                    waiting = true;
                }
            }
        }
        waiting
    }

    /// Ends what is no longer defined.
    fn stop_serving(&mut self, all: &[(Arc<Record>, Value)]) -> bool {
        let defined: Vec<Arc<str>> = all.iter().map(|(_, definition)| collection_of(definition)).collect();
        let (kept, gone): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.served).into_iter().partition(|(name, _)| defined.contains(name));
        self.served = kept;
        for (name, _) in &gone {
            self.server.resources.serve(name, Vec::new());
        }
        !gone.is_empty()
    }

    /// Serves a definition that is established, unless it is served as it is.
    fn serve(&mut self, record: &Record, definition: &Value) -> bool {
        let established = object::items(definition, "/status/conditions")
            .iter()
            .any(|condition| condition["type"] == "Established" && condition["status"] == "True");
        let name = collection_of(definition);
        let generation = definition["metadata"]["generation"].as_u64().unwrap_or_default();
        if !established || self.served.contains(&(name.clone(), generation)) {
            return false;
        }
        let kind = match CustomKind::compile(definition) {
            Ok(kind) => kind,
            Err(fault) => {
                // It passed validation, so this is ours to mend.
                tracing::error!(
                    name = object::name(definition),
                    error = fault,
                    "A definition cannot be served"
                );
                return false;
            }
        };
        self.server.store.begin(&name);
        let closed = metadata::is_terminating(definition);
        self.server.resources.serve(&name, Resource::of_custom(&kind, record.revision(), closed));
        self.served.retain(|(served, _)| *served != name);
        self.served.push((name, generation));
        true
    }

    /// Brings the stored definition up to date: its status, its finalizer, or its end. Tells whether there is
    /// nothing left to do.
    async fn settle(&self, definition: &Value) -> Result<bool> {
        let found = self.server.resources.find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
        let Some(resource) = found else { return Ok(true) };
        let going = metadata::is_terminating(definition);
        let cleared = going && self.clear(definition).await?;
        let mut write = self.write(&resource, "");
        let change = |_: &mut Write<'_>, live: &Value| {
            let mut new = live.clone();
            // Whoever changed it meanwhile causes another look.
            if object::meta(live, "resourceVersion") == object::meta(definition, "resourceVersion") {
                new["status"] = definition["status"].clone();
                if cleared {
                    set_finalizer(&mut new, false);
                }
            }
            Ok(new)
        };
        match write.modify(object::name(definition), Origin::Patch, change).await {
            Err(error) if error.reason == "NotFound" => Ok(true),
            other => other.map(|_| cleared || !going),
        }
    }

    /// Deletes every object of a definition that is going. Tells whether none is left.
    async fn clear(&self, definition: &Value) -> Result<bool> {
        let name = collection_of(definition);
        let all = self.server.resources.all();
        let Some(resource) = all.values().find(|resource| resource.collection == name) else {
            return Ok(true);
        };
        let page = self.server.store.list(&Range::all(&name), None);
        let records = page.map(|page| page.records).unwrap_or_default();
        for (key, _) in &records {
            match delete::delete(&self.write(resource, &key.namespace), &key.name, &DeleteOptions::default())
                .await
            {
                Err(error) if error.reason != "NotFound" => return Err(error),
                _ => {}
            }
        }
        let left = self.server.store.list(&Range::all(&name), None);
        Ok(left.is_ok_and(|page| page.records.is_empty()))
    }

    fn write<'a>(&'a self, resource: &'a Arc<Resource>, namespace: &'a str) -> Write<'a> {
        Write {
            server: &self.server,
            resource,
            namespace,
            part: None,
            subresource: "status",
            manager: "anneal",
            validation: FieldValidation::Ignore,
            dry_run: false,
            warnings: Vec::new(),
        }
    }
}

/// Holds a definition that is being deleted until its objects are gone.
pub fn hold(definition: &mut Value) {
    set_finalizer(definition, true);
}

fn set_finalizer(definition: &mut Value, wanted: bool) {
    let mut finalizers: Vec<Value> = metadata::finalizers(definition).to_vec();
    finalizers.retain(|finalizer| finalizer != FINALIZER);
    if wanted {
        finalizers.push(FINALIZER.into());
    }
    if let Some(metadata) = metadata::of(definition) {
        metadata.insert("finalizers".to_owned(), finalizers.into());
    }
}

/// Says that the objects of a definition are being deleted, since it is.
fn mark_terminating(status: &mut Value, definition: &Value) {
    let condition = json!({
        "type": "Terminating", "status": "True", "reason": "InstanceDeletionInProgress",
        "message": "CustomResource deletion is in progress",
        "lastTransitionTime": object::meta(definition, "deletionTimestamp"),
    });
    if let Some(conditions) = status["conditions"].as_array_mut() {
        conditions.retain(|condition| condition["type"] != "Terminating");
        conditions.push(condition);
    }
}

fn collection_of(definition: &Value) -> Arc<str> {
    let spec = &definition["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    collection(&text(&spec["group"]), &text(&spec["names"]["plural"]))
}

fn age(definition: &Value) -> (&str, &str) {
    (object::meta(definition, "creationTimestamp"), object::name(definition))
}
