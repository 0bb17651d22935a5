//! Runs foreign clients: `make test-kube` on upstream's API server and on ours.
//!
//! `ANNEAL_TEST_SERVER` is `kube`, `embedded` (the program that `ANNEAL_BIN` names, run as `anneal up`) or
//! `both`. Without it every check is reported as ignored, so that nobody mistakes silence for success.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anneal_clients::{
    kubectl::{self, Session, VERSIONS},
    python,
};
use anneal_harness::{Anneal, ControlPlane, Data, Kubectl, Needs, Server, kube_programs};
use anyhow::{Context, Result, bail};
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::{Handle, Runtime};

/// kubectl costs more than what it asks for: a few more than there are cores.
const CONCURRENT_CHECKS: usize = 4;

fn main() -> Result<ExitCode> {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(CONCURRENT_CHECKS);
    let (kube, embedded) = match std::env::var("ANNEAL_TEST_SERVER").as_deref() {
        Ok("kube") => (true, false),
        Ok("embedded") => (false, true),
        Ok("both") => (true, true),
        Err(_) => (false, false),
        Ok(other) => {
            bail!("ANNEAL_TEST_SERVER is {other:?}: only \"kube\", \"embedded\" and \"both\" are known")
        }
    };
    if arguments.list || !(kube || embedded) {
        return Ok(libtest_mimic::run(&arguments, trials("kube", None)).exit_code());
    }
    let runtime = Runtime::new()?;
    let mut trials_of_all = Vec::new();
    let programs = kube_programs()?;
    let control_plane = if kube { Some(ControlPlane::start()?) } else { None };
    if let Some(control_plane) = &control_plane {
        let server = runtime.block_on(control_plane.server())?;
        let on = On::new(server, control_plane.kubeconfig(), &programs, &runtime);
        trials_of_all.extend(trials("kube", Some(&on)));
    }
    let mut anneal = if embedded { Some(start_anneal()?) } else { None };
    if let Some(anneal) = &mut anneal {
        let server = runtime.block_on(anneal.server())?;
        let on = On::new(server, anneal.kubeconfig(), &programs, &runtime);
        trials_of_all.extend(trials("embedded", Some(&on)));
    }
    let conclusion = libtest_mimic::run(&arguments, trials_of_all);
    let (passed, failed) = (conclusion.num_passed, conclusion.num_failed);
    let skipped = conclusion.num_ignored;
    println!("clients: {} ran, {passed} passed, {failed} failed, {skipped} skipped", passed + failed);
    if let Some(control_plane) = control_plane {
        control_plane.stop().context("stopping the control plane")?;
    }
    Ok(conclusion.exit_code())
}

fn start_anneal() -> Result<Anneal> {
    let program = std::env::var_os("ANNEAL_BIN").context("ANNEAL_BIN must name the program `anneal`")?;
    Anneal::start(Path::new(&program), &Data::Ephemeral)
}

/// What checks run on.
#[derive(Clone)]
struct On {
    server: Server,
    kubeconfig: PathBuf,
    programs: PathBuf,
    runtime: Handle,
}

impl On {
    fn new(server: Server, kubeconfig: &Path, programs: &Path, runtime: &Runtime) -> Self {
        Self {
            server,
            kubeconfig: kubeconfig.to_owned(),
            programs: programs.to_owned(),
            runtime: runtime.handle().clone(),
        }
    }

    /// Runs a check in a namespace of its own.
    fn in_namespace(&self, check: impl FnOnce(&str) -> Result<()>) -> Result<()> {
        let namespace = self.runtime.block_on(self.server.temp_namespace())?;
        let result = check(&namespace.name);
        result.and(self.runtime.block_on(namespace.clean_up()))
    }

    fn kubectl(&self, program: &str, check: kubectl::Check) -> Result<()> {
        let kubectl = Kubectl::new(&self.programs.join(program), &self.kubeconfig);
        self.in_namespace(|namespace| {
            let session =
                Session::new(kubectl, self.server.clone(), self.runtime.clone(), namespace.to_owned())?;
            (check.run)(&session)
        })
    }
}

/// The trials of one server; ignored, by name, where there is none or it lacks what they need.
fn trials(server: &str, on: Option<&On>) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (version, program) in VERSIONS {
        for check in kubectl::checks_of_all_areas() {
            let name = format!("{server}::kubectl_{version}::{}", check.name);
            trials.push(trial(&name, &check.needs, on, move |on| on.kubectl(program, check)));
        }
    }
    let python = |on: &On| on.in_namespace(|namespace| python::run(&on.kubeconfig, namespace));
    trials.push(trial(&format!("{server}::python"), &Needs::API, on, python));
    trials
}

fn trial(
    name: &str,
    needs: &Needs,
    on: Option<&On>,
    run: impl FnOnce(&On) -> Result<()> + Send + 'static,
) -> Trial {
    let on = on.filter(|on| on.server.satisfies(needs)).cloned();
    let ignored = on.is_none();
    let run = move || {
        let on = on.expect("an ignored trial must not run");
        run(&on).map_err(|error| Failed::from(format!("{error:#}")))
    };
    Trial::test(name, run).with_kind(needs.to_string()).with_ignored_flag(ignored)
}
