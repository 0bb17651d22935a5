//! kubectl, as people use it.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::PATIENCE;

/// kubectl with a kubeconfig.
#[derive(Clone, Debug)]
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
}

impl Kubectl {
    /// This program with that kubeconfig.
    pub fn new(program: &Path, kubeconfig: &Path) -> Self {
        Self { program: program.to_owned(), kubeconfig: kubeconfig.to_owned() }
    }

    /// It as a command that still lacks its arguments.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .arg(format!("--request-timeout={}s", PATIENCE.as_secs()));
        command
    }

    /// Runs it with `stdin` and returns what it printed, standard error included.
    ///
    /// # Errors
    /// When it fails; the error holds what it printed.
    pub fn run(&self, arguments: &[&str], stdin: &str) -> Result<String> {
        let mut child = self
            .command()
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("{}", self.program.display()))?;
        child.stdin.take().context("kubectl's input")?.write_all(stdin.as_bytes())?;
        let output = child.wait_with_output()?;
        let said =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "kubectl {}: {said}", arguments.join(" "));
        Ok(said)
    }
}
