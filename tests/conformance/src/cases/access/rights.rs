//! Roles, their bindings, and what they let somebody do.

use anneal_harness::{Http, Reply, eventually};
use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{allowed, bind, bind_in_cluster, binding, cluster_role, grant, rule, user_subject};
use crate::{
    Cx, Kind,
    fixtures::{config_map, pod},
};

pub(super) async fn without_rights_each_call_is_forbidden(cx: Cx) -> Result<()> {
    let user = cx.http.impersonate(&cx.unique("user"), &[]);
    cx.objects(&Kind::CONFIG_MAP).create(config_map("a", "1")).await?.is(201)?;
    let maps = cx.objects_as(&user, &Kind::CONFIG_MAP);
    let forbidden = |reply: Reply, name: Value| {
        let status = reply.refused(403, "Forbidden")?;
        ensure!(status["details"]["kind"] == "configmaps" && status["details"]["name"] == name, "{status}");
        anyhow::Ok(())
    };
    forbidden(maps.get("a").await?, json!("a"))?;
    forbidden(maps.list("").await?, Value::Null)?;
    forbidden(maps.create(config_map("b", "1")).await?, Value::Null)?;
    forbidden(maps.update("a", &config_map("a", "2")).await?, json!("a"))?;
    forbidden(maps.merge("a", json!({})).await?, json!("a"))?;
    forbidden(maps.delete("a").await?, json!("a"))?;
    forbidden(maps.delete_all("").await?, Value::Null)?;
    forbidden(maps.list("?watch=true").await?, Value::Null)?;
    // Nobody learns by asking what there is: 403 comes before 404.
    forbidden(maps.get("no-such").await?, json!("no-such"))?;
    let status = user.get("/apis/apps/v1/deployments").await?.refused(403, "Forbidden")?;
    ensure!(status["details"]["group"] == "apps" && status["details"]["kind"] == "deployments", "{status}");
    user.get("/no-such-path").await?.refused(403, "Forbidden")?;
    // Everybody who is somebody may look what the API offers.
    user.get("/apis/apps/v1").await?.ok()?;
    Ok(())
}

pub(super) async fn a_role_grants_its_verbs_in_its_namespace_only(cx: Cx) -> Result<()> {
    let user = cx.unique("user");
    let http = cx.http.impersonate(&user, &[]);
    let (maps, mine) = (cx.objects(&Kind::CONFIG_MAP), cx.objects_as(&http, &Kind::CONFIG_MAP));
    maps.create(config_map("a", "1")).await?.is(201)?;
    grant(&cx, "reader", &user, json!([rule("get", "configmaps")])).await?;
    allowed!("the user to read", mine.get("a").await);
    mine.list("").await?.refused(403, "Forbidden")?;
    mine.delete("a").await?.refused(403, "Forbidden")?;
    mine.create(config_map("b", "1")).await?.refused(403, "Forbidden")?;
    // What may be read may also be missing.
    mine.get("no-such").await?.refused(404, "NotFound")?;
    cx.objects_as(&http, &Kind::SECRET).get("a").await?.refused(403, "Forbidden")?;
    http.get(&format!("{}/a", Kind::CONFIG_MAP.path("default"))).await?.refused(403, "Forbidden")?;
    // The same resource name in another group is another resource.
    grant(&cx, "grouped", &user, json!([rule("list", "deployments"), rule("list", "secrets")])).await?;
    allowed!("the second role", cx.objects_as(&http, &Kind::SECRET).list("").await);
    cx.objects_as(&http, &Kind::DEPLOYMENT).list("").await?.refused(403, "Forbidden")?;
    Ok(())
}

pub(super) async fn resource_names_restrict_a_right(cx: Cx) -> Result<()> {
    let user = cx.unique("user");
    let http = cx.http.impersonate(&user, &[]);
    let (maps, mine) = (cx.objects(&Kind::CONFIG_MAP), cx.objects_as(&http, &Kind::CONFIG_MAP));
    for name in ["a", "b"] {
        maps.create(config_map(name, "1")).await?.is(201)?;
    }
    let named = json!([{
        "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a", "c"],
        "verbs": ["get", "list", "watch", "create", "update", "delete"]
    }]);
    grant(&cx, "named", &user, named).await?;
    allowed!("the user to read a", mine.get("a").await);
    mine.get("b").await?.refused(403, "Forbidden")?;
    mine.update("b", &config_map("b", "2")).await?.refused(403, "Forbidden")?;
    // A list of everything is more than the name, a list of the name is not.
    mine.list("").await?.refused(403, "Forbidden")?;
    ensure!(mine.names("?fieldSelector=metadata.name%3Da").await? == ["a"]);
    mine.list("?fieldSelector=metadata.name%3Db").await?.refused(403, "Forbidden")?;
    let mut watch = mine.watch("fieldSelector=metadata.name%3Da").await?;
    watch.expect("ADDED", "a").await?;
    // The name of what is created stands in the body, which nobody has read yet.
    mine.create(config_map("c", "1")).await?.refused(403, "Forbidden")?;
    mine.delete("a").await?.ok()?;
    Ok(())
}

pub(super) async fn update_patch_and_create_are_rights_of_their_own(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create(config_map("a", "1")).await?.is(201)?;
    let (updater, patcher) = (cx.unique("updater"), cx.unique("patcher"));
    grant(&cx, "updater", &updater, json!([rule("update", "configmaps")])).await?;
    grant(&cx, "patcher", &patcher, json!([rule("patch", "configmaps")])).await?;
    let updates = cx.objects_as(&cx.http.impersonate(&updater, &[]), &Kind::CONFIG_MAP);
    let patches = cx.objects_as(&cx.http.impersonate(&patcher, &[]), &Kind::CONFIG_MAP);
    allowed!("the update", updates.update("a", &config_map("a", "2")).await);
    let data = json!({ "data": { "key": "3" } });
    allowed!("the patch", patches.merge("a", data.clone()).await);
    updates.merge("a", data.clone()).await?.refused(403, "Forbidden")?;
    updates.apply("a", "me", data.clone()).await?.refused(403, "Forbidden")?;
    patches.update("a", &config_map("a", "4")).await?.refused(403, "Forbidden")?;
    patches.apply_by_force("a", "me", data.clone()).await?.ok()?;
    // An apply of what is not there creates, and that is another right.
    patches.apply("b", "me", data).await?.refused(403, "Forbidden")?;
    maps.get("b").await?.refused(404, "NotFound")?;
    Ok(())
}

pub(super) async fn deleting_a_collection_is_a_right_of_its_own(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let (one, all) = (cx.unique("one"), cx.unique("all"));
    grant(&cx, "one", &one, json!([rule("delete", "configmaps")])).await?;
    grant(&cx, "all", &all, json!([rule("deletecollection", "configmaps")])).await?;
    let one = cx.objects_as(&cx.http.impersonate(&one, &[]), &Kind::CONFIG_MAP);
    let all = cx.objects_as(&cx.http.impersonate(&all, &[]), &Kind::CONFIG_MAP);
    for name in ["a", "b"] {
        maps.create(config_map(name, "1")).await?.is(201)?;
    }
    allowed!("the delete", one.delete("a").await);
    one.delete_all("").await?.refused(403, "Forbidden")?;
    allowed!("the delete of all", all.delete_all("?fieldSelector=metadata.name%3Db").await);
    maps.get("b").await?.refused(404, "NotFound")?;
    maps.create(config_map("c", "1")).await?.is(201)?;
    all.delete("c").await?.refused(403, "Forbidden")?;
    Ok(())
}

pub(super) async fn subresources_are_granted_apart(cx: Cx) -> Result<()> {
    cx.objects(&Kind::POD).create(pod("a")).await?.is(201)?;
    let (whole, part, every) = (cx.unique("whole"), cx.unique("part"), cx.unique("every"));
    grant(&cx, "whole", &whole, json!([rule("patch", "pods"), rule("get", "pods")])).await?;
    grant(&cx, "part", &part, json!([rule("patch", "pods/status")])).await?;
    grant(&cx, "every", &every, json!([rule("patch", "*/status")])).await?;
    let pods = |user: &str| cx.objects_as(&cx.http.impersonate(user, &[]), &Kind::POD);
    let label = json!({ "metadata": { "labels": { "a": "b" } } });
    let status = json!({ "status": { "message": "hello" } });
    allowed!("the patch", pods(&whole).merge("a", label.clone()).await);
    pods(&whole).merge("a/status", status.clone()).await?.refused(403, "Forbidden")?;
    pods(&whole).get("a/log").await?.refused(403, "Forbidden")?;
    for user in [&part, &every] {
        allowed!("the patch of the status", pods(user).merge("a/status", status.clone()).await);
        pods(user).merge("a", label.clone()).await?.refused(403, "Forbidden")?;
    }
    Ok(())
}

pub(super) async fn a_cluster_role_bound_in_a_namespace_counts_there_only(cx: Cx) -> Result<()> {
    let user = cx.unique("user");
    let rules = json!([rule("list", "configmaps"), rule("list", "nodes")]);
    let role = cluster_role(&cx, "role", json!({ "rules": rules })).await?;
    bind(&cx, "binding", "ClusterRole", &role, &user_subject(&user)).await?;
    let http = cx.http.impersonate(&user, &[]);
    allowed!("the list", cx.objects_as(&http, &Kind::CONFIG_MAP).list("").await);
    http.get("/api/v1/configmaps").await?.refused(403, "Forbidden")?;
    http.get(&Kind::CONFIG_MAP.path("default")).await?.refused(403, "Forbidden")?;
    http.get("/api/v1/nodes").await?.refused(403, "Forbidden")?;
    Ok(())
}

pub(super) async fn a_cluster_role_binding_counts_everywhere(cx: Cx) -> Result<()> {
    let user = cx.unique("user");
    let rules = json!([rule("list", "serviceaccounts"), rule("list", "nodes")]);
    bind_in_cluster(&cx, "role", json!({ "rules": rules }), &user_subject(&user)).await?;
    let http = cx.http.impersonate(&user, &[]);
    allowed!("the list", http.get("/api/v1/serviceaccounts").await);
    http.get(&Kind::SERVICE_ACCOUNT.path("default")).await?.ok()?;
    http.get("/api/v1/nodes").await?.ok()?;
    http.get("/api/v1/secrets").await?.refused(403, "Forbidden")?;
    Ok(())
}

pub(super) async fn wildcards_cover_every_group_resource_and_verb(cx: Cx) -> Result<()> {
    let user = cx.unique("user");
    let all = json!([{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }]);
    grant(&cx, "all", &user, all).await?;
    let http = cx.http.impersonate(&user, &[]);
    let maps = cx.objects_as(&http, &Kind::CONFIG_MAP);
    allowed!("the create", maps.create(config_map("a", "1")).await);
    maps.delete_all("").await?.ok()?;
    cx.objects_as(&http, &Kind::LEASE).list("").await?.ok()?;
    // Subresources too.
    cx.objects(&Kind::POD).create(pod("a")).await?.is(201)?;
    cx.objects_as(&http, &Kind::POD)
        .merge("a/status", json!({ "status": { "message": "x" } }))
        .await?
        .ok()?;
    http.get(&Kind::CONFIG_MAP.path("default")).await?.refused(403, "Forbidden")?;
    http.get("/api/v1/nodes").await?.refused(403, "Forbidden")?;
    Ok(())
}

pub(super) async fn paths_are_granted_by_prefix(cx: Cx) -> Result<()> {
    let user = cx.unique("user");
    // Paths that lead nowhere: what may be asked for is then not found.
    let (path, prefix) = (format!("/{}", cx.unique("exact")), format!("/{}", cx.unique("prefix")));
    let urls = json!([path, format!("{prefix}/*")]);
    let rules = json!({ "rules": [{ "nonResourceURLs": urls, "verbs": ["get"] }] });
    bind_in_cluster(&cx, "paths", rules, &user_subject(&user)).await?;
    let http = cx.http.impersonate(&user, &[]);
    eventually("the path to be granted", async || Ok((http.get(&path).await?.status == 404).then_some(())))
        .await?;
    for open in [format!("{prefix}/"), format!("{prefix}/a/b")] {
        let reply = http.get(&open).await?;
        ensure!(reply.status == 404, "{reply}");
    }
    for closed in [format!("{path}/a"), prefix, "/metrics".to_owned()] {
        http.get(&closed).await?.refused(403, "Forbidden")?;
    }
    http.post(&path, &json!({})).await?.refused(403, "Forbidden")?;
    Ok(())
}

pub(super) async fn groups_and_service_accounts_are_subjects(cx: Cx) -> Result<()> {
    let group = cx.unique("group");
    let role = json!({ "metadata": { "name": "reader" }, "rules": [rule("list", "configmaps")] });
    cx.objects(&Kind::ROLE).create(role).await?.is(201)?;
    let account = json!({ "kind": "ServiceAccount", "name": "robot", "namespace": cx.namespace });
    let group_subject = json!({ "kind": "Group", "name": group, "apiGroup": "rbac.authorization.k8s.io" });
    let subjects = json!([group_subject, account]);
    bind(&cx, "reader", "Role", "reader", &subjects).await?;
    let list = async |http: &Http| cx.objects_as(http, &Kind::CONFIG_MAP).list("").await;
    let member = cx.http.impersonate("anyone", &["other", &group]);
    allowed!("the group's right", list(&member).await);
    let robot =
        |name: &str| cx.http.impersonate(&format!("system:serviceaccount:{}:{name}", cx.namespace), &[]);
    list(&robot("robot")).await?.ok()?;
    list(&robot("other")).await?.refused(403, "Forbidden")?;
    list(&cx.http.impersonate(&group, &[])).await?.refused(403, "Forbidden")?;
    list(&cx.http.impersonate("robot", &[])).await?.refused(403, "Forbidden")?;

    // Each account belongs to the accounts of its namespace.
    let all = format!("system:serviceaccounts:{}", cx.namespace);
    let all = json!([{ "kind": "Group", "name": all, "apiGroup": "rbac.authorization.k8s.io" }]);
    bind(&cx, "all", "Role", "reader", &all).await?;
    allowed!("the right of all accounts", list(&robot("other")).await);
    Ok(())
}

pub(super) async fn a_right_ends_with_its_binding(cx: Cx) -> Result<()> {
    let user = cx.unique("user");
    let maps = cx.objects_as(&cx.http.impersonate(&user, &[]), &Kind::CONFIG_MAP);
    grant(&cx, "reader", &user, json!([rule("list", "configmaps")])).await?;
    allowed!("the list", maps.list("").await);
    cx.objects(&Kind::ROLE).merge("reader", json!({ "rules": [rule("get", "configmaps")] })).await?.ok()?;
    eventually("the lesser role", async || Ok((maps.list("").await?.status == 403).then_some(()))).await?;
    maps.get("a").await?.refused(404, "NotFound")?;
    cx.objects(&Kind::ROLE_BINDING).delete("reader").await?.ok()?;
    eventually("no role", async || Ok((maps.get("a").await?.status == 403).then_some(()))).await
}

pub(super) async fn nobody_grants_rights_they_lack(cx: Cx) -> Result<()> {
    let user = cx.unique("user");
    let own = json!([rbac("create", "roles"), rbac("update", "roles"), rule("get", "configmaps")]);
    grant(&cx, "maker", &user, own).await?;
    let roles = cx.objects_as(&cx.http.impersonate(&user, &[]), &Kind::ROLE);
    let role = |name: &str, rule: Value| json!({ "metadata": { "name": name }, "rules": [rule] });
    allowed!("a role with the maker's rights", roles.create(role("same", rule("get", "configmaps"))).await);
    roles.create(role("more", rule("get", "secrets"))).await?.refused(403, "Forbidden")?;
    roles.create(role("more", rule("list", "configmaps"))).await?.refused(403, "Forbidden")?;
    roles.create(role("more", rule("*", "configmaps"))).await?.refused(403, "Forbidden")?;
    roles.update("same", &role("same", rule("get", "secrets"))).await?.refused(403, "Forbidden")?;
    cx.objects(&Kind::ROLE).get("more").await?.refused(404, "NotFound")?;
    grant(&cx, "escalator", &user, json!([rbac("escalate", "roles")])).await?;
    allowed!("a role beyond the maker's rights", roles.create(role("more", rule("get", "secrets"))).await);
    Ok(())
}

pub(super) async fn nobody_binds_roles_beyond_their_rights(cx: Cx) -> Result<()> {
    let user = cx.unique("user");
    grant(&cx, "binder", &user, json!([rbac("create", "rolebindings"), rule("get", "configmaps")])).await?;
    for (name, rule) in [("same", rule("get", "configmaps")), ("more", rule("get", "secrets"))] {
        let role = json!({ "metadata": { "name": name }, "rules": [rule] });
        cx.objects(&Kind::ROLE).create(role).await?.is(201)?;
    }
    let bindings = cx.objects_as(&cx.http.impersonate(&user, &[]), &Kind::ROLE_BINDING);
    let to = |role: &str| binding(role, "Role", role, &user_subject(&user));
    allowed!("a binding to the binder's rights", bindings.create(to("same")).await);
    bindings.create(to("more")).await?.refused(403, "Forbidden")?;
    let mut named = rbac("bind", "roles");
    named["resourceNames"] = json!(["more"]);
    grant(&cx, "bind", &user, json!([named])).await?;
    allowed!("a binding beyond the binder's rights", bindings.create(to("more")).await);
    Ok(())
}

pub(super) async fn a_binding_keeps_its_role(cx: Cx) -> Result<()> {
    let bindings = cx.objects(&Kind::ROLE_BINDING);
    let subject = user_subject(&cx.unique("user"));
    // The role need not be there yet.
    bindings.create(binding("a", "Role", "later", &subject)).await?.is(201)?;
    let status =
        bindings.merge("a", json!({ "roleRef": { "name": "other" } })).await?.refused(422, "Invalid")?;
    ensure!(status["details"]["causes"][0]["field"] == "roleRef", "{status}");
    let nobody = bindings.merge("a", json!({ "subjects": null })).await?.ok()?;
    ensure!(nobody["subjects"].is_null() && nobody["roleRef"]["name"] == "later", "{nobody}");
    bindings.create(binding("b", "Pod", "x", &subject)).await?.refused(422, "Invalid")?;
    Ok(())
}

pub(super) async fn roles_must_say_what_they_grant(cx: Cx) -> Result<()> {
    let roles = cx.objects(&Kind::ROLE);
    let wrong = [
        (json!({ "apiGroups": [""], "resources": ["pods"] }), "rules[0].verbs"),
        (json!({ "apiGroups": [""], "verbs": ["get"] }), "rules[0].resources"),
        (json!({ "resources": ["pods"], "verbs": ["get"] }), "rules[0].apiGroups"),
        // Paths belong to no namespace.
        (json!({ "nonResourceURLs": ["/metrics"], "verbs": ["get"] }), "rules[0].nonResourceURLs"),
    ];
    for (rule, field) in wrong {
        let role = json!({ "metadata": { "name": "a" }, "rules": [rule] });
        let status = roles.create(role).await?.refused(422, "Invalid")?;
        ensure!(status["details"]["causes"][0]["field"] == field, "{field}: {status}");
    }
    // A role may grant nothing at all.
    roles.create(json!({ "metadata": { "name": "a" }, "rules": [] })).await?.is(201)?;
    Ok(())
}

pub(super) async fn a_cluster_role_gathers_rules_by_label(cx: Cx) -> Result<()> {
    let (label, user) = (cx.unique("gather"), cx.unique("user"));
    let selector = json!({ "clusterRoleSelectors": [{ "matchLabels": { label.as_str(): "yes" } }] });
    bind_in_cluster(&cx, "sum", json!({ "aggregationRule": selector }), &user_subject(&user)).await?;
    let part = json!({ "metadata": { "labels": { label: "yes" } }, "rules": [rule("list", "configmaps")] });
    let part = cluster_role(&cx, "part", part).await?;
    let http = cx.http.impersonate(&user, &[]);
    allowed!("the gathered right", cx.objects_as(&http, &Kind::CONFIG_MAP).list("").await);
    let (roles, sum) = (cx.objects(&Kind::CLUSTER_ROLE), cx.unique("sum"));
    // A server may go by what is gathered before it shows it.
    eventually("the gathered rule to show", async || {
        let rules = roles.get(&sum).await?.ok()?["rules"].clone();
        Ok((rules == json!([rule("list", "configmaps")])).then_some(()))
    })
    .await?;
    roles.delete(&part).await?.ok()?;
    eventually("the right to go with its part", async || {
        Ok((cx.objects_as(&http, &Kind::CONFIG_MAP).list("").await?.status == 403).then_some(()))
    })
    .await
}

fn rbac(verb: &str, resource: &str) -> Value {
    json!({ "apiGroups": ["rbac.authorization.k8s.io"], "resources": [resource], "verbs": [verb] })
}
