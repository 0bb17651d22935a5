//! Random writes by several managers, judged.
//!
//! [`diff`] sends the same to two servers and compares codes, objects and owners: any two, for example
//! upstream's and ours. [`shadow`] sends it to one and compares its answers with what our own rules for
//! patches and ownership make of the object before. Both are replayable: a [`Difference`] names its seed, the
//! steps that led there, and both sides.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code: a broken assumption should end the run")]

mod compare;
mod drive;
mod normal;
mod overlay;
mod shadow;
mod step;
mod subjects;

use std::{fmt, ops::Range};

use anneal_harness::Server;
use anyhow::Result;
use futures::{StreamExt, TryStreamExt, stream};

use crate::{drive::Target, step::Step, subjects::Subject};

/// How many sequences are run between two lines that tell how far it is.
const PROGRESS_EVERY: u64 = 1000;

/// A sequence mostly waits for a server, so several run at once. Each has an object of its own.
const CONCURRENT_SEQUENCES: usize = 6;

/// What to run.
pub struct Plan {
    /// A sequence for each.
    pub seeds: Range<u64>,
    /// Only this kind.
    pub kind: Option<String>,
    /// Stop after so many differences.
    pub most: usize,
}

/// A sequence after which two sides disagree.
pub struct Difference {
    pub seed: u64,
    pub kind: &'static str,
    /// All steps up to the first that made a difference.
    steps: Vec<Step>,
    found: Vec<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {} differs after {} steps", self.seed, self.kind, self.steps.len())?;
        self.steps.iter().try_for_each(|step| writeln!(f, "  {step}"))?;
        self.found.iter().try_for_each(|found| writeln!(f, "! {found}"))
    }
}

/// Runs the same sequences on two servers.
///
/// # Errors
/// When a server does not answer.
pub async fn diff(plan: &Plan, one: &Server, other: &Server) -> Result<Vec<Difference>> {
    let (one, other) = (Target::new(one).await?, Target::new(other).await?);
    let found = run(plan, async |seed, subject| compare::run(seed, subject, &one, &other).await).await?;
    one.clean_up().await?;
    other.clean_up().await?;
    Ok(found)
}

/// Runs sequences on a server and by our own rules.
///
/// # Errors
/// When the server does not answer.
pub async fn shadow(plan: &Plan, server: &Server) -> Result<Vec<Difference>> {
    let (target, model) = (Target::new(server).await?, shadow::Model::new());
    let found = run(plan, async |seed, subject| shadow::run(seed, subject, &target, &model).await).await?;
    target.clean_up().await?;
    Ok(found)
}

async fn run(
    plan: &Plan,
    sequence: impl AsyncFn(u64, &Subject) -> Result<Option<(Vec<Step>, Vec<String>)>>,
) -> Result<Vec<Difference>> {
    let mut subjects = subjects::all();
    subjects.retain(|subject| plan.kind.as_deref().is_none_or(|kind| kind == subject.kind));
    anyhow::ensure!(!subjects.is_empty(), "no such kind");
    let one = async |seed: u64| -> Result<Option<Difference>> {
        let subject = &subjects[usize::try_from(seed)? % subjects.len()];
        let found = sequence(seed, subject).await?;
        let done = seed + 1 - plan.seeds.start;
        if done.is_multiple_of(PROGRESS_EVERY) {
            println!("soak: {done} of {} sequences", plan.seeds.end - plan.seeds.start);
        }
        Ok(found.map(|(steps, found)| Difference { seed, kind: subject.kind, steps, found }))
    };
    let all = stream::iter(plan.seeds.clone()).map(one).buffered(CONCURRENT_SEQUENCES);
    all.try_filter_map(async |difference| Ok(difference)).take(plan.most).try_collect().await
}
