//! kubectl in a namespace of its own, and what it said.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use anneal_harness::{Identity, Kubectl, PATIENCE, PlayedNode, Server, TempFolder, eventually};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tokio::runtime::Handle;

/// A person at a terminal.
pub struct Session {
    kubectl: Kubectl,
    server: Server,
    runtime: Handle,
    /// The namespace in which everything happens unless a command says otherwise.
    pub namespace: String,
    folder: TempFolder,
}

impl Session {
    /// In this namespace.
    ///
    /// # Errors
    /// When no folder can be made for files.
    pub fn new(kubectl: Kubectl, server: Server, runtime: Handle, namespace: String) -> Result<Self> {
        Ok(Self { kubectl, server, runtime, namespace, folder: TempFolder::new()? })
    }

    /// Runs a command that must succeed and must have nothing to complain about; returns standard output.
    /// Arguments are separated by white space: there is no quoting.
    ///
    /// # Errors
    /// When it fails or writes to standard error.
    pub fn ok(&self, line: &str) -> Result<String> {
        self.ok_with(line, "")
    }

    /// The same with standard input.
    ///
    /// # Errors
    /// As [`Session::ok`].
    pub fn ok_with(&self, line: &str, stdin: &str) -> Result<String> {
        let said = self.run(line, stdin)?;
        ensure!(said.code == 0 && said.stderr.is_empty(), "expected plain success: {said}");
        Ok(said.stdout)
    }

    /// Runs a command that must fail; returns standard error.
    ///
    /// # Errors
    /// When it succeeds.
    pub fn fails(&self, line: &str) -> Result<String> {
        self.fails_with(line, "")
    }

    /// The same with standard input.
    ///
    /// # Errors
    /// As [`Session::fails`].
    pub fn fails_with(&self, line: &str, stdin: &str) -> Result<String> {
        let said = self.run(line, stdin)?;
        ensure!(said.code == 1 && !said.stderr.is_empty(), "expected a refusal: {said}");
        Ok(said.stderr)
    }

    /// Runs a command, whatever comes of it.
    ///
    /// # Errors
    /// When kubectl cannot be started.
    pub fn run(&self, line: &str, stdin: &str) -> Result<Said> {
        let mut child = self.command(line).stdin(Stdio::piped()).spawn().context("kubectl")?;
        child.stdin.take().context("kubectl's input")?.write_all(stdin.as_bytes())?;
        Ok(Said::new(line, child.wait_with_output()?))
    }

    /// Runs `kubectl edit` with an editor that changes one text into another.
    ///
    /// # Errors
    /// When kubectl cannot be started.
    pub fn edit(&self, line: &str, from: &str, to: &str) -> Result<Said> {
        let script = format!("#!/bin/sh\nsed 's/{from}/{to}/' \"$1\" >\"$1.new\" && mv \"$1.new\" \"$1\"\n");
        let editor = self.file("editor", &script)?;
        fs::set_permissions(&editor, fs::Permissions::from_mode(0o700))?;
        let output = self.command(line).env("KUBE_EDITOR", &editor).stdin(Stdio::null()).output()?;
        Ok(Said::new(line, output))
    }

    /// Starts a command and reads along.
    ///
    /// # Errors
    /// When kubectl cannot be started.
    pub fn start(&self, line: &str) -> Result<Stream> {
        Stream::new(line, self.command(line).stdin(Stdio::null()).spawn().context("kubectl")?)
    }

    /// Repeats a command until it succeeds and says exactly this.
    ///
    /// # Errors
    /// When it never does.
    pub fn until(&self, line: &str, wanted: &str) -> Result<()> {
        self.repeat(line, |said| said.code == 0 && said.stdout.trim_end() == wanted)
    }

    /// Repeats a command until it succeeds and says this among other things.
    ///
    /// # Errors
    /// When it never does.
    pub fn until_has(&self, line: &str, part: &str) -> Result<()> {
        self.repeat(line, |said| said.code == 0 && said.stdout.contains(part))
    }

    fn repeat(&self, line: &str, is_enough: impl Fn(&Said) -> bool) -> Result<()> {
        self.runtime.block_on(eventually(format!("kubectl {line}"), async || {
            Ok(is_enough(&self.run(line, "")?).then_some(()))
        }))
    }

    /// An object as JSON.
    ///
    /// # Errors
    /// When kubectl does not find it.
    pub fn object(&self, what: &str) -> Result<Value> {
        Ok(serde_json::from_str(&self.ok(&format!("get {what} -o json"))?)?)
    }

    /// One value of an object, by JSONPath.
    ///
    /// # Errors
    /// When kubectl does not find it.
    pub fn value(&self, what: &str, path: &str) -> Result<String> {
        self.ok(&format!("get {what} -o jsonpath={{{path}}}"))
    }

    /// Writes a file into the session's folder.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn file(&self, name: &str, content: &str) -> Result<PathBuf> {
        let path = self.folder.path().join(name);
        fs::write(&path, content)?;
        Ok(path)
    }

    /// Reports every pending pod of the namespace as running and ready, unless a node does that.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn play_pods(&self) -> Result<()> {
        if self.server.node {
            return Ok(());
        }
        self.play(async |node, pod| node.run(pod, true).await)
    }

    /// Reports every pending pod of the namespace as ended well.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn end_pods(&self) -> Result<()> {
        self.play(async |node, pod| node.end(pod, 0).await)
    }

    fn play(&self, act: impl AsyncFn(&PlayedNode, &str) -> Result<Value>) -> Result<()> {
        let pending = self.ok("get pods --field-selector status.phase=Pending -o name")?;
        self.runtime.block_on(async {
            let node = PlayedNode::new(&self.server.http(&Identity::Admin)?, &self.namespace).await?;
            for pod in pending.lines().filter_map(|line| line.strip_prefix("pod/")) {
                act(&node, pod).await?;
            }
            Ok(())
        })
    }

    fn command(&self, line: &str) -> Command {
        let mut command = self.kubectl.command();
        command
            .args(["--namespace", &self.namespace])
            .args(line.split_whitespace())
            // What the server serves is remembered by address, and addresses come back.
            .env("KUBECACHEDIR", self.folder.path().join("cache"))
            // A fifth of the short life of a kubectl would go into collecting its garbage.
            .envs([("GOGC", "off"), ("GOMEMLIMIT", "256MiB")])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

/// What a command said.
#[derive(Clone, Debug)]
pub struct Said {
    line: String,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The exit code.
    pub code: i32,
}

impl Said {
    fn new(line: &str, output: Output) -> Self {
        Self {
            line: line.to_owned(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: code(output.status),
        }
    }
}

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { line, stdout, stderr, code } = self;
        write!(f, "kubectl {line} ended with {code}\n{stdout}{stderr}")
    }
}

fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or(-1)
}

/// A command that goes on, line by line. It ends with this value.
pub struct Stream {
    line: String,
    child: Child,
    lines: Receiver<String>,
}

impl Stream {
    fn new(line: &str, mut child: Child) -> Result<Self> {
        let (sender, lines) = channel();
        let stdout = child.stdout.take().context("kubectl's output")?;
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // Nobody listens any more: the stream was dropped.
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { line: line.to_owned(), child, lines })
    }

    /// The next line, which must contain each of these words.
    ///
    /// # Errors
    /// When it does not, or none comes.
    pub fn expect(&self, words: &[&str]) -> Result<String> {
        let next = self.lines.recv_timeout(PATIENCE);
        let next = next.with_context(|| format!("kubectl {}: no line with {words:?}", self.line))?;
        ensure!(words.iter().all(|word| next.contains(word)), "expected {words:?} in {next:?}");
        Ok(next)
    }

    /// The next line, if one comes soon.
    pub fn try_next(&self) -> Option<String> {
        self.lines.recv_timeout(Duration::from_millis(100)).ok()
    }

    /// Waits for its end, which must be a success, and returns the lines that were left.
    ///
    /// # Errors
    /// When it fails.
    pub fn end(mut self) -> Result<String> {
        let rest: Vec<String> = self.lines.iter().collect();
        let status = self.child.wait()?;
        ensure!(status.success(), "kubectl {} ended with {}: {rest:?}", self.line, code(status));
        Ok(rest.join("\n"))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a text contains each of these.
///
/// # Errors
/// When it lacks one; the error shows the text.
pub(crate) fn has(text: &str, parts: &[&str]) -> Result<()> {
    for part in parts {
        ensure!(text.contains(part), "expected {part:?} in:\n{text}");
    }
    Ok(())
}

/// Whether two texts are the same.
///
/// # Errors
/// When they are not; the error shows both.
pub(crate) fn same(got: &str, wanted: &str) -> Result<()> {
    ensure!(got.trim_end() == wanted, "expected {wanted:?}, got {got:?}");
    Ok(())
}

/// The cells of a table's row by what its first cell is; the header's is its first title.
///
/// # Errors
/// When there is no such row.
pub(crate) fn row<'a>(table: &'a str, first: &str) -> Result<Vec<&'a str>> {
    let rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut found = rows.filter(|cells| cells.first() == Some(&first));
    found.next().with_context(|| format!("no row {first:?} in:\n{table}"))
}
