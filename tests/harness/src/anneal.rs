//! `anneal up` as a process of its own, reached like any cluster: by its kubeconfig.

use std::{
    io,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
};

use anyhow::{Context, Result, bail};

use crate::{Identity, Server, TempFolder, eventually, kubeconfig};

/// Whether `anneal up` runs the built-in controllers: no answer of a server tells.
const HAS_CONTROLLERS: bool = true;

/// Where the server keeps its objects.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Data {
    /// In memory.
    Ephemeral,
    /// In this folder.
    Durable(PathBuf),
}

/// A running `anneal up`.
pub struct Anneal {
    child: Child,
    kubeconfig: PathBuf,
    _folder: TempFolder,
}

impl Anneal {
    /// Starts one and does not wait for it: [`Anneal::server`] does.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn start(program: &Path, data: &Data) -> Result<Self> {
        let folder = TempFolder::new()?;
        let kubeconfig = folder.path().join("kubeconfig");
        let mut command = tethered(program);
        command.arg("up").args(["--listen", "127.0.0.1:0", "--kube-listen", "127.0.0.1:0"]);
        command.arg("--kubeconfig-out").arg(&kubeconfig);
        match data {
            Data::Ephemeral => command.arg("--ephemeral"),
            Data::Durable(folder) => command.arg("--data-dir").arg(folder),
        };
        // What it says matters only when it fails, and then on standard error.
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let child = child.with_context(|| format!("{}", program.display()))?;
        Ok(Self { child, kubeconfig, _folder: folder })
    }

    /// It as a server to test, once it is ready.
    ///
    /// # Errors
    /// When it ends or does not become ready.
    pub async fn server(&mut self) -> Result<Server> {
        let kubeconfig = self.kubeconfig.clone();
        let mut server = eventually("`anneal up` to be ready", || {
            let ended = self.child.try_wait();
            ready(ended, &kubeconfig)
        })
        .await?;
        let nodes = server.http(&Identity::Admin)?.get("/api/v1/nodes").await?.ok()?;
        server.node = nodes["items"].as_array().is_some_and(|items| !items.is_empty());
        server.disposable = true;
        Ok(server)
    }

    /// The administrator's kubeconfig, which is there once the server listens.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended by itself.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub fn has_ended(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }
}

impl Drop for Anneal {
    fn drop(&mut self) {
        // Killed, not asked: nothing may be lost by that, and a test must not wait for a server that hangs.
        if let Err(error) = self.child.kill().and_then(|()| self.child.wait().map(drop)) {
            eprintln!("stopping `anneal up`: {error}");
        }
    }
}

/// The server, if it is ready, unless it has ended.
async fn ready(ended: io::Result<Option<ExitStatus>>, kubeconfig: &Path) -> Result<Option<Server>> {
    if let Some(status) = ended? {
        bail!("`anneal up` ended ({status})");
    }
    if !kubeconfig.exists() {
        return Ok(None);
    }
    // The file may be there before anybody listens.
    let Ok(server) = kubeconfig::server("anneal", kubeconfig, HAS_CONTROLLERS).await else { return Ok(None) };
    let ready = server.http(&Identity::Admin)?.get("/readyz").await?.status == 200;
    Ok(ready.then_some(server))
}

/// A command that Linux ends with us, however we end.
fn tethered(program: &Path) -> Command {
    let tether = ["--pdeathsig", "KILL", "--"];
    let works = Command::new("setpriv").args(tether).arg("true").stderr(Stdio::null()).status();
    if !works.is_ok_and(|status| status.success()) {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(tether).arg(program);
    command
}
