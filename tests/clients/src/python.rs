//! Python's `kubernetes` package, by the program `python/client.py`.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

/// Runs the program against the server of a kubeconfig, in this namespace; its packages are fetched on first use.
///
/// # Errors
/// When there is no Python, its packages cannot be had, or a check of the program fails.
pub fn run(kubeconfig: &Path, namespace: &str) -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
    let environment = Command::new(folder.join("environment")).stderr(Stdio::inherit()).output();
    let environment = environment.context("python/environment")?;
    ensure!(environment.status.success(), "python/environment failed ({})", environment.status);
    let python = PathBuf::from(String::from_utf8(environment.stdout)?.trim());
    let output = Command::new(python)
        .arg(folder.join("client.py"))
        .arg(kubeconfig)
        .arg(namespace)
        // Of the program's home nothing is wanted but the packages.
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{said}");
    Ok(())
}
