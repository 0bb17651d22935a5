//! Rollouts, on a played node where there is none.

use anyhow::{Result, ensure};

use super::{
    Check, Session, checks,
    session::{has, row, same},
};

pub(super) const CHECKS: &[Check] = checks!("workloads":
    API => [
        rollout_pause_holds_and_resume_lets_go,
    ],
    CONTROLLERS => [
        rollout_status_follows_to_the_end,
        rollout_restart_makes_new_pods,
        rollout_history_and_undo_go_back,
        get_pods_shows_what_runs,
        job_is_seen_to_complete,
    ],
);

/// A Deployment whose pods all run.
fn running(session: &Session, replicas: u32) -> Result<()> {
    session.ok(&format!("create deployment web --image=registry.invalid/web:1 --replicas={replicas}"))?;
    let made =
        format!("wait deployment web --for=jsonpath={{.status.updatedReplicas}}={replicas} --timeout=30s");
    session.ok(&made)?;
    session.play_pods()?;
    has(&session.ok("rollout status deployment/web --timeout=30s")?, &["successfully rolled out"])
}

fn rollout_status_follows_to_the_end(session: &Session) -> Result<()> {
    session.ok("create deployment web --image=registry.invalid/web:1 --replicas=2")?;
    let status = session.start("rollout status deployment/web --timeout=30s")?;
    session.ok("wait deployment web --for=jsonpath={.status.updatedReplicas}=2 --timeout=30s")?;
    session.play_pods()?;
    let said = status.end()?;
    has(&said, &["deployment \"web\" successfully rolled out"])?;
    let table = session.ok("get deployment web")?;
    ensure!(row(&table, "web")?[..4] == ["web", "2/2", "2", "2"], "{table}");
    Ok(())
}

fn rollout_restart_makes_new_pods(session: &Session) -> Result<()> {
    running(session, 1)?;
    let before = session.ok("get pods -o name")?;
    same(&session.ok("rollout restart deployment/web")?, "deployment.apps/web restarted")?;
    let status = session.start("rollout status deployment/web --timeout=30s")?;
    session.ok("wait deployment web --for=jsonpath={.status.replicas}=2 --timeout=30s")?;
    session.play_pods()?;
    has(&status.end()?, &["successfully rolled out"])?;
    let after = session.ok("get pods --field-selector status.phase=Running -o name")?;
    ensure!(after != before, "{after}");
    Ok(())
}

fn rollout_history_and_undo_go_back(session: &Session) -> Result<()> {
    session.ok("create deployment web --image=registry.invalid/web:1 --replicas=0")?;
    session.ok("rollout status deployment/web --timeout=30s")?;
    session.ok("set image deployment/web web=registry.invalid/web:2")?;
    session.ok("rollout status deployment/web --timeout=30s")?;
    let table = session.ok("rollout history deployment/web")?;
    ensure!(row(&table, "1")? == ["1", "<none>"] && row(&table, "2")? == ["2", "<none>"], "{table}");
    has(&session.ok("rollout history deployment/web --revision=1")?, &["registry.invalid/web:1"])?;
    same(&session.ok("rollout undo deployment/web")?, "deployment.apps/web rolled back")?;
    same(
        &session.value("deployment web", ".spec.template.spec.containers[0].image")?,
        "registry.invalid/web:1",
    )
}

fn rollout_pause_holds_and_resume_lets_go(session: &Session) -> Result<()> {
    session.ok("create deployment web --image=registry.invalid/web:1 --replicas=0")?;
    same(&session.ok("rollout pause deployment/web")?, "deployment.apps/web paused")?;
    same(&session.value("deployment web", ".spec.paused")?, "true")?;
    has(&session.fails("rollout pause deployment/web")?, &["already paused"])?;
    has(&session.fails("rollout restart deployment/web")?, &["can't restart paused deployment"])?;
    same(&session.ok("rollout resume deployment/web")?, "deployment.apps/web resumed")
}

fn get_pods_shows_what_runs(session: &Session) -> Result<()> {
    running(session, 1)?;
    let table = session.ok("get pods -l app=web")?;
    ensure!(row(&table, "NAME")? == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"], "{table}");
    let cells: Vec<&str> = table.lines().nth(1).unwrap_or_default().split_whitespace().collect();
    ensure!(cells[1..4] == ["1/1", "Running", "0"], "{table}");
    let wide = session.ok("get pods -l app=web -o wide")?;
    has(&wide, &["IP", "NODE", "NOMINATED NODE", "READINESS GATES"])
}

fn job_is_seen_to_complete(session: &Session) -> Result<()> {
    session.ok("create job once --image=registry.invalid/once:1")?;
    session.ok("wait pods -l job-name=once --for=create --timeout=30s")?;
    let wait = session.start("wait job once --for=condition=complete --timeout=30s")?;
    session.end_pods()?;
    wait.expect(&["job.batch/once condition met"])?;
    let table = session.ok("get job once")?;
    ensure!(row(&table, "once")?[..3] == ["once", "Complete", "1/1"], "{table}");
    Ok(())
}
