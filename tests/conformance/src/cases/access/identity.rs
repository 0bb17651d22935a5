//! Who somebody is: tokens, service accounts, impersonation.

use anneal_harness::{Identity, Reply, eventually};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{WHO_AM_I, allowed, bind, bind_in_cluster, rule, who_am_i};
use crate::{Cx, Kind};

pub(super) async fn without_credentials_one_is_anonymous(cx: Cx) -> Result<()> {
    let nobody = cx.server.http(&Identity::Anonymous)?;
    let status = cx.objects_as(&nobody, &Kind::SECRET).get("a").await?.refused(403, "Forbidden")?;
    ensure!(status["details"]["name"] == "a" && status["details"]["kind"] == "secrets", "{status}");
    ensure!(status["message"].as_str().is_some_and(|text| text.contains("system:anonymous")), "{status}");
    for path in ["/healthz", "/livez", "/readyz", "/version"] {
        let reply = nobody.get(path).await?;
        ensure!(reply.status == 200, "{reply}");
    }
    for path in ["/api", "/apis/apps/v1", "/metrics"] {
        nobody.get(path).await?.refused(403, "Forbidden")?;
    }
    Ok(())
}

pub(super) async fn a_token_nobody_issued_is_unauthorized(cx: Cx) -> Result<()> {
    let stranger = cx.server.http(&Identity::Token("not-a-token".to_owned()))?;
    cx.objects_as(&stranger, &Kind::SECRET).get("a").await?.refused(401, "Unauthorized")?;
    // A bad token is worse than none: even open paths are closed.
    stranger.get("/healthz").await?.refused(401, "Unauthorized")?;
    Ok(())
}

pub(super) async fn impersonation_is_a_right_of_its_own(cx: Cx) -> Result<()> {
    let (_, token) = service_account(&cx, "robot").await?;
    let robot = cx.server.http(&Identity::Token(token))?;
    let (user, group) = (cx.unique("user"), cx.unique("group"));
    let as_user = robot.impersonate(&user, &[]);
    as_user.post(WHO_AM_I, &who_am_i()).await?.refused(403, "Forbidden")?;
    let rules = json!({ "rules": [
        { "apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": [user] }
    ] });
    let account = json!([{ "kind": "ServiceAccount", "name": "robot", "namespace": cx.namespace }]);
    bind_in_cluster(&cx, "impersonate", rules, &account).await?;
    let review = allowed!("the impersonation", as_user.post(WHO_AM_I, &who_am_i()).await);
    ensure!(review["status"]["userInfo"]["username"] == user, "{review}");
    robot.impersonate("another", &[]).post(WHO_AM_I, &who_am_i()).await?.refused(403, "Forbidden")?;
    let grouped = robot.impersonate(&user, &[&group]);
    grouped.post(WHO_AM_I, &who_am_i()).await?.refused(403, "Forbidden")?;
    Ok(())
}

pub(super) async fn impersonated_groups_need_a_user(cx: Cx) -> Result<()> {
    let grouped = cx.http.with_header("impersonate-group", "system:masters");
    grouped.get("/api/v1/nodes").await?.refused(400, "BadRequest")?;
    Ok(())
}

pub(super) async fn a_service_account_signs_in_by_token(cx: Cx) -> Result<()> {
    let (account, token) = service_account(&cx, "robot").await?;
    let robot = cx.server.http(&Identity::Token(token))?;
    let user = robot.post(WHO_AM_I, &who_am_i()).await?.is(201)?["status"]["userInfo"].clone();
    ensure!(user["username"] == format!("system:serviceaccount:{}:robot", cx.namespace), "{user}");
    ensure!(user["uid"] == account["metadata"]["uid"], "{user}");
    ensure!(user["groups"] == groups_of_accounts(&cx), "{user}");
    cx.objects_as(&robot, &Kind::CONFIG_MAP).list("").await?.refused(403, "Forbidden")?;
    let role = json!({ "metadata": { "name": "reader" }, "rules": [rule("list", "configmaps")] });
    cx.objects(&Kind::ROLE).create(role).await?.is(201)?;
    let subject = json!([{ "kind": "ServiceAccount", "name": "robot", "namespace": cx.namespace }]);
    bind(&cx, "reader", "Role", "reader", &subject).await?;
    allowed!("the account's right", cx.objects_as(&robot, &Kind::CONFIG_MAP).list("").await);
    Ok(())
}

pub(super) async fn token_requests_are_checked(cx: Cx) -> Result<()> {
    let (account, _) = service_account(&cx, "robot").await?;
    let accounts = cx.objects(&Kind::SERVICE_ACCOUNT);
    let request = |name: &str, spec: Value| {
        let path = format!("{}/{name}/token", accounts.path());
        let body = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec });
        let http = cx.http.clone();
        async move { http.post(&path, &body).await }
    };
    let made =
        request("robot", json!({ "expirationSeconds": 3600, "audiences": ["vault"] })).await?.is(201)?;
    ensure!(made["kind"] == "TokenRequest" && made["metadata"]["name"] == "robot", "{made}");
    ensure!(
        made["spec"]["audiences"] == json!(["vault"]) && made["spec"]["expirationSeconds"] == 3600,
        "{made}"
    );
    ensure!(made["status"]["expirationTimestamp"].as_str().is_some_and(|time| time.ends_with('Z')), "{made}");
    let token = made["status"]["token"].as_str().unwrap_or_default();
    ensure!(token.split('.').count() == 3, "{made}");
    // Nobody else is bound to it: the account stays as it was.
    ensure!(accounts.get("robot").await?.ok()? == account);

    let status = request("robot", json!({ "expirationSeconds": 5 })).await?.refused(422, "Invalid")?;
    ensure!(status["details"]["causes"][0]["field"] == "spec.expirationSeconds", "{status}");
    let status = request("no-such", json!({})).await?.refused(404, "NotFound")?;
    ensure!(status["details"]["kind"] == "serviceaccounts", "{status}");
    let pod = json!({ "boundObjectRef": { "kind": "Pod", "apiVersion": "v1", "name": "no-such" } });
    let status = request("robot", pod).await?.refused(404, "NotFound")?;
    ensure!(status["details"]["kind"] == "pods", "{status}");
    Ok(())
}

pub(super) async fn a_token_is_good_for_its_audience_only(cx: Cx) -> Result<()> {
    service_account(&cx, "robot").await?;
    let token = token(&cx, "robot", json!({ "audiences": ["vault"] })).await?;
    let robot = cx.server.http(&Identity::Token(token.clone()))?;
    robot.get("/api").await?.refused(401, "Unauthorized")?;
    let review = review_token(&cx, json!({ "token": token })).await?;
    ensure!(review["status"]["authenticated"] != true, "{review}");
    let review = review_token(&cx, json!({ "token": token, "audiences": ["bank", "vault"] })).await?;
    ensure!(review["status"]["authenticated"] == true, "{review}");
    ensure!(review["status"]["audiences"] == json!(["vault"]), "{review}");
    Ok(())
}

pub(super) async fn a_token_ends_with_its_service_account(cx: Cx) -> Result<()> {
    let (_, first) = service_account(&cx, "robot").await?;
    // A second token, because the server may remember for a while that the first was good.
    let second = token(&cx, "robot", json!({})).await?;
    cx.server.http(&Identity::Token(first))?.get("/api").await?.ok()?;
    cx.objects(&Kind::SERVICE_ACCOUNT).delete("robot").await?.ok()?;
    // An account of the same name is not the same account.
    cx.objects(&Kind::SERVICE_ACCOUNT).create(json!({ "metadata": { "name": "robot" } })).await?.is(201)?;
    let robot = cx.server.http(&Identity::Token(second))?;
    let reply = eventually("the token to end", async || {
        let reply = robot.get("/api").await?;
        Ok((reply.status != 200).then_some(reply))
    })
    .await?;
    reply.refused(401, "Unauthorized")?;
    Ok(())
}

pub(super) async fn token_reviews_tell_whose_a_token_is(cx: Cx) -> Result<()> {
    let (account, token) = service_account(&cx, "robot").await?;
    let review = review_token(&cx, json!({ "token": token })).await?;
    let (status, user) = (&review["status"], &review["status"]["user"]);
    ensure!(status["authenticated"] == true && status["error"].is_null(), "{review}");
    ensure!(user["username"] == format!("system:serviceaccount:{}:robot", cx.namespace), "{review}");
    ensure!(user["uid"] == account["metadata"]["uid"], "{review}");
    ensure!(user["groups"] == groups_of_accounts(&cx), "{review}");
    let id = &user["extra"]["authentication.kubernetes.io/credential-id"][0];
    ensure!(id.as_str().is_some_and(|id| id.starts_with("JTI=")), "{review}");
    ensure!(status["audiences"].as_array().is_some_and(|audiences| audiences.len() == 1), "{review}");
    // A token that is not good is an answer, not an error.
    for spec in [json!({ "token": "garbage" }), json!({ "token": token, "audiences": ["vault"] })] {
        let review = review_token(&cx, spec).await?;
        let status = &review["status"];
        ensure!(status["authenticated"] != true && status["user"]["username"].is_null(), "{review}");
        ensure!(status["error"].as_str().is_some_and(|error| !error.is_empty()), "{review}");
    }
    Ok(())
}

fn groups_of_accounts(cx: &Cx) -> Value {
    let of_namespace = format!("system:serviceaccounts:{}", cx.namespace);
    json!(["system:serviceaccounts", of_namespace, "system:authenticated"])
}

/// Makes a ServiceAccount and a token for it.
async fn service_account(cx: &Cx, name: &str) -> Result<(Value, String)> {
    let body = json!({ "metadata": { "name": name } });
    let account = cx.objects(&Kind::SERVICE_ACCOUNT).create(body).await?.is(201)?;
    let token = token(cx, name, json!({})).await?;
    Ok((account, token))
}

async fn token(cx: &Cx, account: &str, spec: Value) -> Result<String> {
    let path = format!("{}/{account}/token", cx.objects(&Kind::SERVICE_ACCOUNT).path());
    let body = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec });
    let made = cx.http.post(&path, &body).await?.is(201)?;
    made["status"]["token"].as_str().map(str::to_owned).context("no token")
}

async fn review_token(cx: &Cx, spec: Value) -> Result<Value> {
    let body = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec });
    cx.http.post("/apis/authentication.k8s.io/v1/tokenreviews", &body).await?.is(201)
}
