//! What every long-running command does as a process: it logs, and it ends when it is told to.

use std::io::IsTerminal;

use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing_subscriber::EnvFilter;

/// Logs to standard error what `ANNEAL_LOG` asks for.
pub fn log() {
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::try_from_env("ANNEAL_LOG").unwrap_or_else(|_| EnvFilter::new("info")))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
}

/// The signals that end the program.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Takes them from here on, instead of the system's own way to end us.
    pub fn new() -> Result<Self> {
        let of = |kind| signal(kind).context("failed to listen for signals");
        Ok(Self { interrupt: of(SignalKind::interrupt())?, terminate: of(SignalKind::terminate())? })
    }

    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
