//! Runs the suite: `make test-kube` against upstream's API server.
//!
//! `ANNEAL_TEST_SERVER=kube` names the server. Without one every case is reported as ignored, so that
//! nobody mistakes silence for success.

use std::process::ExitCode;

use anneal_conformance::{
    Case, cases, kubectl,
    saboteur::{self, Sabotage},
};
use anneal_harness::{ControlPlane, Kubectl, Server};
use anyhow::{Context, Result, bail};
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Runtime;

/// Cases mostly wait for the server, so more of them run at once than there are cores.
const CONCURRENT_CASES: usize = 12;

fn main() -> Result<ExitCode> {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(CONCURRENT_CASES);
    let runtime = Runtime::new()?;
    match std::env::var("ANNEAL_TEST_SERVER").as_deref() {
        Ok("kube") if !arguments.list => {
            let control_plane = ControlPlane::start()?;
            let server = runtime.block_on(control_plane.server())?;
            let mut trials = trials(Some((&server, &runtime)));
            trials.extend(kubectl(&control_plane.kubectl(), &server, &runtime));
            let conclusion = libtest_mimic::run(&arguments, trials);
            let ran = conclusion.num_passed + conclusion.num_failed;
            println!("conformance: {ran} ran on {server}, {} skipped", conclusion.num_ignored);
            control_plane.stop().context("stopping the control plane")?;
            Ok(conclusion.exit_code())
        }
        Ok("kube") | Err(_) => {
            let conclusion = libtest_mimic::run(&arguments, trials(None));
            Ok(conclusion.exit_code())
        }
        Ok(other) => bail!("ANNEAL_TEST_SERVER is {other:?}: only \"kube\" is known"),
    }
}

fn trials(on: Option<(&Server, &Runtime)>) -> Vec<Trial> {
    let cases = cases::all().into_iter().map(|case| trial(case, on));
    let sabotages = Sabotage::ALL.into_iter().map(|sabotage| saboteur(sabotage, on));
    cases.chain(sabotages).collect()
}

fn trial(case: Case, on: Option<(&Server, &Runtime)>) -> Trial {
    let runs = on.is_some_and(|(server, _)| server.satisfies(&case.needs));
    let on = on.map(|(server, runtime)| (server.clone(), runtime.handle().clone()));
    let (name, needs) = (case.name.clone(), case.needs.to_string());
    let run = move || {
        let (server, runtime) = on.expect("an ignored case must not run");
        runtime.block_on(case.run(&server)).map_err(|error| Failed::from(format!("{error:#}")))
    };
    Trial::test(name, run).with_kind(needs).with_ignored_flag(!runs)
}

/// Our kinds through kubectl, where there is one for the server.
fn kubectl(kubectl: &Kubectl, server: &Server, runtime: &Runtime) -> Vec<Trial> {
    let trial = |check: &'static kubectl::Check| {
        let (kubectl, server, runtime) = (kubectl.clone(), server.clone(), runtime.handle().clone());
        let run = move || {
            runtime
                .block_on(kubectl::run(check, &kubectl, &server))
                .map_err(|e| Failed::from(format!("{e:#}")))
        };
        Trial::test(check.0, run).with_kind("kubectl")
    };
    kubectl::CHECKS.iter().map(trial).collect()
}

/// The suite under sabotage: it passes if a case fails.
fn saboteur(sabotage: Sabotage, on: Option<(&Server, &Runtime)>) -> Trial {
    let on = on.map(|(server, runtime)| (server.clone(), runtime.handle().clone()));
    let ignored = on.is_none();
    let run = move || {
        let (server, runtime) = on.expect("an ignored trial must not run");
        let noticed_by = runtime
            .block_on(saboteur::judge(sabotage, &server))
            .map_err(|e| Failed::from(format!("{e:#}")))?;
        if sabotage != Sabotage::Nothing {
            println!("saboteur {sabotage:?}: noticed by {}", noticed_by.join(", "));
        }
        Ok(())
    };
    Trial::test(format!("saboteur::{}", sabotage.sentence()), run)
        .with_kind("suite")
        .with_ignored_flag(ignored)
}
