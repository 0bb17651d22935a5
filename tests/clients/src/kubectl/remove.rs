//! Deleting.

use anyhow::{Result, ensure};

use super::{
    Check, Session, checks,
    session::{has, same},
};

pub(super) const CHECKS: &[Check] = checks!("remove":
    API => [
        delete_tells_what_went,
        delete_takes_a_selector_or_all,
        delete_waits_for_finalizers,
    ],
    CONTROLLERS => [
        delete_of_a_deployment_takes_its_replica_sets_along,
        delete_may_leave_what_is_owned,
        delete_of_a_namespace_empties_it,
    ],
);

fn delete_tells_what_went(session: &Session) -> Result<()> {
    session.ok("create configmap colours")?;
    let said = session.ok("delete configmap colours")?;
    // Newer ones add where it was.
    has(&said, &["configmap \"colours\" deleted"])?;
    same(
        &session.fails("delete configmap colours")?,
        "Error from server (NotFound): configmaps \"colours\" not found",
    )?;
    same(&session.ok("delete configmap colours --ignore-not-found")?, "")
}

fn delete_takes_a_selector_or_all(session: &Session) -> Result<()> {
    for (name, tier) in [("a", "front"), ("b", "back"), ("c", "front")] {
        session.ok(&format!("create secret generic {name}"))?;
        session.ok(&format!("label secret {name} tier={tier}"))?;
    }
    let said = session.ok("delete secrets -l tier=front")?;
    ensure!(said.lines().count() == 2, "{said}");
    same(&session.ok("get secrets -o name")?, "secret/b")?;
    session.ok("delete secrets --all")?;
    same(&session.ok("get secrets -o name")?, "")
}

fn delete_waits_for_finalizers(session: &Session) -> Result<()> {
    session.ok("create configmap held")?;
    session.ok(r#"patch configmap held -p {"metadata":{"finalizers":["anneal.dev/held"]}}"#)?;
    let delete = session.start("delete configmap held --timeout=30s")?;
    delete.expect(&["configmap \"held\" deleted"])?;
    session.ok("wait configmap held --for=jsonpath={.metadata.deletionTimestamp} --timeout=30s")?;
    session.ok(r#"patch configmap held --type=merge -p {"metadata":{"finalizers":null}}"#)?;
    delete.end()?;
    same(&session.ok("get configmap held --ignore-not-found")?, "")
}

fn delete_of_a_deployment_takes_its_replica_sets_along(session: &Session) -> Result<()> {
    session.ok("create deployment web --image=registry.invalid/web:1 --replicas=0")?;
    session.ok("wait replicaset -l app=web --for=create --timeout=30s")?;
    let name = session.ok("get replicaset -l app=web -o name")?;
    session.ok("delete deployment web --cascade=foreground")?;
    same(&session.ok(&format!("get {} --ignore-not-found", name.trim()))?, "")
}

fn delete_may_leave_what_is_owned(session: &Session) -> Result<()> {
    session.ok("create deployment web --image=registry.invalid/web:1 --replicas=0")?;
    session.ok("wait replicaset -l app=web --for=create --timeout=30s")?;
    let name = session.ok("get replicaset -l app=web -o name")?;
    session.ok("delete deployment web --cascade=orphan")?;
    same(&session.value(name.trim(), ".metadata.ownerReferences")?, "")
}

fn delete_of_a_namespace_empties_it(session: &Session) -> Result<()> {
    let other = format!("{}-more", session.namespace);
    same(&session.ok(&format!("create namespace {other}"))?, &format!("namespace/{other} created"))?;
    session.ok(&format!("create configmap colours -n {other}"))?;
    let said = session.run(&format!("delete namespace {other} --timeout=30s"), "")?;
    ensure!(said.code == 0, "{said}");
    has(&said.stdout, &[&format!("namespace \"{other}\" deleted")])?;
    same(&session.ok(&format!("get namespace {other} --ignore-not-found"))?, "")
}
