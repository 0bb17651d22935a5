//! Who one is and what one may.

use anyhow::{Result, ensure};

use super::{
    Check, Session, checks,
    session::{has, row, same},
};

pub(super) const CHECKS: &[Check] = checks!("access":
    API => [
        can_i_says_yes_to_the_administrator,
        can_i_says_no_and_fails,
        can_i_lists_what_is_granted,
        whoami_tells_user_and_groups,
        token_of_a_service_account_signs_in,
        forbidden_says_who_may_not_do_what,
        granted_rights_work,
    ],
);

fn robot(session: &Session) -> String {
    format!("system:serviceaccount:{}:robot", session.namespace)
}

fn can_i_says_yes_to_the_administrator(session: &Session) -> Result<()> {
    same(&session.ok("auth can-i create deployments.apps")?, "yes")?;
    let said = session.run("auth can-i * *", "")?;
    ensure!(said.code == 0, "{said}");
    same(&said.stdout, "yes")?;
    same(&session.ok("auth can-i get /healthz")?, "yes")
}

fn can_i_says_no_and_fails(session: &Session) -> Result<()> {
    let said = session.run(&format!("auth can-i list secrets --as {}", robot(session)), "")?;
    ensure!(said.code == 1, "{said}");
    same(&said.stdout, "no")?;
    let said = session.run(&format!("auth can-i create deployments/scale -q --as {}", robot(session)), "")?;
    ensure!(said.code == 1 && said.stdout.is_empty(), "{said}");
    Ok(())
}

fn can_i_lists_what_is_granted(session: &Session) -> Result<()> {
    session.ok("create role reader --verb=get,list --resource=pods")?;
    session.ok(&format!(
        "create rolebinding readers --role=reader --serviceaccount={}:robot",
        session.namespace
    ))?;
    let said = session.run(&format!("auth can-i --list --as {}", robot(session)), "")?;
    ensure!(said.code == 0, "{said}");
    has(&said.stdout, &["Resources", "Non-Resource URLs", "Resource Names", "Verbs"])?;
    ensure!(row(&said.stdout, "pods")? == ["pods", "[]", "[]", "[get", "list]"], "{said}");
    has(&said.stdout, &["selfsubjectaccessreviews.authorization.k8s.io"])
}

fn whoami_tells_user_and_groups(session: &Session) -> Result<()> {
    let table = session.ok("auth whoami")?;
    ensure!(row(&table, "ATTRIBUTE")? == ["ATTRIBUTE", "VALUE"], "{table}");
    ensure!(row(&table, "Username")?.len() == 2, "{table}");
    has(&row(&table, "Groups")?.join(" "), &["system:authenticated"])?;
    let table = session.ok("auth whoami --as ann --as-group=painters")?;
    ensure!(row(&table, "Username")?[1] == "ann", "{table}");
    has(&table, &["painters"])
}

fn token_of_a_service_account_signs_in(session: &Session) -> Result<()> {
    session.ok("create serviceaccount robot")?;
    let token = session.ok("create token robot --duration=10m")?;
    ensure!(token.trim().split('.').count() == 3, "a token must have three parts");
    let table = session.ok(&format!("auth whoami --token={}", token.trim()))?;
    ensure!(row(&table, "Username")?[1] == robot(session), "{table}");
    let refusal = session.fails(&format!("get secrets --token={}", token.trim()))?;
    has(&refusal, &["Forbidden", &robot(session)])?;
    has(&session.fails("create token nobody")?, &["serviceaccounts \"nobody\" not found"])?;
    has(&session.fails("get secrets --token=not-a-token")?, &["You must be logged in to the server"])
}

fn forbidden_says_who_may_not_do_what(session: &Session) -> Result<()> {
    let refusal = session.fails(&format!("get secrets --as {}", robot(session)))?;
    let namespace = &session.namespace;
    same(
        &refusal,
        &format!(
            "Error from server (Forbidden): secrets is forbidden: User \"{}\" cannot list resource \"secrets\" \
             in API group \"\" in the namespace \"{namespace}\"",
            robot(session)
        ),
    )
}

fn granted_rights_work(session: &Session) -> Result<()> {
    session.ok("create configmap colours --from-literal=sky=blue")?;
    session.ok("create role reader --verb=get --resource=configmaps --resource-name=colours")?;
    session.ok("create rolebinding readers --role=reader --user=ann")?;
    // Upstream's authoriser reads a cache: it may take a moment.
    session.until("auth can-i get configmaps/colours --as ann", "yes")?;
    same(&session.ok("get configmap colours --as ann -o name")?, "configmap/colours")?;
    has(&session.fails("get configmap others --as ann")?, &["Forbidden"])?;
    has(&session.fails("delete configmap colours --as ann")?, &["cannot delete resource \"configmaps\""])
}
