//! Seeded faults: mistakes in the embedded server that the conformance suite must notice.
//!
//! A fault is a patch in `tests/faults` with a header that names the cases which must fail under it. Each is put
//! on a scratch copy of the tree, never on the tree itself. Before that, every named case must pass on the copy
//! as it is: a case that is missing, skipped or broken catches nothing.

mod fault;
mod scratch;
mod table;

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};
use tokio::time::Instant;

use fault::Fault;
use scratch::{Outcome, Scratch};
pub(crate) use table::generate;

/// Must pass under every fault: one that breaks whatever is tried would be caught by any case.
const BYSTANDER: &str = "create::fills_in_uid_version_and_time";

/// Checks, without building the server, that every fault can be made and that the cases it names exist.
pub(crate) fn check() -> Result<()> {
    let faults = fault::all()?;
    let cases: BTreeSet<String> =
        anneal_conformance::cases::all().into_iter().map(|case| case.name).collect();
    let mut wrong = Vec::new();
    for fault in &faults {
        if let Err(error) = scratch::can_be_made(fault) {
            wrong.push(format!("{}: {error:#}", fault.name));
        }
        let unknown = fault.caught_by.iter().filter(|case| !cases.contains(*case));
        wrong.extend(unknown.map(|case| format!("{}: there is no case {case}", fault.name)));
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("faults: {} can be made, and the cases that must catch them exist", faults.len());
    Ok(())
}

/// Makes every fault, or the one of that name, and runs the cases that must catch it.
pub(crate) fn run(only: Option<&str>) -> Result<()> {
    let mut faults = fault::all()?;
    if let Some(only) = only {
        faults.retain(|fault| fault.name == only);
        ensure!(!faults.is_empty(), "there is no fault {only}");
    }
    let began = Instant::now();
    let scratch = Scratch::new()?;
    pass_without_a_fault(&scratch, &faults)?;
    let mut missed = Vec::new();
    for fault in &faults {
        let began = Instant::now();
        let caught = caught(&scratch, fault);
        let seconds = began.elapsed().as_secs();
        match caught {
            Ok(words) => println!("caught  {} ({seconds} s)\n{words}", fault.name),
            Err(error) => {
                println!("MISSED  {} ({seconds} s)\n        {error:#}", fault.name);
                missed.push(fault.name.as_str());
            }
        }
    }
    let (caught, all) = (faults.len() - missed.len(), faults.len());
    println!("faults: {caught} of {all} caught in {} s", began.elapsed().as_secs());
    ensure!(missed.is_empty(), "not caught: {}", missed.join(", "));
    Ok(())
}

/// Runs all named cases on the server as it is.
fn pass_without_a_fault(scratch: &Scratch, faults: &[Fault]) -> Result<()> {
    let cases: BTreeSet<&str> =
        faults.iter().flat_map(|fault| &fault.caught_by).map(String::as_str).collect();
    let suite = scratch.build().context("without a fault")?;
    let mut wrong = Vec::new();
    for case in cases.iter().copied().chain([BYSTANDER]) {
        match scratch.run(&suite, case)? {
            Outcome::Passed => {}
            other => wrong.push(format!("{case} {other}")),
        }
    }
    ensure!(wrong.is_empty(), "these must pass without a fault:\n{}", wrong.join("\n"));
    println!("faults: {} cases pass without a fault ({} to make)", cases.len(), faults.len());
    Ok(())
}

/// Makes a fault; tells in which words the cases complained.
fn caught(scratch: &Scratch, fault: &Fault) -> Result<String> {
    scratch.restore()?;
    scratch.make(fault)?;
    let suite = scratch.build()?;
    let mut words = Vec::new();
    for case in &fault.caught_by {
        match scratch.run(&suite, case)? {
            Outcome::Failed(why) => words.push(format!("        by {case}: {why}")),
            other => bail!("{case} {other}"),
        }
    }
    match scratch.run(&suite, BYSTANDER)? {
        Outcome::Passed => Ok(words.join("\n")),
        other => bail!("it breaks more than what it is about: {BYSTANDER} {other}"),
    }
}
