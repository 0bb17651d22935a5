//! Our kinds as people meet them: through kubectl.

use std::fmt::Write;

use anneal_harness::{Identity, Kubectl, Server, eventually};
use anneal_types::crd;
use anyhow::{Result, ensure};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use tokio::sync::{Mutex, OnceCell};

/// A check: its name as a sentence, and what it does with kubectl in a namespace of its own.
pub type Check = (&'static str, fn(&Kubectl, &str) -> Result<()>);

/// All checks.
pub const CHECKS: &[Check] = &[
    ("kubectl::applies_every_example_without_a_warning", applies_every_example),
    ("kubectl::explains_every_kind", explains_every_kind),
    ("kubectl::lists_every_kind_with_its_columns", lists_every_kind),
    ("kubectl::scales_an_application", scales_an_application),
    ("kubectl::says_what_to_do_with_credentials", says_what_to_do_with_credentials),
];

/// Runs a check in a namespace of its own, with our CRDs installed.
///
/// # Errors
/// When kubectl fails or does not say what it should.
pub async fn run(check: &Check, kubectl: &Kubectl, server: &Server) -> Result<()> {
    static INSTALLED: OnceCell<()> = OnceCell::const_new();
    // One after another: some examples belong to the cluster, where each has but one name.
    static TURN: Mutex<()> = Mutex::const_new(());
    let _turn = TURN.lock().await;
    INSTALLED.get_or_try_init(|| install(kubectl, server)).await?;
    let namespace = server.temp_namespace().await?;
    let result = check.1(kubectl, &namespace.name);
    result.and(namespace.clean_up().await)
}

async fn install(kubectl: &Kubectl, server: &Server) -> Result<()> {
    let mut stream = String::new();
    for crd in crd::all() {
        writeln!(stream, "---\n{}", serde_json::to_string(&crd)?)?;
    }
    let said = kubectl.run(&["apply", "--server-side", "--force-conflicts", "-f", "-"], &stream)?;
    ensure!(!said.contains("Warning"), "{said}");
    // Established is said a moment before the kind is served, and another before it is explained.
    let http = server.http(&Identity::Admin)?;
    for crd in crd::all() {
        let spec = &crd.spec;
        let path = format!("apis/{}/{}", spec.group, spec.versions[0].name);
        eventually(format!("{} to be served", full_name(&crd)), || async {
            let list = http.get(&format!("/{path}/{}", spec.names.plural)).await?;
            let schema = http.get(&format!("/openapi/v3/{path}")).await?;
            let explained = schema.text().contains(&format!("\"kind\":\"{}\"", spec.names.kind));
            Ok((list.status == 200 && schema.status == 200 && explained).then_some(()))
        })
        .await?;
    }
    Ok(())
}

fn applies_every_example(kubectl: &Kubectl, namespace: &str) -> Result<()> {
    apply_examples(kubectl, namespace)?;
    let versions = || {
        let path = "jsonpath={.items[*].metadata.resourceVersion}";
        kubectl.run(&["get", "--namespace", namespace, "-f", &examples(), "-o", path], "")
    };
    let first = versions()?;
    // A second time nothing changes, though kubectl says so only where no list has defaults inside.
    apply_examples(kubectl, namespace)?;
    let second = versions()?;
    ensure!(first == second && first.split(' ').count() == crd::all().len(), "{first}, then {second}");
    Ok(())
}

fn apply_examples(kubectl: &Kubectl, namespace: &str) -> Result<()> {
    let said = kubectl.run(&["apply", "--namespace", namespace, "-f", &examples()], "")?;
    ensure!(!said.contains("Warning"), "{said}");
    Ok(())
}

fn examples() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples").to_owned()
}

fn explains_every_kind(kubectl: &Kubectl, _: &str) -> Result<()> {
    for crd in crd::all() {
        for part in ["spec", "status"] {
            let said = kubectl.run(&["explain", &format!("{}.{part}", full_name(&crd))], "")?;
            ensure!(said.contains("FIELDS:") && !said.contains("<no description>"), "{said}");
        }
    }
    Ok(())
}

fn lists_every_kind(kubectl: &Kubectl, namespace: &str) -> Result<()> {
    apply_examples(kubectl, namespace)?;
    for crd in crd::all() {
        let said = kubectl.run(&["get", &full_name(&crd), "--namespace", namespace], "")?;
        let columns = crd.spec.versions[0].additional_printer_columns.iter().flatten();
        let shown = columns.filter(|column| column.priority.unwrap_or_default() == 0);
        let wanted: Vec<String> =
            ["NAME".to_owned()].into_iter().chain(shown.map(|column| column.name.to_uppercase())).collect();
        let header = said.lines().next().unwrap_or_default();
        let got: Vec<&str> = header.split("   ").map(str::trim).filter(|title| !title.is_empty()).collect();
        ensure!(got == wanted, "{}: {said}", crd.spec.names.kind);
    }
    Ok(())
}

fn scales_an_application(kubectl: &Kubectl, namespace: &str) -> Result<()> {
    apply_examples(kubectl, namespace)?;
    let inside = |arguments: &[&str]| kubectl.run(&[arguments, &["--namespace", namespace]].concat(), "");
    inside(&["scale", "app", "web", "--replicas", "5"])?;
    let replicas = inside(&["get", "app", "web", "-o", "jsonpath={.spec.replicas}"])?;
    ensure!(replicas == "5", "{replicas}");
    Ok(())
}

fn says_what_to_do_with_credentials(kubectl: &Kubectl, namespace: &str) -> Result<()> {
    apply_examples(kubectl, namespace)?;
    let patch = r#"{"spec":{"password":"s3cret"}}"#;
    let arguments =
        ["patch", "ksr", "delete-a-shop-pod", "--type", "merge", "-p", patch, "--namespace", namespace];
    let said = match kubectl.run(&arguments, "") {
        Ok(said) => said,
        Err(error) => error.root_cause().to_string(),
    };
    let answer = said.split_once(patch).map_or(said.as_str(), |(_, answer)| answer);
    ensure!(answer.contains("Secret") && answer.contains("spec.registryName"), "{answer}");
    ensure!(!answer.contains("s3cret"), "{answer}");
    Ok(())
}

fn full_name(crd: &CustomResourceDefinition) -> String {
    crd.metadata.name.clone().unwrap_or_default()
}
