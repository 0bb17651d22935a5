//! From a request to its answer: who asks, for what, and whether they may.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, HttpBody},
    extract::Request,
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header, request::Parts};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::sync::OwnedSemaphorePermit;

use super::{
    access::{Attributes, User},
    answer::{Answer, Delivery, Rendering},
    error::{ApiError, Result},
    options::{ListOptions, Query},
    path::{self, ResourcePath},
    resource::Resource,
    reviews,
    server::{GROWTH, SMALL_BODY, Server},
    site, verbs,
    wire::{self, Format, Offers},
};

/// A request for a resource, on its way.
pub struct Call {
    pub server: Arc<Server>,
    pub user: User,
    pub path: ResourcePath,
    pub query: Query,
    pub method: Method,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Call {
    pub fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub fn content_type(&self) -> Option<&str> {
        self.header(header::CONTENT_TYPE)
    }

    pub fn user_agent(&self) -> &str {
        self.header(header::USER_AGENT).unwrap_or_default()
    }
}

/// An answer and what the client should be warned of.
pub struct Outcome {
    pub answer: Answer,
    pub warnings: Vec<String>,
}

impl From<Answer> for Outcome {
    fn from(answer: Answer) -> Self {
        Self { answer, warnings: Vec::new() }
    }
}

/// Answers any request, refusals included.
pub async fn handle(server: Arc<Server>, request: Request) -> Response<Body> {
    let (head, mut body) = request.into_parts();
    let accept = head.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let watches =
        head.method == Method::GET && Query::parse(head.uri.query().unwrap_or_default()).flag("watch");
    let limit = Duration::from_secs(server.limits.request_seconds);
    let outcome = match admit(&server, watches || is_inside(&head)) {
        Ok(_permit) => match tokio::time::timeout(limit, respond(&server, head, &mut body)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(ApiError::new(
                StatusCode::GATEWAY_TIMEOUT,
                "Timeout",
                format!("Timeout: request did not complete within {} s", limit.as_secs()),
            )),
        },
        Err(error) => Err(error),
    };
    match outcome {
        Ok(response) => response,
        Err(error) => {
            drain(body).await;
            refusal(&error, accept.as_deref())
        }
    }
}

/// Takes what is left of a body and throws it away: over HTTP/2 a client that is still sending would be cut off
/// before it reads why.
async fn drain(mut body: Body) {
    const MAX: usize = 128 << 20;
    const PATIENCE: Duration = Duration::from_secs(10);
    let reading = async {
        let mut read = 0;
        while let Some(Ok(frame)) = body.frame().await {
            read += frame.data_ref().map_or(0, Bytes::len);
            if read > MAX {
                break;
            }
        }
    };
    // Who is slower than that learns nothing, and is gone.
    let _ = tokio::time::timeout(PATIENCE, reading).await;
}

/// Whether a request comes from this process, which named its user itself.
fn is_inside(head: &Parts) -> bool {
    head.extensions.get::<User>().is_some()
}

/// A place among the requests that are under way, unless it is exempt: watches have places of their own, and what
/// comes from inside must not be kept out by those outside.
fn admit(server: &Server, exempt: bool) -> Result<Option<OwnedSemaphorePermit>> {
    if exempt {
        return Ok(None);
    }
    let permit = server.requests.clone().try_acquire_owned();
    permit
        .map(Some)
        .map_err(|_| ApiError::too_many_requests("too many requests, please try again later", Some(1)))
}

async fn respond(server: &Arc<Server>, head: Parts, body: &mut Body) -> Result<Response<Body>> {
    let inside = is_inside(&head);
    let user = server.access.authenticate(&head)?;
    let Some(path) = path::parse(head.uri.path()) else {
        server.access.authorize(&user, &Attributes::path(site::verb(&head.method), head.uri.path()))?;
        return site::answer(server, &head);
    };
    let query = Query::parse(head.uri.query().unwrap_or_default());
    let (verb, name) = verb(&head.method, &path, &query)?;
    server.access.authorize(
        &user,
        &Attributes {
            verb,
            group: &path.group,
            version: &path.version,
            resource: &path.plural,
            subresource: &path.subresource,
            namespace: &path.namespace,
            name: &name,
            path: None,
        },
    )?;
    let body = read_body(server, body).await?;
    let labour =
        if body.len() > SMALL_BODY { server.labour.clone().acquire_owned().await.ok() } else { None };
    let work = server.work.claim(body.len() * GROWTH).await;
    let Parts { method, headers, .. } = head;
    let call = Call { server: server.clone(), user, path, query, method, headers, body };
    let watch = verb == "watch";
    let accept = call.header(header::ACCEPT);
    let mut format =
        if watch { wire::negotiate_watch(accept)? } else { wire::negotiate(accept, Offers::Objects)? };
    format.pretty |= call.query.pretty(call.user_agent());
    let rendering = Rendering { format, include: call.query.include_object()? };
    let outcome = match reviews::answer(&call)? {
        Some(answer) => answer.into(),
        None => verbs::perform(&call, verb, rendering).await?,
    };
    drop(labour);
    // Who waits for more must not hold any.
    drop(work);
    let _work = server.work.claim(outcome.answer.parsed(format) * GROWTH).await;
    let accept_encoding = call.header(header::ACCEPT_ENCODING);
    let mut response = rendering.response(outcome.answer, &Delivery { server, accept_encoding, inside })?;
    for warning in bounded(&outcome.warnings) {
        if let Ok(value) = HeaderValue::from_str(&warning_header(warning)) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
    Ok(response)
}

/// What a request does, in the words of access rules, and the one object it is about.
fn verb(method: &Method, path: &ResourcePath, query: &Query) -> Result<(&'static str, String)> {
    let collection = path.name.is_empty();
    let verb = match *method {
        Method::GET | Method::HEAD if query.flag("watch") && path.subresource.is_empty() => "watch",
        Method::GET | Method::HEAD if collection => "list",
        Method::GET | Method::HEAD => "get",
        Method::POST => "create",
        Method::PUT if !collection => "update",
        Method::PATCH if !collection => "patch",
        Method::DELETE if collection => "deletecollection",
        Method::DELETE => "delete",
        _ => return Err(ApiError::method_not_allowed()),
    };
    if !collection || !matches!(verb, "list" | "watch") {
        return Ok((verb, path.name.clone()));
    }
    // A rule for one name covers the collection if only that one is selected.
    let options = ListOptions::parse(query);
    let name = options.ok().and_then(|options| options.fields.exact("metadata.name").map(str::to_owned));
    Ok((verb, name.unwrap_or_default()))
}

async fn read_body(server: &Server, body: &mut Body) -> Result<Bytes> {
    let limit = server.limits.body_bytes;
    // What is declared, or else as much as it may become.
    let declared = body.size_hint().upper().and_then(|length| usize::try_from(length).ok());
    if declared.is_some_and(|length| length > limit) {
        return Err(wire::body_too_large());
    }
    let expected = declared.unwrap_or(limit);
    let _upload = if expected > SMALL_BODY { server.uploads.claim(expected).await } else { None };
    match Limited::new(body, limit).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(wire::body_too_large()),
        Err(error) => Err(ApiError::bad_request(format!("the request's body broke off: {error}"))),
    }
}

/// Refuses in the encoding that the client reads.
pub fn refusal(error: &ApiError, accept: Option<&str>) -> Response<Body> {
    let format = Format::of_refusal(accept);
    let status = error.status();
    let body = wire::encode(&status, format).unwrap_or_else(|_| Bytes::from(status.to_string()));
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = error.code;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(format.content_type()));
    if let Some(seconds) = error.retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// As many warnings as a client can be expected to read: clients bound their headers, and each costs us time. As from
/// upstream, if all are too much then each is cut short, and what still does not fit is left out.
fn bounded(warnings: &[String]) -> impl Iterator<Item = &str> {
    const ALL: usize = 4 << 10;
    const EACH: usize = 256;
    let too_much = warnings.iter().map(String::len).sum::<usize>() > ALL;
    let cut = move |warning: &str| {
        let end = if too_much { warning.len().min(EACH) } else { warning.len() };
        (0..=end).rev().find(|end| warning.is_char_boundary(*end)).unwrap_or_default()
    };
    let mut size = 0;
    warnings.iter().map(move |warning| &warning[..cut(warning)]).take_while(move |warning| {
        size += warning.len();
        size <= ALL
    })
}

/// A warning as its header has it. What would break out of the quotes is taken out.
fn warning_header(text: &str) -> String {
    let escaped: String = text
        .chars()
        .filter(|character| !character.is_control())
        .flat_map(|character| match character {
            '"' | '\\' => vec!['\\', character],
            other => vec![other],
        })
        .collect();
    format!("299 - \"{escaped}\"")
}

/// The resource that a path names.
pub fn resource(call: &Call) -> Result<Arc<Resource>> {
    let ResourcePath { group, version, namespace, plural, .. } = &call.path;
    let found = call.server.resources.find(group, version, plural);
    let found = found.ok_or_else(ApiError::no_such_resource)?;
    if !found.namespaced && !namespace.is_empty() {
        return Err(ApiError::no_such_resource());
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_bounded() {
        let few = vec!["a".repeat(1000), "b".to_owned()];
        assert!(bounded(&few).eq(few.iter().map(String::as_str)));
        let many: Vec<String> = (0..100_000).map(|number| format!("unknown field \"f{number}\"")).collect();
        let shown: Vec<&str> = bounded(&many).collect();
        assert!((100..300).contains(&shown.len()) && shown[0] == many[0], "{}", shown.len());
        let long = vec!["ä".repeat(5000); 50];
        let shown: Vec<&str> = bounded(&long).collect();
        assert!(shown.len() == 16 && shown.iter().all(|warning| warning.len() == 256), "{}", shown.len());
    }
}
