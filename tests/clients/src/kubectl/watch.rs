//! Following changes as they happen.

use anyhow::{Result, ensure};

use super::{
    Check, Session, checks,
    session::{has, same},
};

pub(super) const CHECKS: &[Check] = checks!("watch":
    API => [
        get_watch_shows_rows_as_they_change,
        get_watch_only_begins_with_now,
        wait_sees_a_value_come,
        wait_sees_an_object_go,
        wait_gives_up_in_time,
    ],
    CONTROLLERS => [
        wait_sees_a_condition_come,
    ],
);

fn get_watch_shows_rows_as_they_change(session: &Session) -> Result<()> {
    session.ok("create configmap colours")?;
    session.ok("label configmap colours ours=yes")?;
    let watch = session.start("get configmaps -l ours=yes --watch --output-watch-events")?;
    watch.expect(&["EVENT", "NAME", "DATA", "AGE"])?;
    watch.expect(&["ADDED", "colours", " 0 "])?;
    session.ok(r#"patch configmap colours -p {"data":{"sky":"blue"}}"#)?;
    watch.expect(&["MODIFIED", "colours", " 1 "])?;
    // Leaving the selection is leaving the list.
    session.ok("label configmap colours ours-")?;
    watch.expect(&["DELETED", "colours"])?;
    session.ok("label configmap colours ours=yes")?;
    watch.expect(&["ADDED", "colours"])?;
    session.ok("delete configmap colours")?;
    watch.expect(&["DELETED", "colours"])?;
    Ok(())
}

fn get_watch_only_begins_with_now(session: &Session) -> Result<()> {
    session.ok("create configmap colours --from-literal=sky=blue")?;
    let names = "jsonpath={.metadata.name}={.data.sky}{\"\\n\"}";
    let watch = session.start(&format!("get configmap colours --watch -o {names}"))?;
    watch.expect(&["colours=blue"])?;
    session.ok(r#"patch configmap colours -p {"data":{"sky":"grey"}}"#)?;
    watch.expect(&["colours=grey"])?;
    let later = session.start(&format!("get configmap colours --watch-only -o {names}"))?;
    // It may begin at any moment from now on: the sky changes until it has seen a change, and never the past.
    for shade in 0.. {
        session.ok(&format!(r#"patch configmap colours -p {{"data":{{"sky":"shade{shade}"}}}}"#))?;
        match later.try_next() {
            Some(line) => {
                has(&line, &["colours=shade"])?;
                break;
            }
            None => ensure!(shade < 100, "a hundred changes and none was shown"),
        }
    }
    Ok(())
}

fn wait_sees_a_condition_come(session: &Session) -> Result<()> {
    session.ok("create deployment web --image=registry.invalid/web:1 --replicas=1")?;
    let wait = session.start("wait deployment web --for=condition=Available --timeout=30s")?;
    session.ok("wait pods -l app=web --for=create --timeout=30s")?;
    session.play_pods()?;
    wait.expect(&["deployment.apps/web condition met"])?;
    wait.end()?;
    Ok(())
}

fn wait_sees_a_value_come(session: &Session) -> Result<()> {
    let wait = session.start("wait configmap colours --for=create --timeout=30s")?;
    session.ok("create configmap colours --from-literal=sky=blue")?;
    wait.expect(&["configmap/colours condition met"])?;
    let wait = session.start("wait configmap colours --for=jsonpath={.data.sky}=grey --timeout=30s")?;
    session.ok(r#"patch configmap colours -p {"data":{"sky":"grey"}}"#)?;
    wait.expect(&["configmap/colours condition met"])?;
    wait.end()?;
    Ok(())
}

fn wait_sees_an_object_go(session: &Session) -> Result<()> {
    session.ok("create configmap colours")?;
    let wait = session.start("wait configmap colours --for=delete --timeout=30s")?;
    session.ok("delete configmap colours")?;
    let said = wait.end()?;
    // Gone before it looked, there is nothing to tell.
    ensure!(said.is_empty() || said == "configmap/colours condition met", "{said}");
    Ok(())
}

fn wait_gives_up_in_time(session: &Session) -> Result<()> {
    session.ok("create configmap colours --from-literal=sky=blue")?;
    let refusal = session.fails("wait configmap colours --for=jsonpath={.data.sky}=grey --timeout=1s")?;
    same(&refusal, "error: timed out waiting for the condition on configmaps/colours")
}
