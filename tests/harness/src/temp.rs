//! Folders that go when they are no longer needed.

use std::{
    fs,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use anyhow::{Context, Result};

/// A folder of our own, removed with all that is in it when this value goes.
#[derive(Debug)]
pub struct TempFolder {
    path: PathBuf,
}

impl TempFolder {
    /// A new one, which nobody else may look into.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new() -> Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("anneal-test-{}-{count}", std::process::id()));
        let made = fs::DirBuilder::new().mode(0o700).create(&path);
        made.with_context(|| format!("making the folder {}", path.display()))?;
        Ok(Self { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            eprintln!("removing {}: {error}", self.path.display());
        }
    }
}
