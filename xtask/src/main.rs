//! Chores of the repository: `cargo xtask <chore>`. `make` runs them; CI runs them with `--check`.

mod crds;
mod defaults;
mod deny;
mod faults;
mod file;
mod fuzz;
mod protobuf;
mod schema;

use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Chores of the repository")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Write the generated files: the CRDs in the chart, the table of faults in the documentation.
    Generate {
        /// Write nothing, fail if a file is not what it would be.
        #[arg(long)]
        check: bool,
    },
    /// Write the bundled schema of Kubernetes' own kinds, as a real API server publishes it.
    Schema {
        /// Write nothing, fail if the file is not what it would be.
        #[arg(long)]
        check: bool,
    },
    /// Record what a real API server makes of objects, for the embedded one to be compared with.
    Defaults {
        /// Write nothing, fail if a record is not what it would be.
        #[arg(long)]
        check: bool,
    },
    /// Write the table that Kubernetes' protobuf is read by, from the sources of its types.
    Protobuf {
        /// Write nothing, fail if the file is not what it would be.
        #[arg(long)]
        check: bool,
    },
    /// Run the fuzz targets and sum up what they found.
    Fuzz {
        /// How long each target runs.
        #[arg(long, default_value_t = 600)]
        seconds: u32,
        /// The targets to run; all of them if none is named.
        targets: Vec<String>,
    },
    /// Break the embedded server in small ways, and see that the conformance suite notices each.
    Faults {
        /// The one to make, by the name of its file in tests/faults; without it, all.
        name: Option<String>,
        /// Make none, fail if one cannot be made or names a case that does not exist.
        #[arg(long, conflicts_with = "name")]
        check: bool,
    },
    /// Refuse dependencies that are banned or under a licence that we cannot take.
    Deny,
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().chore {
        Chore::Generate { check } => {
            crds::generate(check)?;
            faults::generate(check)
        }
        Chore::Schema { check } => schema::bundle(check),
        Chore::Defaults { check } => defaults::record(check),
        Chore::Protobuf { check } => protobuf::table(check),
        Chore::Fuzz { seconds, targets } => fuzz::run(seconds, &targets),
        Chore::Faults { check: true, .. } => faults::check(),
        Chore::Faults { name, .. } => faults::run(name.as_deref()),
        Chore::Deny => deny::check(),
    }
}

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask must lie in the repository").to_owned()
}
