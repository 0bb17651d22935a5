//! Runs the suite: `make test` against the embedded API server, `make test-kube` against upstream's.
//!
//! `ANNEAL_TEST_SERVER=kube` chooses upstream's; without it, the embedded one runs in this process.

use std::process::ExitCode;

use anneal_conformance::{
    cases, kubectl,
    saboteur::{self, Sabotage},
};
use anneal_embedded::{Cluster, Options, User};
use anneal_harness::{ControlPlane, Identity, Kubectl, Server};
use anyhow::{Context, Result, bail};
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::{Handle, Runtime};

/// Cases mostly wait for the server, so more of them run at once than there are cores.
const CONCURRENT_CASES: usize = 12;

fn main() -> Result<ExitCode> {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(CONCURRENT_CASES);
    let runtime = Runtime::new()?;
    match std::env::var("ANNEAL_TEST_SERVER").as_deref() {
        _ if arguments.list => Ok(libtest_mimic::run(&arguments, trials(None)).exit_code()),
        Ok("kube") => {
            let control_plane = ControlPlane::start()?;
            let server = runtime.block_on(control_plane.server())?;
            let kubectl = Some(control_plane.kubectl());
            let code = run(&arguments, &On { server, runtime: runtime.handle().clone(), kubectl });
            control_plane.stop().context("stopping the control plane")?;
            Ok(code)
        }
        Ok("embedded") | Err(_) => {
            let server = runtime.block_on(embedded())?;
            Ok(run(&arguments, &On { server, runtime: runtime.handle().clone(), kubectl: None }))
        }
        Ok(other) => bail!("ANNEAL_TEST_SERVER is {other:?}: only \"kube\" and \"embedded\" are known"),
    }
}

fn run(arguments: &Arguments, on: &On) -> ExitCode {
    let conclusion = libtest_mimic::run(arguments, trials(Some(on)));
    let ran = conclusion.num_passed + conclusion.num_failed;
    println!("conformance: {ran} ran on {}, {} skipped", on.server, conclusion.num_ignored);
    conclusion.exit_code()
}

/// The embedded server, in this process and in memory.
async fn embedded() -> Result<Server> {
    let cluster = Cluster::start(Options::default()).await?;
    let connect = move |who: &Identity| {
        Ok(match who {
            Identity::Admin => cluster.client(User::admin()),
            Identity::Token(token) => cluster.client_from_outside(Some(token)),
            Identity::Anonymous => cluster.client_from_outside(None),
        })
    };
    let mut server = Server::new("embedded", true, false, connect).await?;
    server.disposable = true;
    Ok(server)
}

/// What trials run on.
#[derive(Clone)]
struct On {
    server: Server,
    runtime: Handle,
    /// Not there without a server that kubectl can reach.
    kubectl: Option<Kubectl>,
}

fn trials(on: Option<&On>) -> Vec<Trial> {
    let cases = cases::all().into_iter().map(|case| {
        let runs = on.is_some_and(|on| on.server.satisfies(&case.needs));
        let (name, needs) = (case.name.clone(), case.needs.to_string());
        trial(&name, &needs, on.filter(|_| runs), move |on| on.runtime.block_on(case.run(&on.server)))
    });
    let checks = kubectl::CHECKS.iter().map(|check| {
        let run = move |on: &On| {
            let kubectl = on.kubectl.as_ref().context("there is no kubectl")?;
            on.runtime.block_on(kubectl::run(check, kubectl, &on.server))
        };
        trial(check.0, "kubectl", on.filter(|on| on.kubectl.is_some()), run)
    });
    let sabotages = Sabotage::ALL.into_iter().map(|sabotage| {
        let name = format!("saboteur::{}", sabotage.sentence());
        trial(&name, "suite", on, move |on| {
            let noticed_by = on.runtime.block_on(saboteur::judge(sabotage, &on.server))?;
            if !noticed_by.is_empty() {
                println!("saboteur {sabotage:?}: noticed by {}", noticed_by.join(", "));
            }
            Ok(())
        })
    });
    cases.chain(checks).chain(sabotages).collect()
}

/// A trial that is ignored, by name, where there is nothing to run it on.
fn trial(
    name: &str,
    kind: &str,
    on: Option<&On>,
    run: impl FnOnce(&On) -> Result<()> + Send + 'static,
) -> Trial {
    let ignored = on.is_none();
    let on = on.cloned();
    let run = move || {
        let on = on.expect("an ignored trial must not run");
        run(&on).map_err(|error| Failed::from(format!("{error:#}")))
    };
    Trial::test(name, run).with_kind(kind).with_ignored_flag(ignored)
}
