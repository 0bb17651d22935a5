//! Upstream's control plane, for as long as this value lives and not a moment longer.
//!
//! `hack/kube/up` does the work. Its standard input is our leash: when this process ends, however it
//! ends, the pipe closes and the script stops the servers and removes their folder.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, bail};
use kube::{
    Client, Config,
    config::{AuthInfo, KubeConfigOptions, Kubeconfig},
};

use crate::{Identity, Kubectl, Server};

/// A running etcd, kube-apiserver and kube-controller-manager.
pub struct ControlPlane {
    script: Child,
    kubeconfig: PathBuf,
    kubectl: PathBuf,
}

impl ControlPlane {
    /// Starts one, building its programs first if they are not there yet.
    ///
    /// # Errors
    /// When it does not come up; the script's own words went to standard error.
    pub fn start() -> Result<Self> {
        let hack = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hack/kube");
        let mut script = Command::new(hack.join("up"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("hack/kube/up")?;
        let stdout = script.stdout.take().context("the script's output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let Some(kubeconfig) = line.trim().strip_prefix("ready ") else {
            let status = script.wait()?;
            bail!("hack/kube/up did not start a control plane ({status})");
        };
        let programs = Command::new(hack.join("build")).arg("--where").output()?;
        let programs = String::from_utf8(programs.stdout)?;
        Ok(Self {
            script,
            kubeconfig: PathBuf::from(kubeconfig),
            kubectl: Path::new(programs.trim()).join("kubectl"),
        })
    }

    /// It as a server to test.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub async fn server(&self) -> Result<Server> {
        let kubeconfig = Kubeconfig::read_from(&self.kubeconfig)?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        let connect = move |who: &Identity| connect(&config, who);
        let mut server = Server::new("kube-apiserver", true, false, connect).await?;
        server.disposable = true;
        Ok(server)
    }

    /// kubectl of the same version, signed in as the administrator.
    pub fn kubectl(&self) -> Kubectl {
        Kubectl::new(&self.kubectl, &self.kubeconfig)
    }

    /// Stops it and waits until it is gone.
    ///
    /// # Errors
    /// When the script cannot be waited for.
    pub fn stop(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        drop(self.script.stdin.take());
        self.script.wait().context("hack/kube/up")?;
        Ok(())
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        // Nothing can be returned from here, and the closed leash has ended it anyway.
        if let Err(error) = self.end() {
            eprintln!("stopping the control plane: {error:#}");
        }
    }
}

fn connect(config: &Config, who: &Identity) -> Result<Client> {
    let mut config = config.clone();
    match who {
        Identity::Admin => {}
        Identity::Token(token) => {
            config.auth_info = AuthInfo { token: Some(token.clone().into()), ..AuthInfo::default() };
        }
        Identity::Anonymous => config.auth_info = AuthInfo::default(),
    }
    // Watches stay open for as long as the test wants.
    config.read_timeout = None;
    // Tests see every answer, also those a client would try to get past by asking again.
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}
