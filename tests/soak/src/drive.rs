//! Sends steps to a server and tells what came of them.

use anneal_harness::{Http, Identity, Namespace, PatchKind, Reply, Server, eventually};
use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::{
    step::{Step, Write},
    subjects::{Subject, definition},
};

/// A server with a namespace to write in.
pub struct Target {
    http: Http,
    namespace: Namespace,
}

impl Target {
    /// Prepares a server: a namespace, and the custom kind.
    ///
    /// # Errors
    /// When the server does not make them.
    pub async fn new(server: &Server) -> Result<Self> {
        let http = server.http(&Identity::Admin)?;
        let namespace = server.temp_namespace().await?;
        let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let reply = http.post(definitions, &definition()).await?;
        anyhow::ensure!(matches!(reply.status, 201 | 409), "{reply}");
        let shapes = format!("/apis/soak.anneal.dev/v1/namespaces/{}/shapes", namespace.name);
        eventually("the custom kind to be served", async || {
            Ok((http.get(&shapes).await?.status == 200).then_some(()))
        })
        .await?;
        Ok(Self { http, namespace })
    }

    pub fn namespace(&self) -> &str {
        &self.namespace.name
    }

    /// The object, if it is there.
    ///
    /// # Errors
    /// When the server does not tell.
    pub async fn get(&self, subject: &Subject, name: &str) -> Result<Option<Value>> {
        let reply = self.http.get(&format!("{}/{name}", subject.path(self.namespace()))).await?;
        if reply.status == 404 { Ok(None) } else { reply.ok().map(Some) }
    }

    /// Writes.
    ///
    /// # Errors
    /// When no answer comes.
    pub async fn write(&self, subject: &Subject, name: &str, step: &Step) -> Result<Reply> {
        let part = if step.status { "/status" } else { "" };
        let manager = &step.manager;
        let kind = subject.path(self.namespace());
        let path = format!("{kind}/{name}{part}?fieldManager={manager}");
        match &step.write {
            Write::Create(body) => self.http.post(&format!("{kind}?fieldManager={manager}"), body).await,
            Write::Apply { body, force } => {
                self.http.patch(&format!("{path}&force={force}"), PatchKind::Apply, body).await
            }
            Write::Update(body) => self.http.put(&path, body).await,
            Write::Json(body) => self.http.patch(&path, PatchKind::Json, body).await,
            Write::Merge(body) => self.http.patch(&path, PatchKind::Merge, body).await,
            Write::Strategic(body) => self.http.patch(&path, PatchKind::Strategic, body).await,
        }
    }

    /// What an update would come to.
    ///
    /// # Errors
    /// When no answer comes.
    pub async fn try_update(
        &self,
        subject: &Subject,
        name: &str,
        status: bool,
        body: &Value,
    ) -> Result<Reply> {
        let part = if status { "/status" } else { "" };
        let kind = subject.path(self.namespace());
        self.http.put(&format!("{kind}/{name}{part}?dryRun=All&fieldManager=probe"), body).await
    }

    /// Takes the object away, finalizers or not.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn delete(&self, subject: &Subject, name: &str) -> Result<()> {
        let path = format!("{}/{name}", subject.path(self.namespace()));
        let bare = json!({ "metadata": { "finalizers": null } });
        self.http.patch(&path, PatchKind::Merge, &bare).await?;
        let now = json!({ "kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0 });
        let reply = self.http.delete(&path, &now).await?;
        anyhow::ensure!(matches!(reply.status, 200 | 202 | 404), "{reply}");
        Ok(())
    }

    /// Removes what was made, unless the server goes with it.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn clean_up(self) -> Result<()> {
        self.namespace.clean_up().await.context("cleaning up")
    }
}
