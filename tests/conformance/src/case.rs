//! A case and what it is given.

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
};

use anneal_harness::{Http, Identity, Needs, PlayedNode, Server};
use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::{Kind, Objects, definitions};

type Run = dyn Fn(Cx) -> Pin<Box<dyn Future<Output = Result<()>> + Send>> + Send + Sync;

/// A case of the suite.
#[derive(Clone)]
pub struct Case {
    /// Area and sentence, for example `update::stale_version_is_a_conflict`.
    pub name: String,
    /// What it needs of the server.
    pub needs: Needs,
    run: Arc<Run>,
}

impl Case {
    /// A case from a function.
    pub fn new<F>(
        name: impl Into<String>,
        needs: Needs,
        run: impl Fn(Cx) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        Self { name: name.into(), needs, run: Arc::new(move |cx| Box::pin(run(cx))) }
    }

    /// Runs it in a namespace of its own.
    ///
    /// # Errors
    /// When the server does not behave as the case says.
    pub async fn run(&self, server: &Server) -> Result<()> {
        let namespace = server.temp_namespace().await?;
        let cx = Cx {
            http: server.http(&Identity::Admin)?,
            server: server.clone(),
            namespace: namespace.name.clone(),
            leftovers: Arc::default(),
        };
        // In a task of its own: a panic ends the case and not the cleaning up after it.
        let result = tokio::spawn((self.run)(cx.clone())).await.context("the case panicked").flatten();
        let cleaned = cx.clean_up().await.and(namespace.clean_up().await);
        result.and(cleaned)
    }
}

/// What a case is given.
#[derive(Clone)]
pub struct Cx {
    /// The server.
    pub server: Server,
    /// The administrator's way in.
    pub http: Http,
    /// The case's own namespace, empty at first.
    pub namespace: String,
    leftovers: Arc<Mutex<Vec<String>>>,
}

impl Cx {
    /// The objects of a kind: in the case's namespace, or in the cluster if the kind has none.
    pub fn objects(&self, kind: &Kind) -> Objects {
        Objects::new(self.http.clone(), kind, &self.namespace)
    }

    /// The same as somebody else.
    pub fn objects_as(&self, http: &Http, kind: &Kind) -> Objects {
        Objects::new(http.clone(), kind, &self.namespace)
    }

    /// A name for something outside the namespace that no other case uses.
    pub fn unique(&self, what: &str) -> String {
        format!("{what}-{}", self.namespace)
    }

    /// A node for this namespace, played by the case itself.
    ///
    /// # Errors
    /// When the server does not make the Node.
    pub async fn node(&self) -> Result<PlayedNode> {
        self.delete_later(format!("/api/v1/nodes/{}", self.namespace));
        PlayedNode::new(&self.http, &self.namespace).await
    }

    /// Deletes what is at this path once the case has ended: for objects outside its namespace.
    pub fn delete_later(&self, path: impl Into<String>) {
        self.leftovers.lock().unwrap().push(path.into());
    }

    /// Installs a custom resource of the case's own, in the one version v1, and waits until it is served.
    ///
    /// `schema` describes the whole object; `extra` goes into the version beside it: subresources,
    /// additionalPrinterColumns and so on.
    ///
    /// # Errors
    /// When the server refuses the definition or never serves it.
    pub async fn install_crd(&self, kind: &str, schema: Value, extra: Value) -> Result<Kind> {
        let mut definition = definitions::definition(self, kind, schema);
        for (field, value) in extra.as_object().into_iter().flatten() {
            definition["spec"]["versions"][0][field] = value.clone();
        }
        definitions::install(self, definition, "v1").await
    }

    async fn clean_up(&self) -> Result<()> {
        let leftovers = std::mem::take(&mut *self.leftovers.lock().unwrap());
        if std::env::var_os("NO_CLEANUP").is_some() {
            return Ok(());
        }
        let mut result = Ok(());
        for path in leftovers {
            let deleted = self.http.delete(&path, &Value::Null).await.and_then(|reply| {
                ensure!(matches!(reply.status, 200 | 202 | 404 | 409), "{reply}");
                Ok(())
            });
            result = result.and(deleted);
        }
        result
    }
}

/// Makes cases from functions: the function's name is the sentence, the module's its area.
macro_rules! cases {
    ($($needs:expr => [$($function:ident),* $(,)?]),* $(,)?) => {{
        let area = module_path!().rsplit("::").next().unwrap_or_default();
        vec![$($($crate::Case::new(format!("{area}::{}", stringify!($function)), $needs, $function),)*)*]
    }};
}
pub(crate) use cases;
