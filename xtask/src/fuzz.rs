//! Runs the fuzz targets of `fuzz/`, each for a time, and sums up.
//!
//! They are built with the stable compiler: coverage comes from LLVM's own pass. What was found to reach new code is
//! kept below `target/fuzz` and is where the next run begins. A run ends with its first finding.

mod seeds;

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
};

use anyhow::{Context, Result, bail, ensure};

/// What makes a program tell libFuzzer where it has been.
const RUSTFLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares";

/// Deep enough for what nests to exhaust any stack. What costs the square of its length is for unit tests: inputs that
/// are long enough to show it would leave time for little else.
const MAX_LENGTH: usize = 64 * 1024;
/// Seconds. On an idle machine no input of that length takes a tenth of one.
const TIMEOUT: u32 = 10;
/// Memory of one process, and of one allocation.
const MAX_MEMORY_MB: u32 = 1024;
/// The stack of a thread of the server, in KiB.
const STACK_KB: u32 = 2048;

/// What came of a target.
struct Outcome {
    name: String,
    executions: String,
    coverage: String,
    /// What ended it before its time, if anything.
    finding: Option<String>,
}

/// Runs these targets, or all.
pub(crate) fn run(seconds: u32, wanted: &[String]) -> Result<()> {
    let known = targets()?;
    for name in wanted {
        ensure!(known.contains(name), "there is no target {name}, but {}", known.join(", "));
    }
    let programs = build()?;
    let chosen = known.iter().filter(|name| wanted.is_empty() || wanted.contains(name));
    let outcomes = chosen.map(|name| fuzz(name, &programs, seconds)).collect::<Result<Vec<_>>>()?;
    println!("{:<12} {:>12} {:>9}  findings", "target", "executions", "coverage");
    for outcome in &outcomes {
        let finding = outcome.finding.as_deref().unwrap_or("none");
        println!("{:<12} {:>12} {:>9}  {finding}", outcome.name, outcome.executions, outcome.coverage);
    }
    let found = outcomes.iter().filter(|outcome| outcome.finding.is_some()).count();
    if found > 0 {
        bail!("{found} of {} targets found something", outcomes.len());
    }
    Ok(())
}

/// The names of the targets, in order.
fn targets() -> Result<Vec<String>> {
    let folder = crate::root().join("fuzz/src/bin");
    let entries = fs::read_dir(&folder).with_context(|| format!("{}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry?.path().file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// Builds all targets and tells where they are.
fn build() -> Result<PathBuf> {
    let version = Command::new("rustc").arg("-vV").output().context("rustc")?;
    let version = String::from_utf8(version.stdout).context("rustc -vV")?;
    let host =
        version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc must name its host")?;
    let folder = crate::root().join("target/fuzz/build");
    // Naming the host keeps the flags away from build scripts.
    let status = Command::new(env!("CARGO"))
        .args(["build", "--locked", "--release", "--target", host])
        .current_dir(crate::root().join("fuzz"))
        .env("RUSTFLAGS", RUSTFLAGS)
        .env("CARGO_TARGET_DIR", &folder)
        .status()
        .context("cargo build")?;
    ensure!(status.success(), "the fuzz targets could not be built");
    Ok(folder.join(host).join("release"))
}

fn fuzz(name: &str, programs: &Path, seconds: u32) -> Result<Outcome> {
    let folder = crate::root().join("target/fuzz");
    let (corpus, artifacts) = (folder.join("corpus").join(name), folder.join("artifacts"));
    for folder in [&corpus, &artifacts] {
        fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
    }
    seeds::write(name, &corpus)?;
    let log = folder.join(format!("{name}.log"));
    println!("{name}: {seconds} seconds, log in {}", log.display());
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("ulimit -s {STACK_KB} && exec \"$0\" \"$@\"")])
        .arg(programs.join(name))
        .args([
            format!("-max_total_time={seconds}"),
            format!("-timeout={TIMEOUT}"),
            format!("-max_len={MAX_LENGTH}"),
            format!("-rss_limit_mb={MAX_MEMORY_MB}"),
            format!("-malloc_limit_mb={}", MAX_MEMORY_MB / 4),
            format!("-artifact_prefix={}/{name}-", artifacts.display()),
            "-print_final_stats=1".to_owned(),
        ]);
    let dictionary = crate::root().join(format!("fuzz/dictionaries/{}.dict", dictionary(name)));
    if dictionary.exists() {
        command.arg(format!("-dict={}", dictionary.display()));
    }
    let out = File::create(&log).with_context(|| format!("{}", log.display()))?;
    let status = command.arg(&corpus).stdout(out.try_clone()?).stderr(out).status().context("sh")?;
    let log = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
    Ok(outcome(name, &log, status))
}

/// The words that a target's inputs are made of.
fn dictionary(name: &str) -> &str {
    match name {
        "apply" | "body" | "kind" => "object",
        "strategic" => "patch",
        own => own,
    }
}

fn outcome(name: &str, log: &str, status: ExitStatus) -> Outcome {
    let after = |mark: &str| {
        let rest = log.rsplit_once(mark)?.1;
        rest.split_whitespace().next().map(str::to_owned)
    };
    // What has no artifact, such as a stack that was too small, ends without words.
    let finding =
        (!status.success()).then(|| after("Test unit written to ").unwrap_or_else(|| status.to_string()));
    Outcome {
        name: name.to_owned(),
        executions: after("stat::number_of_executed_units:").unwrap_or_default(),
        coverage: after(" cov: ").unwrap_or_default(),
        finding,
    }
}

#[cfg(test)]
mod tests {
    use std::{os::unix::process::ExitStatusExt, process::ExitStatus};

    use super::outcome;

    #[test]
    fn outcome_is_read_from_the_log() {
        let log =
            "#8 pulse  cov: 10 ft: 12\n#9 DONE   cov: 11 ft: 13 corp: 4\nstat::number_of_executed_units: 9\n";
        let good = outcome("a", log, ExitStatus::from_raw(0));
        assert_eq!((good.executions.as_str(), good.coverage.as_str(), good.finding), ("9", "11", None));
        let log = "Test unit written to target/a-crash-1\n";
        let bad = outcome("a", log, ExitStatus::from_raw(77 << 8));
        assert_eq!(bad.finding.as_deref(), Some("target/a-crash-1"));
        let overflow = outcome("a", "", ExitStatus::from_raw(11));
        assert!(overflow.finding.is_some_and(|finding| finding.contains("signal: 11")));
    }
}
