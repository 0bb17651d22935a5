//! Asking who may do what.

use anneal_harness::{PatchKind, eventually};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{WHO_AM_I, bind, grant, rule, user_subject, who_am_i};
use crate::{Cx, Kind};

pub(super) async fn subject_access_reviews_judge_users_and_groups(cx: Cx) -> Result<()> {
    let (user, group) = (cx.unique("user"), cx.unique("group"));
    let role = json!({
        "metadata": { "name": "reader" },
        "rules": [rule("get", "configmaps"), rule("get", "pods/log")]
    });
    cx.objects(&Kind::ROLE).create(role).await?.is(201)?;
    let group_subject = json!({ "kind": "Group", "name": group, "apiGroup": "rbac.authorization.k8s.io" });
    bind(&cx, "reader", "Role", "reader", &json!([user_subject(&user)[0], group_subject])).await?;
    let review = async |spec: Value| {
        let body =
            json!({ "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec });
        cx.http.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", &body).await
    };
    let may = async |who: Value, what: Value| {
        let mut spec = who;
        spec["resourceAttributes"] = what;
        let status = review(spec).await?.is(201)?["status"].clone();
        status["allowed"].as_bool().with_context(|| format!("no verdict: {status}"))
    };
    let get = |resource: &str| json!({ "namespace": cx.namespace, "verb": "get", "resource": resource });
    eventually("the role to count", async || {
        Ok(may(json!({ "user": user }), get("configmaps")).await?.then_some(()))
    })
    .await?;
    ensure!(may(json!({ "groups": [group] }), get("configmaps")).await?);
    ensure!(may(json!({ "user": "anyone", "groups": ["x", group] }), get("configmaps")).await?);
    ensure!(!may(json!({ "user": "anyone" }), get("configmaps")).await?);
    ensure!(!may(json!({ "user": user }), get("secrets")).await?);
    ensure!(!may(json!({ "user": user }), get("pods")).await?);
    let mut what = get("pods");
    what["subresource"] = "log".into();
    ensure!(may(json!({ "user": user }), what.clone()).await?);
    what["namespace"] = "default".into();
    ensure!(!may(json!({ "user": user }), what).await?);
    // No namespace means all of them.
    ensure!(!may(json!({ "user": user }), json!({ "verb": "get", "resource": "configmaps" })).await?);
    ensure!(
        may(json!({ "user": "x", "groups": ["system:masters"] }), json!({ "verb": "*", "resource": "*" }))
            .await?
    );

    let path = |path: &str| json!({ "path": path, "verb": "get" });
    for (at, open) in [("/healthz", true), ("/metrics", false)] {
        let groups = json!(["system:authenticated"]);
        let spec = json!({ "user": user, "groups": groups, "nonResourceAttributes": path(at) });
        ensure!(review(spec).await?.is(201)?["status"]["allowed"] == open, "{at}");
    }
    // One must ask about someone, and about one thing.
    review(json!({ "resourceAttributes": get("pods") })).await?.refused(422, "Invalid")?;
    review(json!({ "user": user })).await?.refused(422, "Invalid")?;
    Ok(())
}

pub(super) async fn local_reviews_stay_in_their_namespace(cx: Cx) -> Result<()> {
    let user = cx.unique("user");
    grant(&cx, "reader", &user, json!([rule("get", "configmaps")])).await?;
    let path = format!("/apis/authorization.k8s.io/v1/namespaces/{}/localsubjectaccessreviews", cx.namespace);
    let review = async |namespace: &str| {
        let what = json!({ "namespace": namespace, "verb": "get", "resource": "configmaps" });
        let body = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "LocalSubjectAccessReview",
            "metadata": { "namespace": cx.namespace },
            "spec": { "user": user, "resourceAttributes": what }
        });
        cx.http.post(&path, &body).await
    };
    eventually("the role to count", async || {
        Ok((review(&cx.namespace).await?.is(201)?["status"]["allowed"] == true).then_some(()))
    })
    .await?;
    let status = review("default").await?.refused(422, "Invalid")?;
    ensure!(status["details"]["causes"][0]["field"] == "spec.resourceAttributes.namespace", "{status}");
    Ok(())
}

pub(super) async fn self_reviews_are_about_the_caller(cx: Cx) -> Result<()> {
    let user = cx.unique("user");
    let named = json!({
        "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"], "verbs": ["get", "update"]
    });
    grant(&cx, "reader", &user, json!([rule("get", "configmaps"), named])).await?;
    let http = cx.http.impersonate(&user, &["team"]);
    let may = async |resource: &str, name: &str| {
        let what = json!({ "namespace": cx.namespace, "verb": "get", "resource": resource, "name": name });
        let kind = "SelfSubjectAccessReview";
        let body = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": { "resourceAttributes": what }
        });
        let reply = http.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &body).await?;
        reply.is(201)?["status"]["allowed"].as_bool().context("no verdict")
    };
    eventually("the role to count", async || Ok(may("configmaps", "").await?.then_some(()))).await?;
    ensure!(may("secrets", "a").await? && !may("secrets", "b").await? && !may("secrets", "").await?);

    let body = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview",
        "spec": { "namespace": cx.namespace }
    });
    let rules = http.post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", &body).await?.is(201)?;
    let listed = rules["status"]["resourceRules"].as_array().cloned().unwrap_or_default();
    ensure!(rules["status"]["incomplete"] == false, "{rules}");
    let is = |rule: &Value, resource: &str| rule["resources"] == json!([resource]);
    ensure!(listed.iter().any(|r| is(r, "configmaps") && r["verbs"] == json!(["get"])), "{rules}");
    let secret = listed.iter().find(|r| is(r, "secrets")).context("no rule about secrets")?;
    ensure!(secret["verbs"] == named["verbs"] && secret["resourceNames"] == json!(["a"]), "{rules}");
    let paths = rules["status"]["nonResourceRules"].as_array().cloned().unwrap_or_default();
    let open = |rule: &Value| {
        rule["nonResourceURLs"].as_array().is_some_and(|urls| urls.contains(&json!("/healthz")))
    };
    ensure!(paths.iter().any(open), "{rules}");

    let http = http.with_header("impersonate-uid", "7").with_header("impersonate-extra-scopes", "a");
    let review = http.post(WHO_AM_I, &who_am_i()).await?.is(201)?;
    let who = json!({
        "username": user, "uid": "7", "groups": ["team", "system:authenticated"], "extra": { "scopes": ["a"] }
    });
    ensure!(review["status"]["userInfo"] == who, "{review}");
    Ok(())
}

pub(super) async fn reviews_are_not_kept(cx: Cx) -> Result<()> {
    let reviews = [
        "authentication.k8s.io/v1/tokenreviews",
        "authentication.k8s.io/v1/selfsubjectreviews",
        "authorization.k8s.io/v1/subjectaccessreviews",
        "authorization.k8s.io/v1/selfsubjectaccessreviews",
        "authorization.k8s.io/v1/selfsubjectrulesreviews",
    ];
    for review in reviews {
        let path = format!("/apis/{review}");
        cx.http.get(&path).await?.refused(405, "MethodNotAllowed")?;
        cx.http.get(&format!("{path}/a")).await?.refused(404, "NotFound")?;
        cx.http.patch(&path, PatchKind::Merge, &json!({})).await?.refused(405, "MethodNotAllowed")?;
    }
    Ok(())
}
