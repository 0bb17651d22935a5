//! A fault: a patch with a header.
//!
//! ```text
//! Fault: An update is taken whatever version it was made from.
//! Topic: update
//! Caught by: update::stale_version_is_a_conflict_and_changes_nothing
//!
//! diff --git …
//! ```

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};

/// Where the patches are.
pub(super) const FOLDER: &str = "tests/faults";

/// What faults may change. Anything else would be no fault of the server.
const SOURCE: &str = "crates/embedded/src/";

#[derive(Debug)]
pub(super) struct Fault {
    /// The name of its file.
    pub name: String,
    pub path: PathBuf,
    /// What the server does wrong, a sentence.
    pub sentence: String,
    pub topic: String,
    /// The cases that must fail under it.
    pub caught_by: Vec<String>,
}

/// Every fault, by name.
pub(super) fn all() -> Result<Vec<Fault>> {
    let folder = crate::root().join(FOLDER);
    let mut faults = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| FOLDER.to_owned())? {
        let path = entry?.path();
        let patch = fs::read_to_string(&path)?;
        faults.push(Fault::read(&path, &patch).with_context(|| format!("{}", path.display()))?);
    }
    faults.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(faults)
}

impl Fault {
    fn read(path: &Path, patch: &str) -> Result<Self> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let name = name.strip_suffix(".patch").context("a fault must be a .patch file")?.to_owned();
        let (header, diff) = patch.split_once("\ndiff --git ").context("there is no diff")?;
        let field = |label: &str| {
            let value = header.lines().find_map(|line| line.strip_prefix(label)?.strip_prefix(": "));
            value
                .map(str::trim)
                .filter(|value| !value.is_empty())
                .with_context(|| format!("no line {label:?}"))
        };
        for line in diff.lines() {
            // Both sides: a fault that made or removed a file would be no slip of a few lines.
            let file = line.strip_prefix("--- ").or_else(|| line.strip_prefix("+++ "));
            let inside = |file: &str| file.get(2..).is_some_and(|file| file.starts_with(SOURCE));
            ensure!(file.is_none_or(inside), "{line}: faults change {SOURCE} only");
        }
        Ok(Self {
            name,
            path: path.to_owned(),
            sentence: field("Fault")?.to_owned(),
            topic: field("Topic")?.to_owned(),
            caught_by: field("Caught by")?.split(", ").map(str::to_owned).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "Fault: It forgets.\nTopic: update\nCaught by: a::b, c::d\n\n\
        diff --git a/crates/embedded/src/x.rs b/crates/embedded/src/x.rs\n\
        --- a/crates/embedded/src/x.rs\n+++ b/crates/embedded/src/x.rs\n";

    #[test]
    fn header_names_what_must_catch_it() {
        let fault = Fault::read(Path::new("tests/faults/it-forgets.patch"), PATCH).unwrap();
        assert_eq!((fault.name.as_str(), fault.sentence.as_str()), ("it-forgets", "It forgets."));
        assert_eq!((fault.topic.as_str(), fault.caught_by), ("update", vec!["a::b".into(), "c::d".into()]));
    }

    #[test]
    fn refuses_a_fault_that_nothing_must_catch_or_that_changes_the_suite() {
        let read = |patch: &str| Fault::read(Path::new("x.patch"), patch).unwrap_err().to_string();
        assert!(read(&PATCH.replace("a::b, c::d", "")).contains("Caught by"));
        assert!(read(&PATCH.replace("+++ b/crates/embedded", "+++ b/tests/conformance")).contains("only"));
    }
}
