//! The review kinds: questions that are answered and not kept.
//!
//! A body is expected to have the form of its schema; what has another type counts as not given.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{attributes::Attributes, authenticator::Authenticator, policy::Policy, rule::Rule, user::User};
use crate::api::{
    error::{About, ApiError, Result},
    fault::{Faults, Path},
    object,
};

const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";

/// What a POST to one of the review resources brings.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    pub body: &'a Value,
    /// Of the path: local reviews have one.
    pub namespace: &'a str,
    /// Who asks.
    pub user: &'a User,
    pub now: Timestamp,
}

/// Answers a POST to a review resource, given by its plural; `None` if it is none.
pub fn answer(
    resource: &str,
    question: Question<'_>,
    policy: &Policy,
    authenticator: &Authenticator,
) -> Option<Result<Value>> {
    let Question { body, namespace, user, now } = question;
    Some(match resource {
        "tokenreviews" => token_review(body, authenticator),
        "selfsubjectreviews" => Ok(self_subject_review(user, now)),
        "subjectaccessreviews" => subject_access_review(body, policy),
        "localsubjectaccessreviews" => local_subject_access_review(body, namespace, policy),
        "selfsubjectaccessreviews" => self_subject_access_review(body, user, policy),
        "selfsubjectrulesreviews" => self_subject_rules_review(body, user, policy),
        _ => return None,
    })
}

/// Whose a token is. One that is not good is an answer, not an error.
fn token_review(body: &Value, authenticator: &Authenticator) -> Result<Value> {
    let token = object::text(body, "/spec/token");
    if token.is_empty() {
        return Err(ApiError::bad_request("token is required for TokenReview in authentication"));
    }
    let audiences = texts(&body["spec"]["audiences"]);
    let status = match authenticator.holder(token, &audiences) {
        Ok(holder) => {
            json!({ "authenticated": true, "user": holder.user.info(), "audiences": holder.audiences })
        }
        Err(refusal) => json!({ "user": {}, "error": refusal.to_string() }),
    };
    Ok(answered("TokenReview", AUTHENTICATION, &body["metadata"], &body["spec"], status))
}

/// Who the caller is.
fn self_subject_review(user: &User, now: Timestamp) -> Value {
    json!({
        "kind": "SelfSubjectReview",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": { "creationTimestamp": object::timestamp(now) },
        "status": { "userInfo": user.info() },
    })
}

fn subject_access_review(body: &Value, policy: &Policy) -> Result<Value> {
    let mut faults = Faults::default();
    check_metadata(body, &["managedFields"], "must be empty", &mut faults);
    check_target(&body["spec"], &mut faults);
    check_subject(&body["spec"], &mut faults);
    refuse(&faults)?;
    let status = judged(&body["spec"], &subject(&body["spec"]), policy);
    Ok(answered("SubjectAccessReview", AUTHORIZATION, &json!({}), &body["spec"], status))
}

fn local_subject_access_review(body: &Value, namespace: &str, policy: &Policy) -> Result<Value> {
    let (spec, own) = (&body["spec"], object::namespace(body));
    if !own.is_empty() && own != namespace {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    let mut faults = Faults::default();
    let path = Path::new("spec");
    check_metadata(body, &["managedFields", "namespace"], "must be empty except for namespace", &mut faults);
    check_target(spec, &mut faults);
    check_subject(spec, &mut faults);
    let target = &spec["resourceAttributes"];
    let named = target["namespace"].as_str().unwrap_or_default();
    if !target.is_null() && named != namespace {
        let path = path.child("resourceAttributes").child("namespace");
        faults.invalid_text(&path, named, "must match metadata.namespace");
    }
    if !spec["nonResourceAttributes"].is_null() {
        let path = path.child("nonResourceAttributes");
        faults.invalid(&path, &shown_path(spec), "disallowed on this kind of request");
    }
    refuse(&faults)?;
    let status = judged(spec, &subject(spec), policy);
    let metadata = json!({ "namespace": namespace });
    Ok(answered("LocalSubjectAccessReview", AUTHORIZATION, &metadata, spec, status))
}

fn self_subject_access_review(body: &Value, user: &User, policy: &Policy) -> Result<Value> {
    let mut faults = Faults::default();
    check_metadata(body, &["managedFields"], "must be empty", &mut faults);
    check_target(&body["spec"], &mut faults);
    refuse(&faults)?;
    let status = judged(&body["spec"], user, policy);
    Ok(answered("SelfSubjectAccessReview", AUTHORIZATION, &json!({}), &body["spec"], status))
}

/// Everything that the caller may do in a namespace.
fn self_subject_rules_review(body: &Value, user: &User, policy: &Policy) -> Result<Value> {
    let namespace = object::text(body, "/spec/namespace");
    if namespace.is_empty() {
        return Err(ApiError::bad_request("no namespace on request"));
    }
    let rules: Vec<&Rule> = policy.rules(user, namespace).collect();
    let resources = rules.iter().filter(|rule| !rule.resources.is_empty());
    let resources = resources.map(|rule| Rule { paths: Vec::new(), ..(*rule).clone() }.to_value());
    let paths = rules.iter().filter(|rule| !rule.paths.is_empty());
    let paths = paths.map(|rule| json!({ "verbs": rule.verbs, "nonResourceURLs": rule.paths }));
    let status = json!({
        "resourceRules": resources.collect::<Vec<_>>(),
        "nonResourceRules": paths.collect::<Vec<_>>(),
        "incomplete": false,
    });
    Ok(answered("SelfSubjectRulesReview", AUTHORIZATION, &json!({}), &json!({}), status))
}

fn answered(kind: &str, group: &str, metadata: &Value, spec: &Value, status: Value) -> Value {
    let metadata = if metadata.is_null() { &json!({}) } else { metadata };
    json!({
        "kind": kind,
        "apiVersion": format!("{group}/v1"),
        "metadata": metadata,
        "spec": spec,
        "status": status,
    })
}

/// The status of an access review.
fn judged(spec: &Value, user: &User, policy: &Policy) -> Value {
    let verdict = policy.verdict(user, &target(spec));
    let mut status = json!({ "allowed": verdict.allowed });
    if !verdict.reason.is_empty() {
        status["reason"] = json!(verdict.reason);
    }
    status
}

/// What an access review is about.
fn target(spec: &Value) -> Attributes<'_> {
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    if resource.is_null() {
        return Attributes::path(text(path, "verb"), text(path, "path"));
    }
    Attributes {
        verb: text(resource, "verb"),
        group: text(resource, "group"),
        version: text(resource, "version"),
        resource: text(resource, "resource"),
        subresource: text(resource, "subresource"),
        namespace: text(resource, "namespace"),
        name: text(resource, "name"),
        path: None,
    }
}

/// Whom an access review is about.
fn subject(spec: &Value) -> User {
    let extra = spec["extra"].as_object().into_iter().flatten();
    User {
        name: text(spec, "user").to_owned(),
        uid: text(spec, "uid").to_owned(),
        groups: texts(&spec["groups"]),
        extra: extra.map(|(key, values)| (key.clone(), texts(values))).collect(),
    }
}

fn check_metadata(body: &Value, allowed: &[&str], detail: &str, faults: &mut Faults) {
    let metadata = &body["metadata"];
    let mut fields = metadata.as_object().into_iter().flatten();
    if fields.any(|(field, value)| !value.is_null() && !allowed.contains(&field.as_str())) {
        faults.invalid(&Path::new("metadata"), metadata, detail);
    }
}

/// One must ask about one thing.
fn check_target(spec: &Value, faults: &mut Faults) {
    let path = Path::new("spec");
    match (spec["resourceAttributes"].is_null(), spec["nonResourceAttributes"].is_null()) {
        (true, true) => faults.invalid(
            &path.child("resourceAttributes"),
            &Value::Null,
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        ),
        (false, false) => faults.invalid(
            &path.child("nonResourceAttributes"),
            &shown_path(spec),
            "cannot be specified in combination with resourceAttributes",
        ),
        _ => {}
    }
    for selector in ["fieldSelector", "labelSelector"] {
        check_selector(&spec["resourceAttributes"], selector, faults);
    }
}

/// Selectors narrow a request for evaluators that know more than RBAC; here they are checked and ignored.
fn check_selector(attributes: &Value, field: &str, faults: &mut Faults) {
    let path = Path::new("spec.resourceAttributes").child(field);
    let selector = &attributes[field];
    let (raw, requirements) = (text(selector, "rawSelector"), object::items(selector, "/requirements"));
    if selector.is_null() {
    } else if !raw.is_empty() && !requirements.is_empty() {
        faults.invalid_text(
            &path.child("rawSelector"),
            raw,
            "may not specified at the same time as requirements",
        );
    } else if raw.is_empty() && requirements.is_empty() {
        let detail = format!("when {path} is specified, requirements or rawSelector is required");
        faults.required(&path.child("requirements"), detail);
    }
}

/// One must ask about somebody.
fn check_subject(spec: &Value, faults: &mut Faults) {
    if text(spec, "user").is_empty() && texts(&spec["groups"]).is_empty() {
        faults.invalid_text(&Path::new("spec.user"), "", "at least one of user or group must be specified");
    }
}

/// The path in question as upstream's messages show it: by the names that its fields have in Go.
fn shown_path(spec: &Value) -> Value {
    let path = &spec["nonResourceAttributes"];
    json!({ "Path": text(path, "path"), "Verb": text(path, "verb") })
}

/// Upstream's reviews have no name and its refusals name no kind.
fn refuse(faults: &Faults) -> Result<()> {
    if faults.is_empty() {
        return Ok(());
    }
    let mut error = ApiError::invalid(About { group: AUTHORIZATION, resource: "", name: "" }, faults);
    error.details.as_object_mut().map(|details: &mut Map<_, _>| details.remove("kind"));
    Err(error)
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
