//! Questions that are answered and not kept: reviews of tokens and of access.

use http::{Method, StatusCode};

use super::{
    access::{self, Question},
    answer::Answer,
    error::{ApiError, Result},
    handler::Call,
    wire,
};

/// What is asked by POST: group, plural, kind, whether it has a namespace.
pub const REVIEWS: &[(&str, &str, &str, bool)] = &[
    ("authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview", false),
    ("authentication.k8s.io", "tokenreviews", "TokenReview", false),
    ("authorization.k8s.io", "localsubjectaccessreviews", "LocalSubjectAccessReview", true),
    ("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview", false),
    ("authorization.k8s.io", "selfsubjectrulesreviews", "SelfSubjectRulesReview", false),
    ("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview", false),
];

/// Answers a review; `None` if the request is something else.
pub fn answer(call: &Call) -> Result<Option<Answer>> {
    let path = &call.path;
    let asked = REVIEWS.iter().find(|(group, plural, ..)| path.group == *group && path.plural == *plural);
    let Some((_, plural, kind, namespaced)) = asked else { return Ok(None) };
    if path.version != "v1" || *namespaced == path.namespace.is_empty() || !path.name.is_empty() {
        return Err(ApiError::no_such_resource());
    }
    if call.method != Method::POST {
        return Err(ApiError::method_not_allowed());
    }
    let body = wire::decode(call.content_type(), &call.body)?.value;
    let api_version = format!("{}/v1", path.group);
    for (field, wanted) in [("apiVersion", api_version.as_str()), ("kind", kind)] {
        if body[field].as_str().is_some_and(|given| !given.is_empty() && given != wanted) {
            return Err(ApiError::bad_request(format!("{field} must be {wanted}, not {}", body[field])));
        }
    }
    let question =
        Question { body: &body, namespace: &path.namespace, user: &call.user, now: call.server.clock.now() };
    let access = &call.server.access;
    let answered = access::answer(plural, question, &access.policy(), &access.authenticator);
    let value = answered.unwrap_or_else(|| Err(ApiError::no_such_resource()))?;
    Ok(Some(Answer::Value(StatusCode::CREATED, value)))
}
