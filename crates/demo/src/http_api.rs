//! What is answered on which path.

use std::time::Duration;

use axum::{
    body::Body,
    http::{HeaderValue, Method, Request, Response, StatusCode, header},
};
use bytes::Bytes;
use futures::{StreamExt, stream};
use http_body_util::{BodyExt, Limited};
use serde_json::{Value, json};

use crate::{
    fault::{Fault, Plan},
    graphql::{self, Answer},
    node::{MOST_PHASES, Phase},
    server::{App, Reset},
};

const MOST_BODY: usize = 1 << 20;
/// The size of an answer that is too large on purpose.
const HUGE: usize = 100 << 20;

pub(crate) async fn answer(app: &App, request: Request<Body>) -> Result<Response<Body>, Reset> {
    let (head, body) = request.into_parts();
    let path = head.uri.path().trim_end_matches('/').to_owned();
    let fault = match path.as_str() {
        path if path.starts_with("/control") => None,
        "/graphql" => take_fault(app, false),
        _ => take_fault(app, true),
    };
    match fault {
        None | Some(Fault::Partial {} | Fault::NoIntrospection {}) => {}
        Some(Fault::Hang {}) => std::future::pending().await,
        Some(Fault::Error {}) => return Ok(text(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error")),
        Some(Fault::Slow { millis }) => app.clock().sleep(Duration::from_millis(millis.into())).await,
        Some(Fault::Malformed {}) => {
            return Ok(bare(StatusCode::OK, r#"{"data":{"daemonStatus":{"syncStatus""#));
        }
        Some(Fault::Unauthorized {}) => return Ok(text(StatusCode::UNAUTHORIZED, "Unauthorized")),
        Some(Fault::Reset {}) => return Err(Reset),
        Some(Fault::Huge {}) => return Ok(huge()),
        Some(Fault::Redirect { to }) => return Ok(redirect(&to)),
    }
    let body = match Limited::new(body, MOST_BODY).collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => return Ok(text(StatusCode::PAYLOAD_TOO_LARGE, "The body is too large, or broke off")),
    };
    Ok(match (&head.method, path.as_str()) {
        (&Method::GET | &Method::POST, "/graphql") => {
            let content_type = head.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
            query(app, head.uri.query().unwrap_or_default(), content_type, &body, fault.as_ref())
        }
        (&Method::GET, "") => text(
            StatusCode::OK,
            "This page is intentionally left blank. The graphql endpoint is located at `/graphql`.",
        ),
        (&Method::GET, "/status") => {
            let state = app.state().node.state(app.clock().now());
            json_text(StatusCode::OK, &state["daemonStatus"])
        }
        (&Method::GET, "/healthz" | "/livez") => text(StatusCode::OK, "ok"),
        (&Method::GET, "/readyz") if app.state().node.is_synced() => text(StatusCode::OK, "ok"),
        (&Method::GET, "/readyz") => text(StatusCode::SERVICE_UNAVAILABLE, "not in sync"),
        (method, path) if path.starts_with("/control") => control(app, method, path, &body),
        _ => text(StatusCode::NOT_FOUND, "Not found"),
    })
}

/// The fault that hits this request, if any.
fn take_fault(app: &App, probe: bool) -> Option<Fault> {
    let mut state = app.state();
    let plan = state.plan.as_mut().filter(|plan| plan.probes || !probe)?;
    let fault = plan.fault.clone();
    if let Some(times) = &mut plan.times {
        *times = times.saturating_sub(1);
        if *times == 0 {
            state.plan = None;
        }
    }
    Some(fault)
}

/// A query, by the daemon's rules: the content type must be these very words, or the body does not count.
fn query(
    app: &App,
    uri: &str,
    content_type: Option<&str>,
    body: &Bytes,
    fault: Option<&Fault>,
) -> Response<Body> {
    let parameter = |name: &str| {
        let mut parameters = form_urlencoded::parse(uri.as_bytes());
        parameters.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    };
    let (mut query, mut variables, mut operation) = (
        parameter("query"),
        parameter("variables").and_then(|text| serde_json::from_str(&text).ok()),
        parameter("operationName"),
    );
    match content_type {
        Some("application/json") => {
            let Ok(sent) = serde_json::from_slice::<Value>(body) else {
                return text(StatusCode::BAD_REQUEST, "The body is not JSON");
            };
            let field = |name: &str| sent[name].as_str().map(str::to_owned);
            query = query.or(field("query"));
            operation = operation.or(field("operationName"));
            variables = variables.or(Some(sent["variables"].clone()));
        }
        Some("application/graphql") => query = query.or(String::from_utf8(body.to_vec()).ok()),
        _ => {}
    }
    let Some(query) = query else {
        return text(
            StatusCode::BAD_REQUEST,
            "Must provide a GraphQL query in the request body or as query parameter",
        );
    };
    let mut root = app.state().node.state(app.clock().now());
    if fault == Some(&Fault::Partial {}) {
        root["daemonStatus"]["peers"] = json!({ "$error": "The peers could not be reached" });
    }
    let introspection = fault != Some(&Fault::NoIntrospection {});
    let variables = variables.unwrap_or_default();
    let request = graphql::Request {
        query: &query,
        operation: operation.as_deref(),
        variables: &variables,
        introspection,
    };
    match graphql::execute(app.schema(), &root, &request) {
        Answer::Response(answer) => bare(StatusCode::OK, answer.to_string()),
        // A bare string, and a success: so it is.
        Answer::Syntax(message) => bare(StatusCode::OK, json!(message).to_string()),
        Answer::Subscription => {
            text(StatusCode::BAD_REQUEST, "Subscriptions are only supported via websocket transport")
        }
    }
}

/// Sets the state, the phases, a fault.
fn control(app: &App, method: &Method, path: &str, body: &Bytes) -> Response<Body> {
    let wrong =
        |error: serde_json::Error| json_text(StatusCode::BAD_REQUEST, &json!({ "error": error.to_string() }));
    match (method, path) {
        (&Method::GET, "/control") => {}
        (&Method::PATCH, "/control/state") => match serde_json::from_slice::<Value>(body) {
            Ok(patch) if is_state(&patch) => app.state().node.set(&patch),
            Ok(_) => return refused("the state and its daemonStatus are objects"),
            Err(error) => return wrong(error),
        },
        (&Method::PUT, "/control/phases") => match serde_json::from_slice::<Vec<Phase>>(body) {
            Ok(phases) if phases.len() > MOST_PHASES || phases.is_empty() => {
                return refused(&format!("give 1 to {MOST_PHASES} phases"));
            }
            Ok(phases) if !phases.iter().all(|phase| is_state(&phase.set)) => {
                return refused("what a phase sets, and the daemonStatus in it, are objects");
            }
            Ok(phases) => app.state().node.set_phases(phases, app.clock().now()),
            Err(error) => return wrong(error),
        },
        (&Method::PUT, "/control/fault") => match serde_json::from_slice::<Plan>(body) {
            Ok(Plan { times: Some(0), .. }) => {
                return refused("a fault hits at least once: leave times out for always");
            }
            Ok(Plan { fault: Fault::Redirect { to }, .. }) if HeaderValue::from_str(&to).is_err() => {
                return refused("the place to redirect to is no header");
            }
            Ok(plan) => app.state().plan = Some(plan),
            Err(error) => return wrong(error),
        },
        (&Method::DELETE, "/control/fault") => app.state().plan = None,
        (_, "/control" | "/control/state" | "/control/phases" | "/control/fault") => {
            return json_text(
                StatusCode::METHOD_NOT_ALLOWED,
                &json!({ "error": "the method is not allowed here" }),
            );
        }
        _ => return json_text(StatusCode::NOT_FOUND, &json!({ "error": "there is no such control" })),
    }
    let state = app.state();
    let told = json!({
        "state": state.node.state(app.clock().now()), "phases": state.node.phases(), "fault": state.plan,
    });
    json_text(StatusCode::OK, &told)
}

fn refused(why: &str) -> Response<Body> {
    json_text(StatusCode::BAD_REQUEST, &json!({ "error": why }))
}

/// Whether a patch leaves a state: what is answered is made of these objects.
fn is_state(patch: &Value) -> bool {
    patch.is_object() && patch.get("daemonStatus").is_none_or(Value::is_object)
}

/// Without a content type, as the daemon answers.
fn bare(status: StatusCode, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response
}

fn text(status: StatusCode, body: &'static str) -> Response<Body> {
    let mut response = bare(status, body);
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

fn json_text(status: StatusCode, body: &Value) -> Response<Body> {
    let mut response = bare(status, body.to_string());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn redirect(to: &str) -> Response<Body> {
    match HeaderValue::from_str(to) {
        Ok(to) => {
            let mut response = text(StatusCode::FOUND, "Found");
            response.headers_mut().insert(header::LOCATION, to);
            response
        }
        Err(_) => text(StatusCode::INTERNAL_SERVER_ERROR, "The place to redirect to is no header"),
    }
}

/// Valid JSON, piece by piece.
fn huge() -> Response<Body> {
    const PIECE: usize = 64 << 10;
    let piece = Bytes::from(vec![b'a'; PIECE]);
    let middle = stream::iter(std::iter::repeat_n(piece, HUGE / PIECE));
    let begin = stream::iter([Bytes::from_static(br#"{"data":{"syncStatus":""#)]);
    let end = stream::iter([Bytes::from_static(br#""}}"#)]);
    let all = begin.chain(middle).chain(end).map(Ok::<_, std::convert::Infallible>);
    bare(StatusCode::OK, Body::from_stream(all))
}

#[cfg(test)]
mod tests;
