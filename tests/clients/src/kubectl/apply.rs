//! Desired state: apply by the client and by the server, and the difference to it.

use anyhow::{Result, ensure};

use super::{
    Check, Session, checks,
    session::{has, same},
};

pub(super) const CHECKS: &[Check] = checks!("apply":
    API => [
        apply_creates_configures_and_leaves_alone,
        apply_drops_what_the_manifest_no_longer_says,
        apply_leaves_what_it_never_said,
        apply_merges_the_lists_of_a_deployment,
        apply_by_the_server_twice_changes_nothing,
        apply_by_the_server_explains_a_conflict,
        apply_by_the_server_takes_over_from_the_client,
        apply_takes_a_list,
        apply_prunes_by_label,
        apply_on_trial_writes_nothing,
        diff_tells_what_apply_would_do,
    ],
);

fn colours(data: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: colours}}\ndata: {data}\n")
}

fn web(container: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  replicas: 0\n  \
         selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    \
         spec: {{containers: [{{name: web, image: 'registry.invalid/web:1', {container}}}]}}\n"
    )
}

fn version(session: &Session, what: &str) -> Result<String> {
    session.value(what, ".metadata.resourceVersion")
}

fn apply_creates_configures_and_leaves_alone(session: &Session) -> Result<()> {
    let apply = |data: &str| session.ok_with("apply -f -", &colours(data));
    same(&apply("{sky: blue}")?, "configmap/colours created")?;
    let first = version(session, "cm colours")?;
    same(&apply("{sky: blue}")?, "configmap/colours unchanged")?;
    same(&version(session, "cm colours")?, &first)?;
    same(&apply("{sky: grey}")?, "configmap/colours configured")?;
    ensure!(version(session, "cm colours")? != first, "a change must make a new version");
    has(&session.ok("apply view-last-applied configmap colours")?, &["sky: grey"])
}

fn apply_drops_what_the_manifest_no_longer_says(session: &Session) -> Result<()> {
    session.ok_with("apply -f -", &colours("{sky: blue, grass: green}"))?;
    session.ok_with("apply -f -", &colours("{sky: blue}"))?;
    same(&session.value("cm colours", ".data")?, r#"{"sky":"blue"}"#)
}

fn apply_leaves_what_it_never_said(session: &Session) -> Result<()> {
    session.ok_with("apply -f -", &colours("{sky: blue}"))?;
    session.ok(r#"patch configmap colours -p {"data":{"grass":"green"}}"#)?;
    session.ok_with("apply -f -", &colours("{sky: grey}"))?;
    same(&session.value("cm colours", ".data")?, r#"{"grass":"green","sky":"grey"}"#)
}

fn apply_merges_the_lists_of_a_deployment(session: &Session) -> Result<()> {
    session.ok_with("apply -f -", &web("env: [{name: A, value: '1'}, {name: B, value: '2'}]"))?;
    session.ok("set env deployment/web C=3")?;
    same(
        &session.ok_with("apply -f -", &web("env: [{name: B, value: '4'}]"))?,
        "deployment.apps/web configured",
    )?;
    let names =
        session.value("deployment web", ".spec.template.spec.containers[0].env[*]['name','value']")?;
    let mut found: Vec<&str> = names.split(' ').collect();
    found.sort_unstable();
    ensure!(found == ["3", "4", "B", "C"], "{names}");
    // kubectl does not see that nothing would change, for the entry it did not apply; the server does.
    let before = version(session, "deployment web")?;
    session.ok_with("apply -f -", &web("env: [{name: B, value: '4'}]"))?;
    same(&version(session, "deployment web")?, &before)
}

fn apply_by_the_server_twice_changes_nothing(session: &Session) -> Result<()> {
    let apply = |data: &str| session.ok_with("apply --server-side -f -", &colours(data));
    same(&apply("{sky: blue, grass: green}")?, "configmap/colours serverside-applied")?;
    let first = version(session, "cm colours")?;
    same(&apply("{sky: blue, grass: green}")?, "configmap/colours serverside-applied")?;
    same(&version(session, "cm colours")?, &first)?;
    apply("{sky: grey}")?;
    same(&session.value("cm colours", ".data")?, r#"{"sky":"grey"}"#)
}

fn apply_by_the_server_explains_a_conflict(session: &Session) -> Result<()> {
    session.ok_with("apply --server-side --field-manager=first -f -", &colours("{sky: blue}"))?;
    let second = "apply --server-side --field-manager=second -f -";
    let refusal = session.fails_with(second, &colours("{sky: grey}"))?;
    has(
        &refusal,
        &["Apply failed with 1 conflict: conflict with \"first\": .data.sky", "--force-conflicts"],
    )?;
    session.ok_with(&format!("{second} --force-conflicts"), &colours("{sky: grey}"))?;
    same(&session.value("cm colours", ".data.sky")?, "grey")
}

fn apply_by_the_server_takes_over_from_the_client(session: &Session) -> Result<()> {
    session.ok_with("apply -f -", &colours("{sky: blue, grass: green}"))?;
    session.ok_with("apply --server-side -f -", &colours("{sky: blue}"))?;
    same(&session.value("cm colours", ".data")?, r#"{"sky":"blue"}"#)
}

fn apply_takes_a_list(session: &Session) -> Result<()> {
    let list = |data: &str| {
        let colours = format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: colours}}, {data}}}");
        let words = "{apiVersion: v1, kind: Secret, metadata: {name: words}}";
        format!("{{apiVersion: v1, kind: List, items: [{colours}, {words}]}}")
    };
    let refusal = session.fails_with("apply -f -", &list("dat: {sky: blue}"))?;
    has(&refusal, &["unknown field \"dat\""])?;
    let said = session.ok_with("apply -f -", &list("data: {sky: blue}"))?;
    has(&said, &["configmap/colours created", "secret/words "])?;
    let said = session.ok_with("apply -f -", &list("data: {sky: blue}"))?;
    same(&said, "configmap/colours unchanged\nsecret/words unchanged")
}

fn apply_prunes_by_label(session: &Session) -> Result<()> {
    let manifest = |name: &str| {
        format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, labels: {{set: ours}}}}\n")
    };
    let apply = "apply -l set=ours --prune --prune-allowlist=core/v1/ConfigMap -f -";
    session.ok_with(apply, &(manifest("a") + &manifest("b")))?;
    let said = session.ok_with(apply, &manifest("a"))?;
    has(&said, &["configmap/a unchanged", "configmap/b pruned"])?;
    same(&session.ok("get cm -l set=ours -o name")?, "configmap/a")
}

fn apply_on_trial_writes_nothing(session: &Session) -> Result<()> {
    let said = session.ok_with("apply --dry-run=server -f -", &colours("{sky: blue}"))?;
    same(&said, "configmap/colours created (server dry run)")?;
    let said = session.ok_with("apply --dry-run=client -f -", &colours("{sky: blue}"))?;
    same(&said, "configmap/colours created (dry run)")?;
    same(&session.ok("get cm colours --ignore-not-found")?, "")
}

fn diff_tells_what_apply_would_do(session: &Session) -> Result<()> {
    session.ok_with("apply -f -", &colours("{sky: blue}"))?;
    same(&session.ok_with("diff -f -", &colours("{sky: blue}"))?, "")?;
    for diff in ["diff -f -", "diff --server-side --force-conflicts -f -"] {
        let said = session.run(diff, &colours("{sky: grey}"))?;
        // 1 is a difference, more is a failure.
        ensure!(said.code == 1, "{said}");
        has(&said.stdout, &["-  sky: blue", "+  sky: grey"])?;
    }
    same(&session.value("cm colours", ".data.sky")?, "blue")
}
