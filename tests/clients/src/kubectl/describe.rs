//! `kubectl describe`, which puts a page together from several requests.

use anyhow::{Result, ensure};

use super::{Check, Session, checks, session::has};

pub(super) const CHECKS: &[Check] = checks!("describe":
    API => [
        describe_shows_a_config_map_with_its_data,
        describe_keeps_a_secret,
        describe_shows_a_pod_with_its_events,
        describe_shows_a_service,
        describe_shows_a_namespace,
    ],
    CONTROLLERS => [
        describe_shows_a_deployment,
    ],
);

fn describe_shows_a_config_map_with_its_data(session: &Session) -> Result<()> {
    session.ok("create configmap colours --from-literal=sky=blue")?;
    let page = session.ok("describe configmap colours")?;
    has(
        &page,
        &["Name:         colours", &format!("Namespace:    {}", session.namespace), "sky:\n----\nblue"],
    )?;
    has(&page, &["Events:  <none>"])
}

fn describe_keeps_a_secret(session: &Session) -> Result<()> {
    session.ok("create secret generic words --from-literal=pass=opensesame")?;
    let page = session.ok("describe secret words")?;
    has(&page, &["Type:  Opaque", "pass:  10 bytes"])?;
    ensure!(!page.contains("opensesame"), "{page}");
    Ok(())
}

fn describe_shows_a_pod_with_its_events(session: &Session) -> Result<()> {
    session.ok("run lone --image=registry.invalid/lone:1 --restart=Never --port=8080 --env=COLOUR=blue")?;
    let uid = session.value("pod lone", ".metadata.uid")?;
    let event = format!(
        "apiVersion: v1\nkind: Event\nmetadata: {{name: lone.1}}\ntype: Warning\nreason: Torn\nmessage: it tore\n\
         count: 1\nfirstTimestamp: 2026-01-01T00:00:00Z\nlastTimestamp: 2026-01-01T00:00:00Z\n\
         source: {{component: the-test}}\n\
         involvedObject: {{apiVersion: v1, kind: Pod, namespace: {}, name: lone, uid: {uid}}}\n",
        session.namespace
    );
    session.ok_with("create -f -", &event)?;
    let page = session.ok("describe pod lone")?;
    has(
        &page,
        &["Service Account:  default", "Labels:           run=lone", "Image:      registry.invalid/lone:1"],
    )?;
    has(&page, &["COLOUR:  blue", "QoS Class:", "BestEffort", "Events:", "Torn", "the-test  it tore"])
}

fn describe_shows_a_deployment(session: &Session) -> Result<()> {
    session.ok("create deployment web --image=registry.invalid/web:1 --replicas=2")?;
    session.ok("wait deployment web --for=jsonpath={.status.unavailableReplicas}=2 --timeout=30s")?;
    let page = session.ok("describe deployment web")?;
    has(&page, &["Selector:               app=web", "2 desired | 2 updated | 2 total | 0 available"])?;
    has(&page, &["StrategyType:           RollingUpdate", "25% max unavailable, 25% max surge"])?;
    has(&page, &["Conditions:", "Progressing", "NewReplicaSet:   web-"])
}

fn describe_shows_a_service(session: &Session) -> Result<()> {
    session.ok("create service clusterip web --tcp=80:8080")?;
    let page = session.ok("describe service web")?;
    has(&page, &["Selector:", "app=web", "Type:", "ClusterIP", "TargetPort:", "8080/TCP", "Endpoints:"])
}

fn describe_shows_a_namespace(session: &Session) -> Result<()> {
    let page = session.ok(&format!("describe namespace {}", session.namespace))?;
    has(&page, &["Status:       Active", "anneal.dev/test=true"])?;
    // Of kinds that the server does not have, the page says nothing.
    let kinds = session.ok("api-resources --namespaced -o name")?;
    let said = |kind: &str, line: &str| page.contains(line) == kinds.lines().any(|name| name == kind);
    ensure!(said("resourcequotas", "No resource quota."), "{page}");
    ensure!(said("limitranges", "No LimitRange resource."), "{page}");
    Ok(())
}
