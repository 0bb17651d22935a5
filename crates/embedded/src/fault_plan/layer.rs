//! The layer itself: each call passes here, on its way to the server and back.

use std::{
    io,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{HeaderValue, Request, Response, header};
use http_body::Body;
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use serde_json::Value;
use tower::{BoxError, Layer, Service};

use super::{
    call::{Call, call_of},
    events,
    plan::{Fault, Plan},
    when::Point,
};
use crate::api::{error::ApiError, object};

/// The body of an answer that has passed the seam.
pub(super) type Answer = UnsyncBoxBody<Bytes, BoxError>;

/// Makes the seam of one actor around a service.
#[derive(Clone)]
pub struct FaultLayer(Seam);

/// A service whose calls go by plan.
#[derive(Clone)]
pub struct FaultService<S> {
    inner: S,
    seam: Seam,
}

#[derive(Clone)]
pub(super) struct Seam {
    pub plan: Plan,
    pub actor: Arc<str>,
}

impl FaultLayer {
    pub(super) fn new(plan: Plan, actor: &str) -> Self {
        Self(Seam { plan, actor: actor.into() })
    }
}

impl<S> Layer<S> for FaultLayer {
    type Service = FaultService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        FaultService { inner, seam: self.0.clone() }
    }
}

impl<S, Q, A> Service<Request<Q>> for FaultService<S>
where
    S: Service<Request<Q>, Response = Response<A>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    Q: Body<Data = Bytes> + From<Bytes> + Send + 'static,
    Q::Error: Into<BoxError>,
    A: Body<Data = Bytes> + Send + 'static,
    A::Error: Into<BoxError>,
{
    type Response = Response<Answer>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        // The one that is ready is used up, its clone stays.
        let inner = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, inner);
        let seam = self.seam.clone();
        Box::pin(async move {
            let (request, call) = named(request).await?;
            let question = request.uri().to_string();
            let send = async |request| {
                let answer = inner.call(request).await.map_err(Into::into)?;
                Ok(answer.map(|body| body.map_err(Into::into).boxed_unsync()))
            };
            seam.pass(call, question, request, send).await
        })
    }
}

impl Seam {
    /// Takes a call to the server and its answer back, with what is planned for it.
    async fn pass<Q>(
        &self,
        call: Call,
        question: String,
        request: Request<Q>,
        send: impl AsyncFnOnce(Request<Q>) -> Result<Response<Answer>, BoxError>,
    ) -> Result<Response<Answer>, BoxError> {
        self.running().await;
        let Some((fault, point)) = self.plan.call(&self.actor, &call) else {
            let answer = send(request).await?;
            return self.deliver(call, &question, answer, 0).await.map(|(answer, _)| answer);
        };
        if !matches!(fault, Fault::Stale(_)) {
            self.plan.happened(&point);
        }
        match fault {
            Fault::Drop => return Err(broken()),
            Fault::Refuse(error) => return Ok(refusal(&error)),
            Fault::Delay(duration) => {
                self.plan.clock().sleep(duration).await;
                self.running().await;
            }
            Fault::StopBefore => self.plan.stop(&self.actor, point.clone()).await,
            _ => {}
        }
        let answer = send(request).await?;
        match fault {
            Fault::Lose => return Err(broken()),
            Fault::LoseAndRefuse(error) => return Ok(refusal(&error)),
            Fault::StopAfter => self.plan.stop(&self.actor, point.clone()).await,
            _ => {}
        }
        let versions = if let Fault::Stale(versions) = fault { versions } else { 0 };
        let (answer, stale) = self.deliver(call, &question, answer, versions).await?;
        if stale {
            self.plan.happened(&point);
        }
        Ok(answer)
    }

    /// Hands an answer to the actor unless it has stopped meanwhile; tells whether it is an old one.
    async fn deliver(
        &self,
        call: Call,
        question: &str,
        answer: Response<Answer>,
        versions: usize,
    ) -> Result<(Response<Answer>, bool), BoxError> {
        self.running().await;
        if !answer.status().is_success() {
            return Ok((answer, false));
        }
        if call.verb == "watch" {
            return Ok((answer.map(|body| events::planned(self.clone(), call, body)), false));
        }
        if !matches!(call.verb.as_str(), "get" | "list")
            || !call.subresource.is_empty()
            || !self.plan.remembers()
        {
            return Ok((answer, false));
        }
        let (parts, body) = answer.into_parts();
        let fresh = body.collect().await?.to_bytes();
        let earlier = self.plan.answered(question, fresh.clone(), versions);
        let stale = earlier.is_some();
        Ok((Response::from_parts(parts, whole(earlier.unwrap_or(fresh))), stale))
    }

    pub(super) async fn running(&self) {
        self.plan.running(&self.actor).await;
    }

    /// What is planned for an event.
    pub(super) fn event(&self, event: &Call) -> Option<(super::plan::EventFault, Point)> {
        let due = self.plan.event(&self.actor, event)?;
        self.plan.happened(&due.1);
        Some(due)
    }
}

/// A request and what it does. What is created is named by the body.
async fn named<Q>(request: Request<Q>) -> Result<(Request<Q>, Call), BoxError>
where
    Q: Body<Data = Bytes> + From<Bytes>,
    Q::Error: Into<BoxError>,
{
    let (parts, body) = request.into_parts();
    let mut call = call_of(&parts);
    if call.verb != "create" || !call.name.is_empty() {
        return Ok((Request::from_parts(parts, body), call));
    }
    let bytes = body.collect().await.map_err(Into::into)?.to_bytes();
    call.name = name_in(&bytes);
    Ok((Request::from_parts(parts, bytes.into()), call))
}

fn name_in(body: &[u8]) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let name = object::name(&body);
    if name.is_empty() { object::meta(&body, "generateName").to_owned() } else { name.to_owned() }
}

/// What a client sees when a connection breaks.
pub(super) fn broken() -> BoxError {
    io::Error::new(io::ErrorKind::ConnectionReset, "the connection broke by plan").into()
}

fn refusal(error: &ApiError) -> Response<Answer> {
    let mut answer = Response::new(whole(error.status().to_string().into()));
    *answer.status_mut() = error.code;
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(seconds) = error.retry_after {
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    answer
}

fn whole(bytes: Bytes) -> Answer {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}
