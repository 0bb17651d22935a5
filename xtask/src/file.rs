//! Generated files: written, or compared with what they should be.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};

/// Writes the file, or with `check` fails if it is not what it should be.
pub(crate) fn put(path: &Path, content: &[u8], check: bool) -> Result<()> {
    let shown = path.strip_prefix(crate::root()).unwrap_or(path).display();
    if fs::read(path).is_ok_and(|present| present == content) {
        return Ok(());
    }
    if check {
        bail!("{shown} is out of date: run the command without --check and commit the result");
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
    }
    fs::write(path, content).with_context(|| format!("{shown}"))?;
    println!("wrote {shown}");
    Ok(())
}
