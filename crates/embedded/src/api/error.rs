//! Refusals, answered as a `Status` object with code, reason and causes.

use http::StatusCode;
use serde_json::{Value, json};

use super::fault::Faults;

/// A refusal.
#[derive(Clone, Debug)]
pub struct ApiError {
    pub code: StatusCode,
    /// The machine's word for it; some of upstream's refusals have none.
    pub reason: &'static str,
    pub message: String,
    /// `details` of the Status, `Null` if there are none.
    pub details: Value,
    /// Seconds after which to ask again.
    pub retry_after: Option<u64>,
}

pub type Result<T, E = ApiError> = std::result::Result<T, E>;

/// What an error is about: `deployments.apps "web"`.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    pub group: &'a str,
    /// The plural, or the kind for faults of the object itself.
    pub resource: &'a str,
    pub name: &'a str,
}

impl About<'_> {
    fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.resource.to_owned()
        } else {
            format!("{}.{}", self.resource, self.group)
        }
    }

    fn details(&self) -> Value {
        let mut details = json!({ "kind": self.resource });
        for (field, value) in [("group", self.group), ("name", self.name)] {
            if !value.is_empty() {
                details[field] = value.into();
            }
        }
        details
    }
}

impl ApiError {
    /// The same about an object of another name.
    pub fn renamed(mut self, name: &str, other: &str) -> Self {
        self.message = self.message.replacen(&format!("{name:?}"), &format!("{other:?}"), 1);
        if self.details["name"] == name {
            self.details["name"] = other.into();
        }
        self
    }

    pub fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: Value::Null, retry_after: None }
    }

    fn about(about: About<'_>, code: StatusCode, reason: &'static str, message: String) -> Self {
        Self { details: about.details(), ..Self::new(code, reason, message) }
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    pub fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    /// Nothing of this name.
    pub fn not_found(about: About<'_>) -> Self {
        let message = format!("{} {:?} not found", about.qualified(), about.name);
        Self::about(about, StatusCode::NOT_FOUND, "NotFound", message)
    }

    /// No such path.
    pub fn no_such_resource() -> Self {
        let error =
            Self::new(StatusCode::NOT_FOUND, "NotFound", "the server could not find the requested resource");
        Self { details: json!({}), ..error }
    }

    pub fn already_exists(about: About<'_>) -> Self {
        let message = format!("{} {:?} already exists", about.qualified(), about.name);
        Self::about(about, StatusCode::CONFLICT, "AlreadyExists", message)
    }

    pub fn conflict(about: About<'_>, why: &str) -> Self {
        let message =
            format!("Operation cannot be fulfilled on {} {:?}: {why}", about.qualified(), about.name);
        Self::about(about, StatusCode::CONFLICT, "Conflict", message)
    }

    /// Somebody else changed the object.
    pub fn stale(about: About<'_>) -> Self {
        Self::conflict(
            about,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    pub fn forbidden(about: About<'_>, why: &str) -> Self {
        let message = format!("{} {:?} is forbidden: {why}", about.qualified(), about.name);
        Self::about(about, StatusCode::FORBIDDEN, "Forbidden", message)
    }

    /// An object that breaks rules; `about.resource` is its kind.
    pub fn invalid(about: About<'_>, faults: &Faults) -> Self {
        let message = format!("{} {:?} is invalid: {faults}", about.qualified(), about.name);
        let mut error = Self::about(about, StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message);
        let causes = faults
            .iter()
            .map(|fault| json!({ "reason": fault.reason, "message": fault.message, "field": fault.field }));
        error.details["causes"] = causes.collect();
        error
    }

    pub fn method_not_allowed() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
    }

    pub fn not_acceptable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    pub fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)
    }

    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
    }

    /// A version whose history is gone.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    pub fn too_many_requests(message: impl Into<String>, retry_after: Option<u64>) -> Self {
        Self { retry_after, ..Self::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", message) }
    }

    pub fn not_implemented(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_IMPLEMENTED, "NotImplemented", message)
    }

    pub fn internal(message: impl std::fmt::Display) -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "InternalError",
            format!("Internal error occurred: {message}"),
        )
    }

    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", message)
    }

    /// The body of the answer.
    pub fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code.as_u16(),
        });
        if !self.reason.is_empty() {
            status["reason"] = self.reason.into();
        }
        if !self.details.is_null() {
            status["details"] = self.details.clone();
        }
        if let Some(seconds) = self.retry_after {
            status["details"]["retryAfterSeconds"] = seconds.into();
        }
        status
    }
}
