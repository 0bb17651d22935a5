//! What a request does, read from its method and path.

use std::fmt;

use http::{Method, header::CONTENT_TYPE, request::Parts};

/// A call of an actor, or an event that a watch brings it. What does not apply is empty.
#[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Call {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `apply`, `delete` or `deletecollection`; of an event
    /// `added`, `modified`, `deleted`, `bookmark` or `error`; of a path that is no resource the method.
    pub verb: String,
    pub group: String,
    /// The plural, or the whole path if it is no resource.
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    /// Of what is created, the name in the body, or the one to be generated from.
    pub name: String,
}

/// `apply deployments.apps/status ns/web`.
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        for (mark, part) in [(".", &self.group), ("/", &self.subresource)] {
            if !part.is_empty() {
                write!(f, "{mark}{part}")?;
            }
        }
        match (self.namespace.as_str(), self.name.as_str()) {
            ("", "") => Ok(()),
            ("", name) => write!(f, " {name}"),
            (namespace, name) => write!(f, " {namespace}/{name}"),
        }
    }
}

/// What a request does. The name of what a POST creates stands in the body and is not told here.
pub fn call_of(parts: &Parts) -> Call {
    let path = parts.uri.path();
    let segments: Vec<_> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let (group, rest) = match segments.as_slice() {
        ["api", _, rest @ ..] => ("", rest),
        ["apis", group, _, rest @ ..] => (*group, rest),
        _ => ("", &[][..]),
    };
    let (namespace, rest) = match rest {
        // What follows is of the namespace, not in it.
        ["namespaces", name, sub @ ("status" | "finalize")] => ("", &["namespaces", *name, *sub][..]),
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
        rest => ("", rest),
    };
    let Some((resource, rest)) = rest.split_first() else {
        let verb = parts.method.as_str().to_lowercase();
        return Call { verb, resource: path.to_owned(), ..Call::default() };
    };
    let (name, subresource) = match rest {
        [] => ("", String::new()),
        [name, rest @ ..] => (*name, rest.join("/")),
    };
    Call {
        verb: verb(parts, name).to_owned(),
        group: group.to_owned(),
        resource: (*resource).to_owned(),
        subresource,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

fn verb<'a>(parts: &'a Parts, name: &str) -> &'a str {
    let named = !name.is_empty();
    match parts.method {
        Method::GET | Method::HEAD if watches(parts) => "watch",
        Method::GET | Method::HEAD if named => "get",
        Method::GET | Method::HEAD => "list",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH if applies(parts) => "apply",
        Method::PATCH => "patch",
        Method::DELETE if named => "delete",
        Method::DELETE => "deletecollection",
        ref other => other.as_str(),
    }
}

fn watches(parts: &Parts) -> bool {
    let query = parts.uri.query().unwrap_or_default();
    query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1"))
}

fn applies(parts: &Parts) -> bool {
    let kind = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("application/apply-patch"))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn a_call_is_read_from_method_and_path() {
        for (method, path, shown) in [
            ("GET", "/api/v1/nodes", "list nodes"),
            ("GET", "/api/v1/nodes/n", "get nodes n"),
            ("GET", "/api/v1/namespaces", "list namespaces"),
            ("GET", "/api/v1/namespaces/a", "get namespaces a"),
            ("PUT", "/api/v1/namespaces/a/finalize", "update namespaces/finalize a"),
            ("GET", "/api/v1/namespaces/a/pods?watch=true&x=y", "watch pods a/"),
            ("GET", "/api/v1/namespaces/a/pods?fieldSelector=watch=true", "list pods a/"),
            ("GET", "/api/v1/namespaces/a/pods/p/log", "get pods/log a/p"),
            ("POST", "/apis/apps/v1/namespaces/a/deployments", "create deployments.apps a/"),
            ("PATCH", "/apis/apps/v1/namespaces/a/deployments/w/scale", "patch deployments.apps/scale a/w"),
            ("DELETE", "/apis/apps/v1/namespaces/a/deployments", "deletecollection deployments.apps a/"),
            ("DELETE", "/apis/x.io/v1/things/a", "delete things.x.io a"),
            ("GET", "/version", "get /version"),
            ("GET", "/apis/apps/v1", "get /apis/apps/v1"),
        ] {
            let (parts, ()) = Request::builder().method(method).uri(path).body(()).unwrap().into_parts();
            assert_eq!(call_of(&parts).to_string(), shown, "{method} {path}");
        }
        let apply = Request::patch("/api/v1/nodes/n").header(CONTENT_TYPE, "application/apply-patch+yaml");
        let (parts, ()) = apply.body(()).unwrap().into_parts();
        assert_eq!(call_of(&parts).verb, "apply");
    }
}
