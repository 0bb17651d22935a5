//! Upstream's control plane, for as long as this value lives and not a moment longer.
//!
//! `hack/kube/up` does the work. Its standard input is our leash: when this process ends, however it
//! ends, the pipe closes and the script stops the servers and removes their folder.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{Kubectl, Server, kubeconfig};

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
        Self::start_with(&[])
    }

    /// Starts one without the controllers that write to what tests write to.
    ///
    /// # Errors
    /// As [`ControlPlane::start`].
    pub fn start_quiet() -> Result<Self> {
        Self::start_with(&["--controllers", "serviceaccount-controller"])
    }

    /// The same with options of `hack/kube/up`.
    ///
    /// # Errors
    /// As [`ControlPlane::start`].
    pub fn start_with(options: &[&str]) -> Result<Self> {
        let mut script = Command::new(hack().join("up"))
            .args(options)
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
        Ok(Self { script, kubeconfig: PathBuf::from(kubeconfig), kubectl: kube_programs()?.join("kubectl") })
    }

    /// It as a server to test.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub async fn server(&self) -> Result<Server> {
        let mut server = kubeconfig::server("kube-apiserver", &self.kubeconfig, true).await?;
        server.disposable = true;
        Ok(server)
    }

    /// kubectl of the same version, signed in as the administrator.
    pub fn kubectl(&self) -> Kubectl {
        Kubectl::new(&self.kubectl, &self.kubeconfig)
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The script's process: the servers are its children.
    pub fn pid(&self) -> u32 {
        self.script.id()
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

/// The folder with Kubernetes' programs, which are built first if they are not there yet.
///
/// # Errors
/// When they cannot be built; the script's own words went to standard error.
pub fn kube_programs() -> Result<PathBuf> {
    let output =
        Command::new(hack().join("build")).stderr(Stdio::inherit()).output().context("hack/kube/build")?;
    ensure!(output.status.success(), "hack/kube/build failed ({})", output.status);
    Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim()))
}

fn hack() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hack/kube")
}
