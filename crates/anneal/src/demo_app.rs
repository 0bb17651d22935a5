//! `anneal demo-app`: something to watch, until somebody stops it.

use std::{io::Write, net::SocketAddr};

use anneal_demo::{App, Options, Start};
use anneal_kit::Clock;
use anyhow::{Context, Result, anyhow};
use clap::ValueEnum;
use tokio::net::TcpListener;

use crate::process::{self, Signals};

#[derive(clap::Args)]
#[command(
    after_help = "GraphQL is at /graphql, probes at /livez and /readyz. GET /control tells the state; PATCH \
                  /control/state, PUT /control/phases and PUT or DELETE /control/fault change it. Anybody who reaches \
                  the port may do so."
)]
pub struct Arguments {
    /// Where it listens; port 0 picks a free one.
    #[arg(long, env = "ANNEAL_DEMO_LISTEN", default_value = "127.0.0.1:3085")]
    listen: SocketAddr,
    /// How it begins.
    #[arg(long, env = "ANNEAL_DEMO_START", value_enum, default_value = "synced")]
    start: Begin,
    /// How often a block is added, in seconds.
    #[arg(long, env = "ANNEAL_DEMO_SLOT_SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    slot_seconds: u32,
}

#[derive(Clone, Copy, ValueEnum)]
enum Begin {
    /// In sync.
    Synced,
    /// Alone: it connects, listens, bootstraps and catches up first, in half a minute.
    Cold,
}

pub fn run(arguments: Arguments) -> Result<()> {
    process::log();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(arguments))
}

async fn serve(arguments: Arguments) -> Result<()> {
    let Arguments { listen, start, slot_seconds } = arguments;
    let start = match start {
        Begin::Synced => Start::Synced,
        Begin::Cold => Start::Cold,
    };
    let mut signals = Signals::new()?;
    let hint = "choose another one, or port 0 for any that is free";
    let listener = TcpListener::bind(listen).await;
    let listener = listener.with_context(|| format!("cannot listen on --listen {listen}: {hint}"))?;
    let app = App::new(&Options { start, slot_seconds }, Clock::machine()).map_err(|error| anyhow!(error))?;
    let mut out = std::io::stdout();
    let told = writeln!(out, "GraphQL  http://{}/graphql", listener.local_addr()?).and_then(|()| out.flush());
    told.context("failed to write to standard output")?;
    tokio::select! {
        never = app.serve(listener) => match never {},
        () = signals.next() => Ok(()),
    }
}
