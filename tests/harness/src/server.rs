//! A server under test: what it is, what it has, and ways in.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use anyhow::{Context, Result};
use kube::Client;
use serde_json::{Value, json};

use crate::{Http, eventually};

/// Who speaks to the server.
#[derive(Clone, Debug)]
pub enum Identity {
    /// An administrator who may do everything.
    Admin,
    /// Whoever holds this bearer token.
    Token(String),
    /// Nobody in particular.
    Anonymous,
}

/// What a test needs of a server.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Needs {
    /// The built-in controllers: garbage collector, Deployments, namespaces and so on.
    pub controllers: bool,
    /// A node that runs pods.
    pub node: bool,
    /// The first minor version of Kubernetes 1 that can do it.
    pub minor: Option<u32>,
}

impl Needs {
    /// The API alone.
    pub const API: Self = Self { controllers: false, node: false, minor: None };
    /// The API and the built-in controllers.
    pub const CONTROLLERS: Self = Self { controllers: true, node: false, minor: None };
    /// A whole cluster.
    pub const NODE: Self = Self { controllers: true, node: true, minor: None };

    /// The same, from a minor version of Kubernetes 1 on.
    pub const fn since(self, minor: u32) -> Self {
        Self { minor: Some(minor), ..self }
    }
}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("api")?;
        if self.controllers {
            f.write_str("+controllers")?;
        }
        if self.node {
            f.write_str("+node")?;
        }
        match self.minor {
            Some(minor) => write!(f, ">=1.{minor}"),
            None => Ok(()),
        }
    }
}

/// A server's version as `/version` tells it.
#[derive(Clone, Debug)]
pub struct ServerVersion {
    /// For people, for example `v1.36.3`.
    pub git: String,
    /// The minor version.
    pub minor: u32,
}

type Connect = dyn Fn(&Identity) -> Result<Client> + Send + Sync;

/// A server under test.
#[derive(Clone)]
pub struct Server {
    /// What it is called in reports.
    pub name: String,
    /// Its version.
    pub version: ServerVersion,
    /// Whether the built-in controllers run.
    pub controllers: bool,
    /// Whether a node runs pods.
    pub node: bool,
    /// Whether it ends with the tests, so that what they leave need not be deleted: to delete a namespace
    /// costs a server more than most tests.
    pub disposable: bool,
    // Kept, so that its connections are: a handshake for each test would cost more than the test.
    admin: Client,
    connect: Arc<Connect>,
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has = Needs { controllers: self.controllers, node: self.node, minor: None };
        write!(f, "{} {} ({has})", self.name, self.version.git)
    }
}

impl Server {
    /// Asks a server for its version; `connect` makes clients for it.
    ///
    /// # Errors
    /// When it cannot be reached or does not tell its version.
    pub async fn new(
        name: &str,
        controllers: bool,
        node: bool,
        connect: impl Fn(&Identity) -> Result<Client> + Send + Sync + 'static,
    ) -> Result<Self> {
        let admin = connect(&Identity::Admin)?;
        let version = Http::new(admin.clone()).get("/version").await?.ok()?;
        let text = |field: &str| version[field].as_str().unwrap_or_default().to_owned();
        let minor = text("minor");
        Ok(Self {
            name: name.to_owned(),
            version: ServerVersion {
                git: text("gitVersion"),
                minor: minor.trim_end_matches('+').parse().context("the server's minor version")?,
            },
            controllers,
            node,
            disposable: false,
            admin,
            connect: Arc::new(connect),
        })
    }

    /// The same server seen through something that changes what passes.
    pub fn through(&self, name: &str, wrap: impl Fn(Client) -> Client + Send + Sync + 'static) -> Self {
        let connect = self.connect.clone();
        Self {
            name: name.to_owned(),
            admin: wrap(self.admin.clone()),
            connect: Arc::new(move |who| connect(who).map(&wrap)),
            ..self.clone()
        }
    }

    /// Whether a test with these needs can run.
    pub fn satisfies(&self, needs: &Needs) -> bool {
        (self.controllers || !needs.controllers)
            && (self.node || !needs.node)
            && needs.minor.is_none_or(|minor| self.version.minor >= minor)
    }

    /// A client for somebody.
    ///
    /// # Errors
    /// When no client can be made, for example from a token that is not one.
    pub fn client(&self, who: &Identity) -> Result<Client> {
        match who {
            Identity::Admin => Ok(self.admin.clone()),
            who => (self.connect)(who),
        }
    }

    /// The same as [`Server::client`], showing what crosses the wire.
    ///
    /// # Errors
    /// As [`Server::client`].
    pub fn http(&self, who: &Identity) -> Result<Http> {
        Ok(Http::new(self.client(who)?))
    }

    /// Makes a namespace that no other test has, ready to hold pods.
    ///
    /// # Errors
    /// When the server does not make it.
    pub async fn temp_namespace(&self) -> Result<Namespace> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let http = self.http(&Identity::Admin)?;
        let namespace = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": { "name": name, "labels": { "anneal.dev/test": "true" } }
        });
        http.post("/api/v1/namespaces", &namespace).await?.is(201)?;
        if self.controllers {
            // Pods are refused until the namespace has its service account.
            let path = format!("/api/v1/namespaces/{name}/serviceaccounts/default");
            eventually(format!("the service account of {name}"), || async {
                Ok((http.get(&path).await?.status == 200).then_some(()))
            })
            .await?;
        }
        Ok(Namespace { name, http, disposable: self.disposable })
    }
}

/// A namespace for one test.
pub struct Namespace {
    /// Its name.
    pub name: String,
    http: Http,
    disposable: bool,
}

impl Namespace {
    /// Asks the server to delete it, without waiting, unless the server goes with it; `NO_CLEANUP` in the
    /// environment keeps it for a look.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn clean_up(self) -> Result<()> {
        if self.disposable || std::env::var_os("NO_CLEANUP").is_some() {
            return Ok(());
        }
        let reply = self.http.delete(&format!("/api/v1/namespaces/{}", self.name), &Value::Null).await?;
        // 404 and 409: the test deleted it itself.
        anyhow::ensure!(matches!(reply.status, 200 | 202 | 404 | 409), "deleting {}: {reply}", self.name);
        Ok(())
    }
}
