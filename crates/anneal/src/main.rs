//! The `anneal` program: arguments to parts, nothing else.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use anneal_types::crd;
use anyhow::Context;
use clap::{Parser, Subcommand};

mod demo_app;
mod health;
mod process;
mod up;

/// Ships, runs, watches, breaks and heals applications on Kubernetes.
#[derive(Parser)]
#[command(version, about, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a cluster in this process: a Kubernetes API without Kubernetes.
    Up(up::Arguments),
    /// Run a small GraphQL application whose state can be set, for examples and tests.
    DemoApp(demo_app::Arguments),
    /// Print the custom resource definitions as YAML, ready for `kubectl apply --server-side -f -`.
    Crds,
    /// Print the version.
    Version,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("anneal: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<()> {
    let text = match Arguments::parse().command {
        Command::Up(arguments) => return up::run(arguments),
        Command::DemoApp(arguments) => return demo_app::run(arguments),
        Command::Crds => crds()?,
        Command::Version => format!("anneal {}\n", env!("CARGO_PKG_VERSION")),
    };
    match io::stdout().lock().write_all(text.as_bytes()) {
        // The reader has seen enough, as in `anneal crds | head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("failed to write to standard output"),
    }
}

/// All CRDs as one stream of YAML documents.
fn crds() -> anyhow::Result<String> {
    let mut text = String::new();
    for crd in crd::all() {
        text.push_str("---\n");
        text.push_str(&serde_saphyr::to_string(&crd)?);
    }
    Ok(text)
}
