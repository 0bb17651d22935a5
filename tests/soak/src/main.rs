//! Runs the sweeps against upstream's API server, which it starts and stops.
//!
//! It prints the seeds it used, and fails if there is a difference.

use anneal_embedded::{Cluster, Options, Selection, User};
use anneal_harness::{ControlPlane, Identity, Server};
use anneal_kit::Clock;
use anneal_soak::{Plan, diff, shadow};
use anyhow::{Result, bail};
use clap::{Parser, ValueEnum};

#[derive(Clone, Copy, ValueEnum)]
enum Mode {
    /// Upstream's server and the embedded one, which runs in this process.
    Diff,
    /// Upstream's server twice, which shows that what differs by nature is left out.
    Twice,
    /// Upstream's server and our own rules for patches and ownership.
    Shadow,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Diff => "diff",
            Self::Twice => "twice",
            Self::Shadow => "shadow",
        }
    }
}

#[derive(Parser)]
struct Arguments {
    mode: Mode,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many sequences; each has its own seed.
    #[arg(long, default_value_t = 100)]
    runs: u64,
    /// Only this kind.
    #[arg(long)]
    kind: Option<String>,
    /// How many differences to show before giving up.
    #[arg(long, default_value_t = 1)]
    failures: usize,
}

#[tokio::main]
async fn main() -> Result<()> {
    let Arguments { mode, seed, runs, kind, failures } = Arguments::parse();
    let plan = Plan { seeds: seed..seed + runs, kind, most: failures };
    let (clock, name) = (Clock::machine(), mode.name());
    let begun = clock.now();
    let plane = ControlPlane::start_quiet()?;
    let server = plane.server().await?;
    let differences = match mode {
        Mode::Diff => diff(&plan, &server, &embedded().await?).await?,
        Mode::Twice => diff(&plan, &server, &server).await?,
        Mode::Shadow => shadow(&plan, &server).await?,
    };
    plane.stop()?;
    for difference in &differences {
        println!("=== {difference}");
    }
    if !differences.is_empty() {
        bail!("soak {name}: {} of {runs} sequences from seed {seed} differ", differences.len());
    }
    let seconds = clock.now().duration_since(begun).as_secs();
    println!("soak {name}: {runs} sequences from seed {seed}, no difference ({seconds} s)");
    Ok(())
}

/// The embedded server, in memory; alone, so that nobody writes but the sequences.
async fn embedded() -> Result<Server> {
    let options = Options { controllers: Selection::none(), ..Options::default() };
    let cluster = Cluster::start(options).await?;
    let connect = move |who: &Identity| {
        Ok(match who {
            Identity::Admin => cluster.client(User::admin()),
            Identity::Token(token) => cluster.client_from_outside(Some(token)),
            Identity::Anonymous => cluster.client_from_outside(None),
        })
    };
    let mut server = Server::new("embedded", false, false, connect).await?;
    server.disposable = true;
    Ok(server)
}
