use std::sync::Arc;

use anneal_kit::{Clock, Rng};

use super::*;
use crate::api::access::{
    Objects, Secrets,
    bootstrap::bootstrap_objects,
    fixtures::{binding, policy, role, rule, user},
};

struct Nothing;

impl Objects for Nothing {
    fn get(&self, _: &str, _: &str, _: &str) -> Option<Value> {
        None
    }
}

fn ask(resource: &str, namespace: &str, user: &User, body: Value) -> Result<Value> {
    let mut objects = bootstrap_objects();
    objects.push(role("Role", "r", json!([rule("get", "configmaps")])));
    objects.push(binding("RoleBinding", "b", "Role", "r", &[("User", "bob"), ("Group", "team")]));
    let rng = Rng::seeded(1);
    let secrets = Secrets { admin_token: "secret".to_owned(), signing_key: [1; 32] };
    let clock = Clock::starting_at(Timestamp::UNIX_EPOCH);
    let authenticator = Authenticator::new(&secrets, Arc::new(Nothing), clock, rng);
    let question = Question { body: &body, namespace, user, now: Timestamp::UNIX_EPOCH };
    answer(resource, question, &policy(&objects), &authenticator).expect("must be a review")
}

fn review(spec: Value) -> Result<Value> {
    ask("subjectaccessreviews", "", &User::admin(), json!({ "spec": spec }))
}

#[tokio::test]
async fn access_reviews_judge_users_and_groups() {
    let what = json!({ "namespace": "ns", "verb": "get", "resource": "configmaps" });
    for (who, allowed) in [
        (json!({ "user": "bob" }), true),
        (json!({ "groups": ["x", "team"] }), true),
        (json!({ "user": "ann" }), false),
    ] {
        let mut spec = who;
        spec["resourceAttributes"] = what.clone();
        let answer = review(spec.clone()).unwrap();
        assert_eq!((&answer["status"]["allowed"], &answer["spec"]), (&json!(allowed), &spec));
    }
    let spec = json!({ "groups": ["system:authenticated"], "nonResourceAttributes": { "path": "/api", "verb": "get" } });
    assert_eq!(
        review(spec).unwrap()["status"],
        json!({ "allowed": true, "reason": "RBAC: allowed by ClusterRoleBinding \"system:discovery\" of ClusterRole \
            \"system:discovery\" to Group \"system:authenticated\"" })
    );
}

#[tokio::test]
async fn malformed_reviews_are_refused_in_upstreams_words() {
    let error = review(json!({})).expect_err("must be refused");
    assert_eq!(
        error.message,
        ".authorization.k8s.io \"\" is invalid: [spec.resourceAttributes: Invalid value: null: exactly one of \
         nonResourceAttributes or resourceAttributes must be specified, spec.user: Invalid value: \"\": at least one \
         of user or group must be specified]"
    );
    assert!(error.details.get("kind").is_none() && error.details["group"] == AUTHORIZATION);
    let both = json!({ "user": "x", "resourceAttributes": {}, "nonResourceAttributes": { "path": "/x", "verb": "get" } });
    let error = review(both).expect_err("must be refused");
    assert!(error.message.contains("Invalid value: {\"Path\":\"/x\",\"Verb\":\"get\"}: cannot be specified"));
    let named = json!({ "metadata": { "name": "a" }, "spec": { "user": "x", "resourceAttributes": {} } });
    assert_eq!(ask("subjectaccessreviews", "", &User::admin(), named).expect_err("a name").code, 422);
    let local = |namespace: &str| {
        let spec = json!({ "user": "bob", "resourceAttributes": {
            "namespace": namespace, "verb": "get", "resource": "configmaps" } });
        let body = json!({ "metadata": { "namespace": "ns" }, "spec": spec });
        ask("localsubjectaccessreviews", "ns", &User::admin(), body)
    };
    assert_eq!(local("ns").unwrap()["status"]["allowed"], true);
    assert!(
        local("other").expect_err("another namespace").message.contains("spec.resourceAttributes.namespace")
    );
}

#[tokio::test]
async fn self_reviews_are_about_the_caller() {
    let bob = user("bob", &["team", "system:authenticated"]);
    let body = json!({ "spec": { "resourceAttributes": { "namespace": "ns", "verb": "get", "resource": "configmaps" } } });
    assert_eq!(ask("selfsubjectaccessreviews", "", &bob, body).unwrap()["status"]["allowed"], true);
    let rules = ask("selfsubjectrulesreviews", "", &bob, json!({ "spec": { "namespace": "ns" } })).unwrap();
    // Bound twice by one binding, shown once.
    let own = rules["status"]["resourceRules"].as_array().unwrap();
    assert_eq!(own.iter().filter(|own| own["resources"] == json!(["configmaps"])).count(), 1);
    assert_eq!(rules["status"]["nonResourceRules"].as_array().map(Vec::len), Some(2));
    assert_eq!((&rules["spec"], &rules["status"]["incomplete"]), (&json!({}), &json!(false)));
    assert_eq!(ask("selfsubjectrulesreviews", "", &bob, json!({})).expect_err("no namespace").code, 400);
    let who = ask("selfsubjectreviews", "", &bob, json!({})).unwrap();
    assert_eq!(
        who["status"]["userInfo"],
        json!({ "username": "bob", "groups": ["team", "system:authenticated"] })
    );
}

#[tokio::test]
async fn token_reviews_answer_for_bad_tokens_too() {
    let review = |spec: Value| ask("tokenreviews", "", &User::admin(), json!({ "spec": spec }));
    let good = review(json!({ "token": "secret" })).unwrap();
    assert_eq!(good["status"]["user"]["username"], "kubernetes-admin");
    let bad = review(json!({ "token": "garbage" })).unwrap();
    assert_eq!(bad["status"], json!({ "user": {}, "error": "invalid bearer token" }));
    assert_eq!(review(json!({})).expect_err("no token").code, 400);
}
