use std::{
    convert::Infallible,
    future::Future,
    sync::{Arc, Mutex},
    time::Duration,
};

use anneal_kit::{Clock, Rng};
use bytes::Bytes;
use futures::{StreamExt, future::BoxFuture, stream};
use http::{Request, Response, header::RETRY_AFTER};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};

use super::{layer::Answer, *};
use crate::api::error::ApiError;

/// A server that counts: each call is noted, each answer has the number of the calls so far. A watch brings
/// what the test sends.
#[derive(Clone, Default)]
struct Server {
    seen: Arc<Mutex<Vec<String>>>,
    events: Arc<Mutex<Option<mpsc::UnboundedReceiver<String>>>>,
}

type Reply = Response<UnsyncBoxBody<Bytes, Infallible>>;

impl Server {
    fn service(
        self,
    ) -> impl Service<Request<Full<Bytes>>, Response = Reply, Error = BoxError, Future: Send> + Clone {
        service_fn(move |request: Request<Full<Bytes>>| {
            let server = self.clone();
            async move { Ok::<_, BoxError>(server.answer(&request)) }
        })
    }

    fn answer(&self, request: &Request<Full<Bytes>>) -> Reply {
        let count = {
            let mut seen = self.seen.lock().unwrap();
            seen.push(format!("{} {}", request.method(), request.uri()));
            seen.len()
        };
        if request.uri().query() == Some("watch=true") {
            let events = self.events.lock().unwrap().take().expect("one watch only");
            let frames = stream::unfold(events, async |mut events| {
                let chunk = events.recv().await?;
                Some((Ok(Frame::data(Bytes::from(chunk))), events))
            });
            return Response::new(StreamBody::new(frames).boxed_unsync());
        }
        Response::new(Full::new(Bytes::from(json!({ "count": count }).to_string())).boxed_unsync())
    }

    fn seen(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

struct World {
    server: Server,
    plan: Plan,
    clock: Clock,
}

impl World {
    fn new() -> Self {
        let clock = Clock::starting_at(Timestamp::UNIX_EPOCH);
        Self { server: Server::default(), plan: Plan::new(clock.clone(), Rng::seeded(1)), clock }
    }

    /// A call of an actor, not begun yet.
    fn call(&self, actor: &str, method: &str, path: &str, body: Value) -> BoxFuture<'static, Got> {
        let service = self.plan.layer(actor).layer(self.server.clone().service());
        let request = Request::builder().method(method).uri(path);
        let request = request.body(Full::new(Bytes::from(body.to_string()))).unwrap();
        Box::pin(service.oneshot(request))
    }

    /// Gets `a` and tells how many calls the server had seen.
    async fn get(&self, actor: &str) -> Result<u64, String> {
        let answer = self.call(actor, "GET", A, Value::Null).await.map_err(|error| error.to_string())?;
        Ok(body(answer).await["count"].as_u64().unwrap())
    }

    /// Opens a watch; what is sent into the channel comes out as the actor sees it.
    async fn watch(&self, actor: &str) -> (mpsc::UnboundedSender<String>, Lines) {
        let (send, events) = mpsc::unbounded_channel();
        *self.server.events.lock().unwrap() = Some(events);
        let answer = self.call(actor, "GET", "/api/v1/configmaps?watch=true", Value::Null).await.unwrap();
        (send, Lines(answer.into_body()))
    }
}

type Got = Result<Response<Answer>, BoxError>;

const A: &str = "/api/v1/namespaces/ns/configmaps/a";

async fn body(answer: Response<Answer>) -> Value {
    serde_json::from_slice(&answer.into_body().collect().await.unwrap().to_bytes()).unwrap()
}

struct Lines(Answer);

impl Lines {
    /// The next event's type and name; `end` or `broken` if there is none.
    async fn next(&mut self) -> String {
        match self.0.frame().await {
            None => "end".to_owned(),
            Some(Err(_)) => "broken".to_owned(),
            Some(Ok(frame)) => {
                let line: Value = serde_json::from_slice(&frame.into_data().unwrap()).unwrap();
                format!(
                    "{} {}",
                    line["type"].as_str().unwrap(),
                    line["object"]["metadata"]["name"].as_str().unwrap()
                )
            }
        }
    }
}

fn event(kind: &str, name: &str) -> String {
    format!("{}\n", json!({ "type": kind, "object": { "metadata": { "namespace": "ns", "name": name } } }))
}

/// Whether something stands still, however long one waits.
async fn stands_still(future: impl Future) -> bool {
    tokio::time::timeout(Duration::from_secs(100_000), future).await.is_err()
}

fn second_get() -> When {
    When::any().actor("a").verb("get").resource("configmaps").name("a").nth(2)
}

#[tokio::test(start_paused = true)]
async fn nothing_happens_where_nothing_is_planned() {
    let world = World::new();
    for when in [
        second_get().actor("other"),
        second_get().verb("list"),
        second_get().group("apps"),
        second_get().resource("secrets"),
        second_get().subresource("status"),
        second_get().namespace("other"),
        second_get().name("b"),
        second_get().nth(4),
        When::any().chance(0.0),
    ] {
        world.plan.inject(when, Fault::Drop);
    }
    for count in 1..=3 {
        assert_eq!(world.get("a").await, Ok(count));
    }
    assert_eq!(world.plan.fired(), []);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_never_reaches_the_server() {
    let world = World::new();
    world.plan.inject(second_get(), Fault::Drop);
    assert_eq!(world.get("a").await, Ok(1));
    assert_eq!(world.get("other").await, Ok(2));
    assert!(world.get("a").await.is_err());
    assert_eq!(world.server.seen(), 2);
    assert_eq!(world.get("a").await, Ok(3));
    assert_eq!(world.plan.fired().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_delayed_call_comes_later() {
    let world = World::new();
    world.plan.inject(second_get(), Fault::Delay(Duration::from_secs(60)));
    world.get("a").await.unwrap();
    let mut call = Box::pin(world.get("a"));
    assert!(tokio::time::timeout(Duration::from_secs(59), &mut call).await.is_err());
    assert_eq!(world.server.seen(), 1);
    assert_eq!(call.await, Ok(2));
    assert_eq!(world.clock.now(), Timestamp::from_second(60).unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_is_answered_by_the_plan() {
    let world = World::new();
    let error = ApiError::too_many_requests("slow down", Some(7));
    world.plan.inject(second_get().nth(1), Fault::Refuse(error));
    let answer = world.call("a", "GET", A, Value::Null).await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.headers()[RETRY_AFTER].as_bytes()), (429, &b"7"[..]));
    let status = body(answer).await;
    assert_eq!((&status["reason"], &status["message"]), (&json!("TooManyRequests"), &json!("slow down")));
    assert_eq!(world.server.seen(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_leaves_the_deed_done() {
    let world = World::new();
    world.plan.inject(second_get().nth(1), Fault::Lose);
    world.plan.inject(second_get().nth(2), Fault::LoseAndRefuse(ApiError::unavailable("gone")));
    assert!(world.get("a").await.is_err());
    assert_eq!(world.server.seen(), 1);
    let answer = world.call("a", "GET", A, Value::Null).await.unwrap();
    assert_eq!((answer.status().as_u16(), world.server.seen()), (503, 2));
}

#[tokio::test(start_paused = true)]
async fn a_stopped_actor_stands_still_and_nobody_else() {
    let world = World::new();
    let (events, mut lines) = world.watch("a").await;
    world.plan.inject(When::any().verb("update"), Fault::StopBefore);
    let call = tokio::spawn(world.call("a", "PUT", A, Value::Null));
    let point = world.plan.crashed("a").await;
    assert_eq!(point.to_string(), "a: update configmaps ns/a #1");
    assert_eq!(world.server.seen(), 1, "the watch alone");
    events.send(event("ADDED", "a")).unwrap();
    assert!(stands_still(lines.next()).await);
    assert!(stands_still(world.get("a")).await);
    assert_eq!(world.get("b").await, Ok(2));
    // The actor dies here; another of its name begins anew.
    call.abort();
    drop(lines);
    world.plan.resume("a");
    assert_eq!(world.get("a").await, Ok(3));
}

#[tokio::test(start_paused = true)]
async fn an_actor_may_stop_after_the_deed_and_go_on() {
    let world = World::new();
    let (events, mut lines) = world.watch("a").await;
    world.plan.inject(When::any().verb("update"), Fault::StopAfter);
    let call = tokio::spawn(world.call("a", "PUT", A, Value::Null));
    world.plan.crashed("a").await;
    assert_eq!(world.server.seen(), 2);
    events.send(event("ADDED", "a")).unwrap();
    assert!(!call.is_finished());
    world.plan.resume("a");
    assert_eq!(body(call.await.unwrap().unwrap()).await["count"], 2);
    assert_eq!(lines.next().await, "ADDED a");
}

#[tokio::test(start_paused = true)]
async fn a_stale_answer_is_one_given_before() {
    let world = World::new();
    world.plan.inject(second_get().nth(1), Fault::Stale(1));
    world.plan.inject(second_get().nth(4), Fault::Stale(2));
    world.plan.inject(second_get().nth(5), Fault::Stale(100));
    assert_eq!(world.get("a").await, Ok(1), "there is nothing earlier");
    assert_eq!(world.get("b").await, Ok(2), "what others saw counts too");
    assert_eq!(world.get("a").await, Ok(3));
    assert_eq!(world.get("a").await, Ok(4));
    assert_eq!(world.get("a").await, Ok(3));
    assert_eq!(world.get("a").await, Ok(1));
    assert_eq!(world.get("a").await, Ok(7));
    assert_eq!(world.plan.fired().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn events_are_lost_doubled_and_late() {
    let world = World::new();
    let of = |name: &str| When::any().actor("a").resource("configmaps").namespace("ns").name(name);
    world.plan.inject_event(of("lost").verb("modified"), EventFault::Drop);
    world.plan.inject_event(of("twice").nth(1), EventFault::Duplicate);
    world.plan.inject_event(of("late"), EventFault::Delay(Duration::from_secs(60)));
    let (events, mut lines) = world.watch("a").await;
    // Events do not come in pieces of their own size.
    let all = [
        ("ADDED", "lost"),
        ("MODIFIED", "lost"),
        ("ADDED", "twice"),
        ("MODIFIED", "twice"),
        ("ADDED", "late"),
        ("DELETED", "x"),
    ];
    let text = all.map(|(kind, name)| event(kind, name)).concat();
    let (first, second) = text.split_at(100);
    events.send(first.to_owned()).unwrap();
    events.send(second.to_owned()).unwrap();
    for expected in ["ADDED lost", "ADDED twice", "ADDED twice", "MODIFIED twice"] {
        assert_eq!(lines.next().await, expected);
    }
    assert_eq!(world.clock.now(), Timestamp::UNIX_EPOCH);
    assert_eq!(lines.next().await, "ADDED late");
    assert_eq!(world.clock.now(), Timestamp::from_second(60).unwrap());
    assert_eq!(lines.next().await, "DELETED x");
    drop(events);
    assert_eq!(lines.next().await, "end");
}

#[tokio::test(start_paused = true)]
async fn a_watch_may_end_or_break_at_an_event() {
    for (fault, expected) in [(EventFault::Cut, "end"), (EventFault::Break, "broken")] {
        let world = World::new();
        world.plan.inject_event(When::any().name("b"), fault);
        let (events, mut lines) = world.watch("a").await;
        for name in ["a", "b", "c"] {
            events.send(event("ADDED", name)).unwrap();
        }
        assert_eq!([lines.next().await, lines.next().await], ["ADDED a", expected]);
        assert_eq!(lines.next().await, "end");
    }
}

#[tokio::test(start_paused = true)]
async fn an_actor_may_stop_at_an_event() {
    let world = World::new();
    world.plan.inject_event(When::any().name("b"), EventFault::Stop);
    let (events, mut lines) = world.watch("a").await;
    for name in ["a", "b"] {
        events.send(event("ADDED", name)).unwrap();
    }
    assert_eq!(lines.next().await, "ADDED a");
    let hears = tokio::spawn(async move { lines.next().await });
    assert_eq!(world.plan.crashed("a").await.to_string(), "a: added configmaps ns/b #1");
    assert!(stands_still(world.get("a")).await);
    world.plan.resume("a");
    assert_eq!(hears.await.unwrap(), "ADDED b");
}

#[tokio::test(start_paused = true)]
async fn a_recorded_run_can_be_swept() {
    let run = async |world: &World| {
        let path = "/apis/apps/v1/namespaces/ns/deployments";
        for meta in [json!({ "name": "web" }), json!({ "generateName": "x-" }), json!({ "name": "web" })] {
            let _ = world.call("a", "POST", path, json!({ "metadata": meta })).await;
        }
        let _ = world.get("b").await;
        let (events, mut lines) = world.watch("a").await;
        events.send(event("ADDED", "web")).unwrap();
        lines.next().await;
    };
    let reference = World::new();
    reference.plan.record();
    run(&reference).await;
    let points = reference.plan.points();
    assert_eq!(
        points.iter().map(Point::to_string).collect::<Vec<_>>(),
        [
            "a: create deployments.apps ns/web #1",
            "a: create deployments.apps ns/x- #1",
            "a: create deployments.apps ns/web #2",
            "b: get configmaps ns/a #1",
            "a: watch configmaps #1",
            "a: added configmaps ns/web #1",
        ]
    );
    // Each point is found again, alone, in a run like the first.
    for point in points.iter().filter(|point| point.call.verb != "watch") {
        let world = World::new();
        world.plan.inject(When::at(point), Fault::Drop);
        world.plan.inject_event(When::at(point), EventFault::Duplicate);
        run(&world).await;
        assert_eq!(world.plan.fired(), std::slice::from_ref(point));
    }
}

#[tokio::test(start_paused = true)]
async fn chance_repeats_itself() {
    let run = async || {
        let world = World::new();
        world.plan.inject(When::any().chance(0.5), Fault::Drop);
        let calls = stream::iter(0..50).then(async |_| world.get("a").await.is_ok());
        calls.collect::<Vec<_>>().await
    };
    let first = run().await;
    assert_eq!(first, run().await);
    assert!(first.contains(&true) && first.contains(&false));
}

/// The seam fits around what a client of kube takes.
#[tokio::test(start_paused = true)]
async fn a_kube_client_goes_through() {
    let plan = Plan::new(Clock::starting_at(Timestamp::UNIX_EPOCH), Rng::seeded(1));
    plan.inject(When::any().verb("list").resource("configmaps").nth(1), Fault::Drop);
    let server = service_fn(async |_: Request<kube::client::Body>| {
        let list = json!({ "kind": "ConfigMapList", "apiVersion": "v1", "metadata": {}, "items": [] });
        Ok::<_, BoxError>(Response::new(Full::new(Bytes::from(list.to_string()))))
    });
    let client = kube::Client::new(plan.layer("a").layer(server), "default");
    let maps = kube::Api::<k8s_openapi::api::core::v1::ConfigMap>::default_namespaced(client);
    assert!(maps.list(&kube::api::ListParams::default()).await.is_err());
    assert!(maps.list(&kube::api::ListParams::default()).await.is_ok());
}
