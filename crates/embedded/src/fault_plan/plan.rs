//! The plan: which faults are to come, which actors are stopped, and what has been recorded.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anneal_kit::{Clock, Rng};
use bytes::Bytes;
use tokio::sync::watch;

use super::{
    answers::Answers,
    call::Call,
    layer::FaultLayer,
    when::{Point, Times, When},
};
use crate::api::error::ApiError;

/// What happens to a call.
#[derive(Clone, Debug)]
pub enum Fault {
    /// It never reaches the server: the connection breaks.
    Drop,
    /// It reaches the server later.
    Delay(Duration),
    /// It is refused and never reaches the server.
    Refuse(ApiError),
    /// The server does it, but the connection breaks before the answer.
    Lose,
    /// The server does it, but the answer is this refusal.
    LoseAndRefuse(ApiError),
    /// The actor stops before the server sees it: see [`Plan::crashed`].
    StopBefore,
    /// The actor stops after the server did it, before it learns of that.
    StopAfter,
    /// A get or list is answered as it was so many versions ago, as far back as the seam has seen it answered
    /// since this was injected; with nothing earlier it is answered as it is.
    Stale(usize),
}

/// What happens to an event of a watch.
#[derive(Clone, Debug)]
pub enum EventFault {
    /// It is left out.
    Drop,
    /// It comes twice.
    Duplicate,
    /// It comes later, and those behind it too.
    Delay(Duration),
    /// The stream ends before it, as it does when a server closes.
    Cut,
    /// The connection breaks before it.
    Break,
    /// The actor stops before it.
    Stop,
}

/// A plan, shared by all actors of a run. Clones are the same plan.
#[derive(Clone)]
pub struct Plan(Arc<Inner>);

struct Inner {
    clock: Clock,
    rng: Rng,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    calls: Vec<Injected<Fault>>,
    events: Vec<Injected<EventFault>>,
    /// By name; the value is where an actor stopped, `None` while it runs.
    actors: HashMap<String, watch::Sender<Option<Point>>>,
    recorded: Option<Recorded>,
    fired: Vec<Point>,
    /// Kept from when the first stale answer is planned.
    answers: Option<Answers>,
}

/// What has been passed, in its order, and how often.
#[derive(Default)]
struct Recorded {
    points: Vec<Point>,
    counts: HashMap<(String, Call), u64>,
}

struct Injected<F> {
    when: When,
    fault: F,
    /// How many have matched.
    matched: u64,
}

impl Plan {
    /// A plan without faults.
    pub fn new(clock: Clock, rng: Rng) -> Self {
        Self(Arc::new(Inner { clock, rng, state: Mutex::default() }))
    }

    /// The seam for one actor, to be put around the service of its client.
    pub fn layer(&self, actor: &str) -> FaultLayer {
        FaultLayer::new(self.clone(), actor)
    }

    /// Plans a fault of calls. If several apply to one call, the first that was injected counts.
    pub fn inject(&self, when: When, fault: Fault) {
        let mut state = self.state();
        if matches!(fault, Fault::Stale(_)) {
            state.answers.get_or_insert_default();
        }
        state.calls.push(Injected { when, fault, matched: 0 });
    }

    /// Plans a fault of watch events. If several apply to one event, the first that was injected counts.
    pub fn inject_event(&self, when: When, fault: EventFault) {
        self.state().events.push(Injected { when, fault, matched: 0 });
    }

    /// Forgets the faults that are still to come. Who is stopped stays so.
    pub fn clear(&self) {
        let mut state = self.state();
        state.calls.clear();
        state.events.clear();
    }

    /// Records from now on which points are passed.
    pub fn record(&self) {
        self.state().recorded.get_or_insert_default();
    }

    /// The points that were passed since `record`, in their order.
    pub fn points(&self) -> Vec<Point> {
        self.state().recorded.as_ref().map(|recorded| recorded.points.clone()).unwrap_or_default()
    }

    /// The points at which a fault happened. `n` is the fault's own count.
    pub fn fired(&self) -> Vec<Point> {
        self.state().fired.clone()
    }

    /// Waits until an actor has stopped, and tells where: at a planned point all its calls and watches stand
    /// still, as if the process were dead. Drop the actor's tasks then for a crash, and `resume` before it
    /// starts anew; or resume without dropping them for a process that was frozen for a while.
    pub async fn crashed(&self, actor: &str) -> Point {
        let mut stopped = self.gate(actor).subscribe();
        let point = stopped.wait_for(Option::is_some).await.ok().and_then(|point| point.clone());
        match point {
            Some(point) => point,
            // The sender lives as long as the plan, which is borrowed here.
            None => std::future::pending().await,
        }
    }

    /// Lets an actor go on; what stood still continues.
    pub fn resume(&self, actor: &str) {
        self.gate(actor).send_replace(None);
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Returns while the actor is not stopped.
    pub(super) async fn running(&self, actor: &str) {
        // It cannot fail while the sender is held.
        let gate = self.gate(actor);
        let _ = gate.subscribe().wait_for(Option::is_none).await;
    }

    /// Stops an actor and returns when somebody lets it go on.
    pub(super) async fn stop(&self, actor: &str, point: Point) {
        self.gate(actor).send_replace(Some(point));
        self.running(actor).await;
    }

    /// Notes a call and tells what is to happen to it, and at which point.
    pub(super) fn call(&self, actor: &str, call: &Call) -> Option<(Fault, Point)> {
        let mut state = self.state();
        state.note(actor, call);
        pick(&mut state.calls, actor, call, &self.0.rng)
    }

    /// Notes an event and tells what is to happen to it, and at which point.
    pub(super) fn event(&self, actor: &str, event: &Call) -> Option<(EventFault, Point)> {
        let mut state = self.state();
        state.note(actor, event);
        pick(&mut state.events, actor, event, &self.0.rng)
    }

    /// Notes that a fault has happened.
    pub(super) fn happened(&self, point: &Point) {
        self.state().fired.push(point.clone());
    }

    /// Whether answers are to be remembered.
    pub(super) fn remembers(&self) -> bool {
        self.state().answers.is_some()
    }

    /// Remembers an answer, and tells the one so many versions before it.
    pub(super) fn answered(&self, question: &str, answer: Bytes, versions: usize) -> Option<Bytes> {
        let mut state = self.state();
        let answers = state.answers.as_mut()?;
        answers.add(question, answer);
        answers.earlier(question, versions)
    }

    fn gate(&self, actor: &str) -> watch::Sender<Option<Point>> {
        self.state().actors.entry(actor.to_owned()).or_default().clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is made in one step: a panic elsewhere leaves the state whole.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn note(&mut self, actor: &str, call: &Call) {
        if let Some(Recorded { points, counts }) = &mut self.recorded {
            let n = counts.entry((actor.to_owned(), call.clone())).or_default();
            *n += 1;
            points.push(Point { actor: actor.to_owned(), call: call.clone(), n: *n });
        }
    }
}

/// The first fault that is due. All that match are counted, so that one does not shift another.
fn pick<F: Clone>(injected: &mut [Injected<F>], actor: &str, call: &Call, rng: &Rng) -> Option<(F, Point)> {
    /// Fine enough for any share that a test would name.
    const GRAIN: u64 = 1_000_000;
    let mut due = None;
    for injected in injected.iter_mut().filter(|injected| injected.when.matches(actor, call)) {
        injected.matched += 1;
        let hit = match injected.when.times() {
            Times::Every => true,
            Times::Nth(n) => injected.matched == n,
            Times::Chance(share) => (rng.below(GRAIN) as f64) < share * GRAIN as f64,
        };
        if hit && due.is_none() {
            let point = Point { actor: actor.to_owned(), call: call.clone(), n: injected.matched };
            due = Some((injected.fault.clone(), point));
        }
    }
    due
}
