//! The copy of the tree that faults are put on, and the suite built from it.
//!
//! Both stay below `target/faults` from one run to the next: a file is written only if it differs, so that
//! cargo builds again no more than a fault touches.

use std::{
    collections::BTreeSet,
    fmt,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Output, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use tokio::time::Instant;

use super::fault::Fault;

/// The copy, seen from the root of the repository.
const TREE: &str = "target/faults/tree";
const BUILD: &str = "target/faults/build";
/// Lists what was copied, for the next run to remove what is no longer there.
const COPIED: &str = "target/faults/copied";
/// What the last program said.
const SAID: &str = "target/faults/said";

/// How long a case may take. Cases give up by themselves, after half a minute at most: what takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(90);
/// How often to look whether it has ended.
const GLANCE: Duration = Duration::from_millis(20);

/// What came of a case.
pub(super) enum Outcome {
    Passed,
    /// With the first line of its complaint.
    Failed(String),
    Skipped,
    /// It did not end in time.
    Hung,
    /// The program ended without a verdict: the end of what it said.
    Crashed(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => f.write_str("passes"),
            Self::Failed(why) => write!(f, "fails: {why}"),
            Self::Skipped => f.write_str("does not run on this server, or does not exist"),
            Self::Hung => write!(f, "does not end within {} s", PATIENCE.as_secs()),
            Self::Crashed(last) => write!(f, "has no verdict: {last}"),
        }
    }
}

pub(super) struct Scratch {
    root: PathBuf,
}

impl Scratch {
    /// The copy, brought up to date.
    pub fn new() -> Result<Self> {
        let scratch = Self { root: crate::root() };
        scratch.restore()?;
        Ok(scratch)
    }

    /// Makes the copy what the tree is.
    pub fn restore(&self) -> Result<()> {
        let listed = git(&["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
        let listed = String::from_utf8(listed.stdout).context("file names must be UTF-8")?;
        let files: BTreeSet<&str> =
            listed.split('\0').filter(|file| !file.is_empty() && self.root.join(file).is_file()).collect();
        let tree = self.root.join(TREE);
        for file in &files {
            copy(&self.root.join(file), &tree.join(file)).with_context(|| format!("copying {file}"))?;
        }
        let record = self.root.join(COPIED);
        let before = if record.exists() { fs::read_to_string(&record)? } else { String::new() };
        for file in before.lines().filter(|file| !files.contains(file)) {
            let copied = tree.join(file);
            if copied.exists() {
                fs::remove_file(copied)?;
            }
        }
        fs::write(record, files.into_iter().collect::<Vec<_>>().join("\n"))?;
        Ok(())
    }

    /// Puts a fault on the copy.
    pub fn make(&self, fault: &Fault) -> Result<()> {
        apply(fault, &format!("--directory={TREE}"))
    }

    /// Builds the suite; tells where its program is.
    pub fn build(&self) -> Result<PathBuf> {
        let built = Command::new(env!("CARGO"))
            .args([
                "test",
                "--locked",
                "--package",
                "anneal-conformance",
                "--test",
                "conformance",
                "--no-run",
            ])
            .args(["--message-format", "json-render-diagnostics"])
            .current_dir(self.root.join(TREE))
            .env("CARGO_TARGET_DIR", self.root.join(BUILD))
            // Nobody debugs these programs, and linking them takes half as long.
            .env("CARGO_PROFILE_DEV_DEBUG", "false")
            .env("CARGO_INCREMENTAL", "1")
            .output()
            .context("cargo test --no-run")?;
        if !built.status.success() {
            let words = String::from_utf8_lossy(&built.stderr).into_owned();
            bail!("it does not compile:\n{}", words.trim());
        }
        let messages = String::from_utf8_lossy(&built.stdout).into_owned();
        messages.lines().find_map(suite_in).context("cargo did not say where the suite is")
    }

    /// Runs one case.
    pub fn run(&self, suite: &Path, case: &str) -> Result<Outcome> {
        // Into a file: a pipe that nobody reads would hold the program up.
        let path = self.root.join(SAID);
        let said = File::create(&path)?;
        let mut program = Command::new(suite)
            .args(["--exact", case, "--color", "never"])
            .current_dir(self.root.join(TREE).join("tests/conformance"))
            .env("ANNEAL_TEST_SERVER", "embedded")
            .stdin(Stdio::null())
            .stdout(said.try_clone()?)
            .stderr(said)
            .spawn()
            .with_context(|| format!("running {case}"))?;
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            match program.try_wait()? {
                Some(status) => break status,
                None if Instant::now() > deadline => {
                    program.kill()?;
                    program.wait()?;
                    return Ok(Outcome::Hung);
                }
                None => thread::sleep(GLANCE),
            }
        };
        Ok(verdict(status, &String::from_utf8_lossy(&fs::read(&path)?)))
    }
}

/// Whether a fault could be put on the tree as it is.
pub(super) fn can_be_made(fault: &Fault) -> Result<()> {
    apply(fault, "--check")
}

fn apply(fault: &Fault, how: &str) -> Result<()> {
    let patch = fault.path.to_str().context("paths must be UTF-8")?;
    git(&["apply", how, patch]).context("the patch does not apply")?;
    Ok(())
}

fn git(arguments: &[&str]) -> Result<Output> {
    let output = Command::new("git").args(arguments).current_dir(crate::root()).output().context("git")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(output)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let content = fs::read(from)?;
    if fs::read(to).is_ok_and(|present| present == content) {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(fs::write(to, content)?)
}

/// The suite's program, if a message of cargo's is about it.
fn suite_in(message: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(message).ok()?;
    let is_suite = message["target"]["name"] == "conformance" && message["target"]["kind"][0] == "test";
    message["executable"].as_str().filter(|_| is_suite).map(PathBuf::from)
}

/// What the suite's own summary says. A program that dies has none.
fn verdict(status: ExitStatus, said: &str) -> Outcome {
    let count = |what: &str| {
        let summary = said.lines().find(|line| line.starts_with("test result: "))?;
        let counted = summary.split([';', '.']).find_map(|part| part.trim().strip_suffix(what))?;
        counted.trim().parse::<usize>().ok()
    };
    match (count("passed"), count("failed")) {
        (Some(1), Some(0)) => Outcome::Passed,
        (Some(0), Some(1)) => Outcome::Failed(complaint(said)),
        (Some(0), Some(0)) => Outcome::Skipped,
        _ => Outcome::Crashed(format!("{status}: {}", said.lines().next_back().unwrap_or_default())),
    }
}

/// The first line below a failed case's headline, at most as long as a screen is wide.
fn complaint(said: &str) -> String {
    let mut lines = said.lines().skip_while(|line| !line.starts_with("---- "));
    lines.next();
    lines.next().unwrap_or_default().chars().take(120).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_case_that_ran_has_a_verdict() {
        let judge = |said: &str| verdict(ExitStatus::default(), said);
        let summary = |counts: &str| format!("running 1 test\n\ntest result: ok. {counts}; 0 ignored\n");
        assert!(matches!(judge(&summary("1 passed; 0 failed")), Outcome::Passed));
        assert!(matches!(judge(&summary("0 passed; 0 failed")), Outcome::Skipped));
        assert!(
            matches!(judge("running 1 test\nout of memory\n"), Outcome::Crashed(last) if last.ends_with("memory"))
        );
        let failed = format!("---- a::b ----\nwanted 409, got 200\nmore\n{}", summary("0 passed; 1 failed"));
        assert!(matches!(judge(&failed), Outcome::Failed(why) if why == "wanted 409, got 200"));
    }
}
