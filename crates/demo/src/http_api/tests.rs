use anneal_kit::Clock;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::*;
use crate::{Options, Start};

fn app(start: Start) -> App {
    App::new(&Options { start, slot_seconds: 20 }, Clock::machine()).expect("our own schema")
}

async fn ask(
    app: &App,
    method: &str,
    path: &str,
    content_type: &str,
    body: &str,
) -> (StatusCode, String, bool) {
    let mut request = Request::builder().method(method).uri(path);
    if !content_type.is_empty() {
        request = request.header(header::CONTENT_TYPE, content_type);
    }
    let request = request.body(Body::from(body.to_owned())).expect("a request");
    let answer = answer(app, request).await.map_err(|Reset| "reset").expect("an answer");
    let (head, body) = answer.into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    (
        head.status,
        String::from_utf8_lossy(&body).into_owned(),
        head.headers.contains_key(header::CONTENT_TYPE),
    )
}

const QUERY: &str = r#"{"query":"{ syncStatus }"}"#;
const SYNCED: &str = r#"{"data":{"syncStatus":"SYNCED"}}"#;

#[tokio::test]
async fn queries_are_answered_as_the_daemon_does() {
    let app = app(Start::Synced);
    let ok = (StatusCode::OK, SYNCED.to_owned(), false);
    assert_eq!(ask(&app, "POST", "/graphql", "application/json", QUERY).await, ok);
    assert_eq!(ask(&app, "POST", "/graphql", "application/graphql", "{ syncStatus }").await, ok);
    assert_eq!(ask(&app, "GET", "/graphql?query=%7B+syncStatus+%7D", "", "").await, ok);
    let ignored = ask(&app, "POST", "/graphql", "application/json; charset=utf-8", QUERY).await;
    assert_eq!(ignored.0, StatusCode::BAD_REQUEST, "such a body does not count");
    let (status, body, _) = ask(&app, "POST", "/graphql", "application/json", r#"{"query":"{"}"#).await;
    assert!(status == StatusCode::OK && body.starts_with('"'), "a syntax error is a bare string: {body}");
    assert_eq!(ask(&app, "GET", "/nonsense", "", "").await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn readiness_follows_the_state_that_is_set() {
    let app = app(Start::Synced);
    assert_eq!(ask(&app, "GET", "/readyz", "", "").await.0, StatusCode::OK);
    let patch = r#"{"daemonStatus":{"syncStatus":"CATCHUP"}}"#;
    assert_eq!(ask(&app, "PATCH", "/control/state", "application/json", patch).await.0, StatusCode::OK);
    assert_eq!(ask(&app, "GET", "/readyz", "", "").await.0, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(ask(&app, "GET", "/livez", "", "").await.0, StatusCode::OK);
    for (method, path, body) in [
        ("PATCH", "/control/state", "[]"),
        ("PATCH", "/control/state", r#"{"daemonStatus":"x"}"#),
        ("PATCH", "/control/state", r#"{"daemonStatus":null}"#),
        ("PUT", "/control/phases", r#"[{"seconds":5,"set":"x"}]"#),
        ("PUT", "/control/fault", r#"{"fault":{"kind":"hang"},"times":0}"#),
        ("PUT", "/control/fault", r#"{"fault":{"kind":"redirect","to":"a\nb"}}"#),
        ("PUT", "/control/phases", "[]"),
        ("PUT", "/control/phases", r#"[{"sekonds":1}]"#),
        ("PUT", "/control/fault", r#"{"fault":{"kind":"nonsense"}}"#),
    ] {
        assert_eq!(
            ask(&app, method, path, "", body).await.0,
            StatusCode::BAD_REQUEST,
            "{method} {path} {body}"
        );
    }
    assert_eq!(ask(&app, "POST", "/control/fault", "", "").await.0, StatusCode::METHOD_NOT_ALLOWED);
    let unchanged = ask(&app, "PUT", "/control/phases", "", r#"[{"seconds":1}]"#).await;
    assert!(unchanged.0 == StatusCode::OK && unchanged.1.contains("CATCHUP"), "{unchanged:?}");
}

async fn break_it(app: &App, fault: Value) {
    let plan = json!({ "fault": fault, "times": 1 }).to_string();
    assert_eq!(ask(app, "PUT", "/control/fault", "", &plan).await.0, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn faults_hit_as_often_as_they_were_told_to() {
    let app = app(Start::Synced);
    let query = || ask(&app, "POST", "/graphql", "application/json", QUERY);
    for (fault, status) in [("error", 500), ("unauthorized", 401)] {
        break_it(&app, json!({ "kind": fault })).await;
        assert_eq!(query().await.0.as_u16(), status);
        assert_eq!(query().await.1, SYNCED);
    }
    break_it(&app, json!({ "kind": "malformed" })).await;
    assert!(serde_json::from_str::<Value>(&query().await.1).is_err());
    break_it(&app, json!({ "kind": "partial" })).await;
    let asked = r#"{"query":"{ daemonStatus { uptimeSecs peers { host } } }"}"#;
    let partial: Value =
        serde_json::from_str(&ask(&app, "POST", "/graphql", "application/json", asked).await.1)
            .expect("JSON");
    assert!(partial["errors"].is_array() && partial["data"]["daemonStatus"]["uptimeSecs"] == 0, "{partial}");
    break_it(&app, json!({ "kind": "slow", "millis": 5000 })).await;
    let began = app.clock().instant();
    assert_eq!(query().await.1, SYNCED);
    assert_eq!(began.elapsed(), Duration::from_secs(5));
    break_it(&app, json!({ "kind": "hang" })).await;
    assert!(tokio::time::timeout(Duration::from_secs(3600), query()).await.is_err());
    break_it(&app, json!({ "kind": "huge" })).await;
    let huge = query().await.1;
    assert!(huge.len() > HUGE && serde_json::from_str::<Value>(&huge).is_ok());
    break_it(&app, json!({ "kind": "redirect", "to": "http://192.0.2.1/" })).await;
    assert_eq!(query().await.0, StatusCode::FOUND);
}

#[tokio::test]
async fn connections_can_be_reset() {
    let app = app(Start::Synced);
    break_it(&app, json!({ "kind": "reset" })).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let serving = tokio::spawn(app.serve(listener));
    let ask = async || {
        let mut stream = TcpStream::connect(address).await?;
        stream
            .write_all(
                b"GET /graphql?query=%7BsyncStatus%7D HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
            )
            .await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.map(|_| answer)
    };
    assert_eq!(ask().await.expect_err("must be reset").kind(), std::io::ErrorKind::ConnectionReset);
    assert!(ask().await.expect("an answer").ends_with(SYNCED));
    serving.abort();
}
