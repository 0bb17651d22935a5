//! `make bench`: what an API server costs, side by side with upstream's, against the budgets of the design.
//!
//! Each server is started, measured and stopped before the next one, on the same machine in the same run, by
//! clients in this process: kube's, over HTTP/1.1 and TLS on loopback, a connection each. The CPU counted is that
//! of the server's processes alone. The table ends on standard output, each figure as a line of JSON in a file.

mod arm;
mod fan_out;
mod figures;
mod lists;
mod load;
mod objects;
mod process;
mod report;

use std::{fs, path::PathBuf};

use anneal_harness::{Data, TempFolder, kube_programs};
use anyhow::Result;
use clap::Parser;
use serde_json::json;

use crate::{
    arm::Arm,
    figures::{Figures, Who},
};

/// Measures Kubernetes API servers beside each other.
#[derive(Parser)]
struct Arguments {
    /// The program `anneal`, release-built; without it only upstream's server is measured.
    #[arg(long, env = "ANNEAL_BIN")]
    anneal: Option<PathBuf>,
    /// Leaves upstream's server out: no ratios then.
    #[arg(long)]
    without_kube: bool,
    /// Where the figures go, a line of JSON each.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/bench.json"))]
    out: PathBuf,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let machine = process::machine();
    eprintln!("bench: {machine}");
    let mut figures = Figures::default();
    if !arguments.without_kube {
        // Built now, so that the first start is not the build.
        kube_programs()?;
        measure(Who::Kube, Arm::kube().await?, &mut figures).await?;
    }
    if let Some(program) = &arguments.anneal {
        measure(
            Who::Memory,
            middle_start(async |_| Arm::anneal(program, Data::Ephemeral).await).await?,
            &mut figures,
        )
        .await?;
        let folder = TempFolder::new()?;
        let start = async |data: usize| {
            Arm::anneal(program, Data::Durable(folder.path().join(data.to_string()))).await
        };
        measure(Who::Durable, middle_start(start).await?, &mut figures).await?;
        // Again, on what the measurement left on disk.
        let arm = start(STARTS - 1).await?;
        figures.add(Who::Durable, figures::START_FULL, arm.started_in.as_secs_f64() * 1e3);
    }
    let machine = json!({ "machine": machine });
    fs::write(&arguments.out, format!("{machine}\n{}", figures.json_lines()))?;
    print!("{}", report::table(&figures));
    println!("figures: {}", arguments.out.canonicalize()?.display());
    Ok(())
}

/// How often ours is started: the middle of these counts, since one alone is a matter of luck.
const STARTS: usize = 3;

/// Starts a server some times, each time on data of its own, and leaves the last one running.
async fn middle_start(start: impl AsyncFn(usize) -> Result<Arm>) -> Result<Arm> {
    let mut times = Vec::new();
    for data in 0..STARTS - 1 {
        times.push(start(data).await?.started_in);
    }
    let mut last = start(STARTS - 1).await?;
    times.push(last.started_in);
    times.sort_unstable();
    last.started_in = times[STARTS / 2];
    Ok(last)
}

/// Takes every figure of a server and stops it.
async fn measure(who: Who, arm: Arm, figures: &mut Figures) -> Result<()> {
    figures.add(who, figures::START, arm.started_in.as_secs_f64() * 1e3);
    eprintln!("bench: {}: started", who.name());
    arm.settle().await?;
    figures.add(who, figures::START_RSS, arm.memory()?.resident_mb);
    load::measure(&arm, who, figures).await?;
    let memory = arm.memory()?;
    figures.add(who, figures::WRITTEN_RSS, memory.resident_mb);
    figures.add(who, figures::WRITTEN_ANONYMOUS, memory.anonymous_mb);
    lists::measure(&arm, who, figures).await?;
    fan_out::measure(&arm, who, figures).await
}
