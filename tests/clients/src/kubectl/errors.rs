//! What people are told when something is wrong.

use anyhow::Result;

use super::{
    Check, Session, checks,
    session::{has, same},
};

pub(super) const CHECKS: &[Check] = checks!("errors":
    API => [
        missing_objects_are_named,
        second_creation_is_refused,
        misspelt_fields_are_pointed_at,
        wrong_types_are_pointed_at,
        faults_of_a_manifest_are_listed_by_field,
        unknown_kinds_are_named,
        missing_namespaces_are_named,
        immutable_fields_are_named,
    ],
);

fn missing_objects_are_named(session: &Session) -> Result<()> {
    let wanted = "Error from server (NotFound): deployments.apps \"web\" not found";
    same(&session.fails("get deployment web")?, wanted)?;
    has(&session.fails("describe deployment web")?, &[wanted])?;
    has(&session.fails("scale deployment web --replicas=1")?, &["deployments.apps \"web\" not found"])
}

fn second_creation_is_refused(session: &Session) -> Result<()> {
    session.ok("create configmap colours")?;
    let refusal = session.fails("create configmap colours")?;
    same(&refusal, "error: failed to create configmap: configmaps \"colours\" already exists")
}

fn misspelt_fields_are_pointed_at(session: &Session) -> Result<()> {
    let manifest = "{apiVersion: v1, kind: ConfigMap, metadata: {name: colours}, dat: {sky: blue}}";
    for command in ["create", "apply"] {
        let refusal = session.fails_with(&format!("{command} -f -"), manifest)?;
        has(&refusal, &["Error from server (BadRequest)", "strict decoding error: unknown field \"dat\""])?;
    }
    let said = session.run("create --validate=warn -f -", manifest)?;
    has(&said.stderr, &["Warning: unknown field \"dat\""])?;
    same(&said.stdout, "configmap/colours created")
}

fn wrong_types_are_pointed_at(session: &Session) -> Result<()> {
    let manifest = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: many}}";
    let refusal = session.fails_with("create -f -", manifest)?;
    has(
        &refusal,
        &["BadRequest", "Deployment in version \"v1\" cannot be handled as a Deployment", "replicas"],
    )
}

fn faults_of_a_manifest_are_listed_by_field(session: &Session) -> Result<()> {
    let manifest = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: -1, \
                    selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: other}}, \
                    spec: {containers: [{name: Web, image: a}]}}}}";
    let refusal = session.fails_with("create -f -", manifest)?;
    has(&refusal, &["The Deployment \"web\" is invalid:", "* spec.replicas: Invalid value: -1"])?;
    has(&refusal, &["`selector` does not match template `labels`", "spec.template.spec.containers[0].name"])?;
    let refusal = session.fails("create configmap Not_A_Name")?;
    has(&refusal, &["metadata.name: Invalid value: \"Not_A_Name\"", "RFC 1123 subdomain"])
}

fn unknown_kinds_are_named(session: &Session) -> Result<()> {
    let manifest = "{apiVersion: stable.example.com/v1, kind: Unicorn, metadata: {name: a}}";
    let refusal = session.fails_with("apply -f -", manifest)?;
    has(
        &refusal,
        &[
            "no matches for kind \"Unicorn\" in version \"stable.example.com/v1\"",
            "ensure CRDs are installed",
        ],
    )?;
    // The same in a group that there is.
    let manifest = "{apiVersion: apps/v1, kind: Unicorn, metadata: {name: a}}";
    let refusal = session.fails_with("apply -f -", manifest)?;
    has(&refusal, &["no matches for kind \"Unicorn\" in version \"apps/v1\""])
}

fn missing_namespaces_are_named(session: &Session) -> Result<()> {
    let refusal = session.fails("create configmap colours -n no-such-place")?;
    has(&refusal, &["namespaces \"no-such-place\" not found"])
}

fn immutable_fields_are_named(session: &Session) -> Result<()> {
    session.ok("create deployment web --image=registry.invalid/web:1 --replicas=0")?;
    let patch = r#"[{"op":"replace","path":"/spec/selector/matchLabels","value":{"a":"b"}}]"#;
    let refusal = session.fails(&format!("patch deployment web --type=json -p {patch}"))?;
    has(&refusal, &["The Deployment \"web\" is invalid", "spec.selector", "field is immutable"])
}
