//! What there is: kinds, versions, fields.

use anyhow::{Result, ensure};

use super::{
    Check, Session, checks,
    session::{has, row},
};

pub(super) const CHECKS: &[Check] = checks!("discover":
    API => [
        api_resources_lists_kinds_with_short_names,
        api_versions_lists_groups,
        explain_shows_fields_and_types,
        explain_goes_down_to_a_field,
        explain_names_what_is_not_there,
        cluster_info_shows_the_address,
        version_shows_both_sides,
        short_names_singulars_and_groups_all_work,
    ],
);

fn api_resources_lists_kinds_with_short_names(session: &Session) -> Result<()> {
    let table = session.ok("api-resources")?;
    ensure!(row(&table, "NAME")? == ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"], "{table}");
    ensure!(row(&table, "configmaps")? == ["configmaps", "cm", "v1", "true", "ConfigMap"], "{table}");
    ensure!(
        row(&table, "deployments")? == ["deployments", "deploy", "apps/v1", "true", "Deployment"],
        "{table}"
    );
    ensure!(row(&table, "namespaces")? == ["namespaces", "ns", "v1", "false", "Namespace"], "{table}");
    let wide = session.ok("api-resources -o wide --api-group=apps")?;
    let verbs = "create,delete,deletecollection,get,list,patch,update,watch";
    has(&wide, &["VERBS", "CATEGORIES"])?;
    ensure!(row(&wide, "deployments")?[5..] == [verbs, "all"], "{wide}");
    let some = session.ok("api-resources --namespaced=false --verbs=list,watch -o name")?;
    has(&some, &["nodes\n", "customresourcedefinitions.apiextensions.k8s.io\n"])?;
    ensure!(!some.contains("configmaps"), "{some}");
    Ok(())
}

fn api_versions_lists_groups(session: &Session) -> Result<()> {
    has(&session.ok("api-versions")?, &["apps/v1\n", "batch/v1\n", "rbac.authorization.k8s.io/v1\n", "v1\n"])
}

fn explain_shows_fields_and_types(session: &Session) -> Result<()> {
    let page = session.ok("explain deployment")?;
    has(&page, &["GROUP:      apps", "KIND:       Deployment", "VERSION:    v1", "FIELDS:"])?;
    has(&page, &["  spec\t<DeploymentSpec>", "  metadata\t<ObjectMeta>"])?;
    let tree = session.ok("explain service.spec --recursive")?;
    has(
        &tree,
        &["  ports\t<[]ServicePort>", "    targetPort\t<IntOrString>", "  selector\t<map[string]string>"],
    )
}

fn explain_goes_down_to_a_field(session: &Session) -> Result<()> {
    let page = session.ok("explain deploy.spec.replicas")?;
    has(&page, &["FIELD: replicas <integer>"])?;
    let page = session.ok("explain pods.spec.containers.env")?;
    has(&page, &["FIELD: env <[]EnvVar>", "  name\t<string> -required-", "  valueFrom\t<EnvVarSource>"])?;
    let page = session.ok("explain events --api-version=events.k8s.io/v1")?;
    has(&page, &["GROUP:      events.k8s.io", "  note\t<string>"])
}

fn explain_names_what_is_not_there(session: &Session) -> Result<()> {
    has(&session.fails("explain deployment.spec.colour")?, &["field \"colour\" does not exist"])?;
    has(&session.fails("explain unicorns")?, &["unicorns"])
}

fn cluster_info_shows_the_address(session: &Session) -> Result<()> {
    let said = session.ok("cluster-info")?;
    has(&said, &["Kubernetes control plane", "is running at", "https://127.0.0.1:"])
}

fn version_shows_both_sides(session: &Session) -> Result<()> {
    // A difference of more than one minor version is warned of, rightly.
    let said = session.run("version", "")?;
    ensure!(said.code == 0, "{said}");
    has(&said.stdout, &["Client Version: v1.", "Server Version: v1."])
}

fn short_names_singulars_and_groups_all_work(session: &Session) -> Result<()> {
    session.ok("create deployment web --image=registry.invalid/web:1 --replicas=0")?;
    for name in
        ["deploy", "deployment", "deployments", "deployments.apps", "deployments.v1.apps", "Deployment"]
    {
        super::session::same(&session.ok(&format!("get {name} web -o name"))?, "deployment.apps/web")?;
    }
    has(&session.fails("get unicorns")?, &["the server doesn't have a resource type \"unicorns\""])
}
