//! What a request wants, in RBAC's terms, and the words of its refusal.
//!
//! The verb of a request on objects: GET is `get` with a name, `list` without one and `watch` with
//! `?watch=true`; POST is `create`, PUT `update`, PATCH `patch`, DELETE `delete` or `deletecollection`. A list
//! or watch whose field selector is exactly `metadata.name=x` has the name `x`. A create has no name: the
//! body is not read yet. A namespace belongs to itself: `/api/v1/namespaces/a` has namespace and name `a`. A
//! PATCH or PUT that turns out to create needs `create` as well. Any other path has the method in small
//! letters as its verb.

use http::StatusCode;
use serde_json::json;

use super::user::User;
use crate::api::error::{About, ApiError};

/// A request. What does not apply is empty.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Attributes<'a> {
    pub verb: &'a str,
    pub group: &'a str,
    /// Not looked at: rights do not depend on it.
    pub version: &'a str,
    /// The plural.
    pub resource: &'a str,
    pub subresource: &'a str,
    /// Empty for cluster scope, and for all namespaces.
    pub namespace: &'a str,
    pub name: &'a str,
    /// Set for a path that is no resource; the other fields but the verb are then not looked at.
    pub path: Option<&'a str>,
}

impl<'a> Attributes<'a> {
    /// A request to a path that is no resource.
    pub fn path(verb: &'a str, path: &'a str) -> Self {
        Self { verb, path: Some(path), ..Self::default() }
    }

    /// `pods/log`, or `pods`.
    pub(super) fn combined_resource(&self) -> String {
        match self.subresource {
            "" => self.resource.to_owned(),
            subresource => format!("{}/{subresource}", self.resource),
        }
    }

    /// The refusal. `reason` is what the evaluator has to say about it, mostly nothing.
    pub fn forbidden(&self, user: &User, reason: &str) -> ApiError {
        let mut why = self.why(user);
        if !reason.is_empty() {
            why = format!("{why}: {reason}");
        }
        if self.path.is_some() {
            let error = ApiError::new(StatusCode::FORBIDDEN, "Forbidden", format!("forbidden: {why}"));
            return ApiError { details: json!({}), ..error };
        }
        let about = About { group: self.group, resource: self.resource, name: self.name };
        let mut error = ApiError::forbidden(about, &why);
        if self.name.is_empty() {
            let dot = if self.group.is_empty() { "" } else { "." };
            error.message = format!("{}{dot}{} is forbidden: {why}", self.resource, self.group);
        }
        error
    }

    fn why(&self, user: &User) -> String {
        let text = match self.path {
            Some(path) => format!("User {:?} cannot {} path {path:?}", user.name, self.verb),
            None => {
                let place = match self.namespace {
                    "" => "at the cluster scope".to_owned(),
                    namespace => format!("in the namespace {namespace:?}"),
                };
                format!(
                    "User {:?} cannot {} resource {:?} in API group {:?} {place}",
                    user.name,
                    self.verb,
                    self.combined_resource(),
                    self.group
                )
            }
        };
        // Browsers show refusals too: what a caller sent must not become markup.
        text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_have_upstreams_words() {
        let user = User { name: "x".to_owned(), ..User::default() };
        let list = Attributes {
            verb: "list",
            group: "apps",
            resource: "deployments",
            namespace: "y",
            ..Attributes::default()
        };
        let error = list.forbidden(&user, "");
        assert_eq!(
            error.message,
            "deployments.apps is forbidden: User \"x\" cannot list resource \"deployments\" in API group \
             \"apps\" in the namespace \"y\""
        );
        assert_eq!(error.details, json!({ "group": "apps", "kind": "deployments" }));
        let log = Attributes { verb: "get", resource: "pods", subresource: "log", name: "p", ..list };
        let log = Attributes { group: "", namespace: "", ..log };
        assert_eq!(
            log.forbidden(&user, "").message,
            "pods \"p\" is forbidden: User \"x\" cannot get resource \"pods/log\" in API group \"\" at the \
             cluster scope"
        );
        let path = Attributes::path("post", "/<a>").forbidden(&user, "RBAC: because");
        assert_eq!(path.message, "forbidden: User \"x\" cannot post path \"/&lt;a&gt;\": RBAC: because");
        assert_eq!(path.details, json!({}));
    }
}
