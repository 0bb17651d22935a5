//! A server being measured: how it starts, how it is reached, which processes it is.

use std::{path::Path, time::Duration};

use anneal_harness::{Anneal, ControlPlane, Data, Http, PATIENCE};
use anneal_types::crd;
use anyhow::{Context, Result, bail};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::json;
use tokio::time::Instant;

use crate::process::{self, Memory};

/// A running server.
pub(crate) struct Arm {
    /// From the start of the program until it can be worked with.
    pub(crate) started_in: Duration,
    config: Config,
    pids: Vec<u32>,
    // Only held: they end the servers when they go.
    _running: Running,
}

#[expect(dead_code, reason = "held for their end, never looked at")]
enum Running {
    Kube(ControlPlane),
    Anneal(Anneal),
}

impl Arm {
    /// Upstream's, with etcd syncing each write. It is started when `hack/kube/up` says that it is ready.
    pub(crate) async fn kube() -> Result<Self> {
        let began = Instant::now();
        let control_plane = ControlPlane::start_with(&["--fsync"])?;
        let started_in = began.elapsed();
        // The controllers are not what is measured.
        let servers = ["etcd", "kube-apiserver"];
        let children = process::children(control_plane.pid())?;
        let pids: Vec<u32> = children
            .into_iter()
            .filter(|(_, name)| servers.contains(&name.as_str()))
            .map(|(pid, _)| pid)
            .collect();
        if pids.len() != servers.len() {
            bail!("hack/kube/up must have one child of each of {servers:?}");
        }
        let config = config(control_plane.kubeconfig()).await?;
        Ok(Self { started_in, config, pids, _running: Running::Kube(control_plane) })
    }

    /// Ours. It is started when our definitions are established and a list of the first kind is answered.
    pub(crate) async fn anneal(program: &Path, data: Data) -> Result<Self> {
        let began = Instant::now();
        let mut anneal = Anneal::start(program, &data)?;
        let definitions = crd::all();
        let config = loop {
            if let Ok(config) = config(anneal.kubeconfig()).await
                && serves(&config, &definitions).await.unwrap_or(false)
            {
                break config;
            }
            if anneal.has_ended()? || began.elapsed() > PATIENCE {
                bail!("`anneal up` did not get ready");
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        };
        let (started_in, pids) = (began.elapsed(), vec![anneal.pid()]);
        Ok(Self { started_in, config, pids, _running: Running::Anneal(anneal) })
    }

    /// A client with a connection of its own.
    pub(crate) fn connect(&self) -> Result<Http> {
        connect(&self.config)
    }

    /// Makes a namespace.
    pub(crate) async fn namespace(&self, name: &str) -> Result<()> {
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        self.connect()?.post("/api/v1/namespaces", &namespace).await?.is(201)?;
        Ok(())
    }

    /// Waits until it does little by itself: what follows a start must not be counted as the cost of requests.
    pub(crate) async fn settle(&self) -> Result<()> {
        const LOOK: Duration = Duration::from_millis(500);
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            let before = self.cpu()?;
            tokio::time::sleep(LOOK).await;
            if self.cpu()? - before < LOOK / 10 {
                return Ok(());
            }
        }
        eprintln!("bench: the server never came to rest");
        Ok(())
    }

    /// What its processes have used of the CPU so far.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        self.pids.iter().map(|pid| process::cpu(*pid)).sum()
    }

    /// What its processes hold of memory.
    pub(crate) fn memory(&self) -> Result<Memory> {
        let each = self.pids.iter().map(|pid| process::memory(*pid));
        each.reduce(|sum, more| Ok(sum? + more?)).context("a server must have a process")?
    }
}

async fn config(kubeconfig: &Path) -> Result<Config> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.read_timeout = None;
    // A request that the client sent twice would count once.
    config.default_retry = false;
    Ok(config)
}

fn connect(config: &Config) -> Result<Http> {
    Ok(Http::new(Client::try_from(config.clone())?))
}

async fn serves(config: &Config, definitions: &[CustomResourceDefinition]) -> Result<bool> {
    let http = connect(config)?;
    let list = http.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").await?.ok()?;
    let items = list["items"].as_array().context("a list must have items")?;
    let established = |definition: &CustomResourceDefinition| {
        let item = items
            .iter()
            .find(|item| item["metadata"]["name"].as_str() == definition.metadata.name.as_deref());
        let conditions = item.and_then(|item| item["status"]["conditions"].as_array());
        conditions.into_iter().flatten().any(|c| c["type"] == "Established" && c["status"] == "True")
    };
    if !definitions.iter().all(established) {
        return Ok(false);
    }
    let spec = &definitions.first().context("there must be a definition")?.spec;
    let path = format!("/apis/{}/{}/{}", spec.group, spec.versions[0].name, spec.names.plural);
    Ok(http.get(&path).await?.status == 200)
}
