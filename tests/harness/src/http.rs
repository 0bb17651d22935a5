//! Requests as they cross the wire, through any `kube::Client`.

use std::fmt;

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use http_body_util::BodyExt;
use kube::{Client, client::Body};
use serde_json::Value;

use crate::{PATIENCE, Watch};

/// A way into a server that hides nothing.
#[derive(Clone)]
pub struct Http {
    client: Client,
    headers: HeaderMap,
}

/// How a patch is to be understood.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PatchKind {
    /// RFC 6902.
    Json,
    /// RFC 7396.
    Merge,
    /// Kubernetes' own, with merge keys.
    Strategic,
    /// Server-side apply.
    Apply,
}

impl PatchKind {
    /// The media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json-patch+json",
            Self::Merge => "application/merge-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
            Self::Apply => "application/apply-patch+yaml",
        }
    }
}

impl Http {
    /// Over a client.
    pub fn new(client: Client) -> Self {
        Self { client, headers: HeaderMap::new() }
    }

    /// The client underneath.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The same with a header on each request; a second value for a name is added to the first.
    pub fn with_header(&self, name: &'static str, value: &str) -> Self {
        let mut with = self.clone();
        let value = HeaderValue::from_str(value).expect("a test's header must be valid");
        with.headers.append(HeaderName::from_static(name), value);
        with
    }

    /// The same acting as another user.
    pub fn impersonate(&self, user: &str, groups: &[&str]) -> Self {
        let as_user = self.with_header("impersonate-user", user);
        groups.iter().fold(as_user, |http, group| http.with_header("impersonate-group", group))
    }

    /// GET.
    ///
    /// # Errors
    /// When no answer comes; an answer that says no is an answer.
    pub async fn get(&self, path: &str) -> Result<Reply> {
        self.send(Method::GET, path, None, Bytes::new()).await
    }

    /// POST of JSON.
    ///
    /// # Errors
    /// As [`Http::get`].
    pub async fn post(&self, path: &str, body: &Value) -> Result<Reply> {
        self.send(Method::POST, path, Some("application/json"), body.to_string().into()).await
    }

    /// PUT of JSON.
    ///
    /// # Errors
    /// As [`Http::get`].
    pub async fn put(&self, path: &str, body: &Value) -> Result<Reply> {
        self.send(Method::PUT, path, Some("application/json"), body.to_string().into()).await
    }

    /// PATCH.
    ///
    /// # Errors
    /// As [`Http::get`].
    pub async fn patch(&self, path: &str, kind: PatchKind, body: &Value) -> Result<Reply> {
        self.send(Method::PATCH, path, Some(kind.media_type()), body.to_string().into()).await
    }

    /// DELETE, with options unless they are null.
    ///
    /// # Errors
    /// As [`Http::get`].
    pub async fn delete(&self, path: &str, options: &Value) -> Result<Reply> {
        match options {
            Value::Null => self.send(Method::DELETE, path, None, Bytes::new()).await,
            options => {
                self.send(Method::DELETE, path, Some("application/json"), options.to_string().into()).await
            }
        }
    }

    /// Any request.
    ///
    /// # Errors
    /// As [`Http::get`].
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        content_type: Option<&str>,
        body: Bytes,
    ) -> Result<Reply> {
        let what = format!("{method} {path}");
        let exchange = async {
            let response = self.client.send(self.request(method, path, content_type, body)?).await?;
            let (head, body) = response.into_parts();
            let bytes = body.collect().await?.to_bytes();
            Ok::<_, anyhow::Error>(Reply {
                request: what.clone(),
                status: head.status.as_u16(),
                headers: head.headers,
                bytes,
            })
        };
        match tokio::time::timeout(PATIENCE, exchange).await {
            Ok(reply) => reply.with_context(|| what.clone()),
            Err(_) => bail!("{what}: no answer within {} s", PATIENCE.as_secs()),
        }
    }

    /// Starts a watch; `query` as in `resourceVersion=5&allowWatchBookmarks=true`.
    ///
    /// # Errors
    /// When no answer comes, or one that is not a stream: its status and body are in the error.
    pub async fn watch(&self, path: &str, query: &str) -> Result<Watch> {
        let path = format!("{path}?watch=true&{query}");
        let request = self.request(Method::GET, &path, None, Bytes::new())?;
        let response = tokio::time::timeout(PATIENCE, self.client.send(request))
            .await
            .with_context(|| format!("GET {path}: no answer within {} s", PATIENCE.as_secs()))??;
        let (head, body) = response.into_parts();
        if !head.status.is_success() {
            let bytes = body.collect().await?.to_bytes();
            let reply = Reply { request: path, status: head.status.as_u16(), headers: head.headers, bytes };
            bail!("{reply}");
        }
        Ok(Watch::new(path, body))
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        content_type: Option<&str>,
        body: Bytes,
    ) -> Result<Request<Body>> {
        let mut request = Request::builder().method(method).uri(path).body(Body::from(body.to_vec()))?;
        *request.headers_mut() = self.headers.clone();
        if let Some(content_type) = content_type {
            request.headers_mut().insert(http::header::CONTENT_TYPE, content_type.parse()?);
        }
        if !self.headers.contains_key(http::header::ACCEPT) {
            request.headers_mut().insert(http::header::ACCEPT, HeaderValue::from_static("application/json"));
        }
        Ok(request)
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Reply {
    request: String,
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub bytes: Bytes,
}

impl Reply {
    /// The body as JSON.
    ///
    /// # Errors
    /// When it is not JSON.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.bytes).with_context(|| format!("not JSON: {self}"))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// The body, if the answer is a success.
    ///
    /// # Errors
    /// When it is not.
    pub fn ok(&self) -> Result<Value> {
        ensure!((200..300).contains(&self.status), "expected success: {self}");
        self.json()
    }

    /// The body, if the answer has this status code.
    ///
    /// # Errors
    /// When it has another.
    pub fn is(&self, status: u16) -> Result<Value> {
        ensure!(self.status == status, "expected {status}: {self}");
        self.json()
    }

    /// The `Status` body, if the answer refuses with this code and reason.
    ///
    /// # Errors
    /// When it does not, or when the body is not a proper `Status` of a failure.
    pub fn refused(&self, status: u16, reason: &str) -> Result<Value> {
        ensure!(self.status == status, "expected {status} {reason}: {self}");
        let body = self.json()?;
        let is = |field: &str, value: Value| body[field] == value;
        ensure!(
            is("kind", "Status".into())
                && is("apiVersion", "v1".into())
                && is("status", "Failure".into())
                && is("code", status.into())
                && is("reason", reason.into())
                && body["message"].as_str().is_some_and(|message| !message.is_empty()),
            "expected a Status of {status} {reason}: {self}"
        );
        Ok(body)
    }

    /// A header as text, empty if it is not there.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Enough to see what is wrong without burying it.
        let text = self.text();
        let shown: String = text.chars().take(2000).collect();
        write!(f, "{} answered {}: {shown}", self.request, self.status)
    }
}
