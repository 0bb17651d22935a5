//! One change, a hundred watchers.
//!
//! First the rate: twenty writes at once, until every watcher has seen them all, and again. The next twenty wait,
//! since a server may cut off watchers that fall behind. Then the delay: one write at a time, from the moment it
//! is sent until each watcher has it.

use std::time::Duration;

use anneal_harness::Http;
use anyhow::{Context, Result, bail, ensure};
use bytes::BytesMut;
use futures::future::try_join_all;
use http::{Method, Request};
use http_body_util::BodyExt;
use kube::client::Body;
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinSet,
    time::{Instant, timeout},
};

use crate::{
    arm::Arm,
    figures::{self, Figures, Who},
    objects,
};

const NAMESPACE: &str = "bench-fan-out";
const WATCHERS: usize = 100;
const AT_ONCE: usize = 20;
const ROUNDS: usize = 25;
const SINGLE_WRITES: usize = 100;
/// The longest that one round may take.
const LIMIT: Duration = Duration::from_secs(30);

/// That a watcher has seen a turn.
type Seen = (usize, Instant);

/// Takes the figures.
pub(crate) async fn measure(arm: &Arm, who: Who, figures: &mut Figures) -> Result<()> {
    eprintln!("bench: {}: {WATCHERS} watchers", who.name());
    arm.namespace(NAMESPACE).await?;
    let writers = (0..AT_ONCE).map(|_| arm.connect()).collect::<Result<Vec<_>>>()?;
    let path = objects::path(NAMESPACE);
    let version = objects::version(&writers[0].get(&path).await?)?;
    let (sender, mut seen) = unbounded_channel();
    let mut watchers = JoinSet::new();
    for _ in 0..WATCHERS {
        // Only what is written here is watched, not what the server puts into every namespace.
        let uri = format!(
            "{path}?watch=true&resourceVersion={version}&fieldSelector=metadata.name!%3Dkube-root-ca.crt"
        );
        let response = arm.connect()?.client().send(Request::get(uri).body(Body::empty())?).await?;
        ensure!(response.status() == 200, "a watch was answered {}", response.status());
        watchers.spawn(follow(response.into_body(), sender.clone()));
    }
    drop(sender);
    let run = Run { writers, path };
    let (began, cpu) = (Instant::now(), arm.cpu()?);
    for round in 0..ROUNDS {
        run.write(round * AT_ONCE, AT_ONCE, &mut seen).await?;
    }
    let events = (ROUNDS * AT_ONCE * WATCHERS) as f64;
    figures.add(who, figures::FAN_OUT_RATE, events / began.elapsed().as_secs_f64());
    figures.add(who, figures::FAN_OUT_CPU, (arm.cpu()? - cpu).as_secs_f64() * 1e6 / events);
    let mut delays = Vec::new();
    for write in 0..SINGLE_WRITES {
        delays.extend(run.write(ROUNDS * AT_ONCE + write, 1, &mut seen).await?);
    }
    delays.sort_unstable();
    let at = |share: f64| delays[(delays.len() as f64 * share) as usize].as_secs_f64() * 1e3;
    figures.add(who, figures::DELAY_MIDDLE, at(0.5));
    figures.add(who, figures::DELAY_WORST, at(0.99));
    Ok(())
}

struct Run {
    writers: Vec<Http>,
    path: String,
}

impl Run {
    /// Creates objects at once, numbered from `first`, and waits until every watcher has seen each. Returns how long
    /// it took from each write to each watcher.
    async fn write(
        &self,
        first: usize,
        count: usize,
        seen: &mut UnboundedReceiver<Seen>,
    ) -> Result<Vec<Duration>> {
        let create = async |(number, http): (usize, &Http)| {
            let turn = first + number;
            let body = objects::body(&format!("object-{turn}"), "", turn as u64);
            let sent = Instant::now();
            let reply = http.send(Method::POST, &self.path, Some("application/json"), body.into()).await?;
            objects::version(&reply)?;
            Ok::<_, anyhow::Error>(sent)
        };
        let sent = try_join_all(self.writers.iter().take(count).enumerate().map(create)).await?;
        let mut delays = Vec::with_capacity(count * WATCHERS);
        while delays.len() < count * WATCHERS {
            let next = timeout(LIMIT, seen.recv()).await.context("an event did not come")?;
            let (turn, at) = next.context("every watcher was cut off")?;
            let sent = turn.checked_sub(first).and_then(|number| sent.get(number));
            delays.push(at - *sent.context("an event of another round")?);
        }
        Ok(delays)
    }
}

/// Reads a watch and reports each event.
async fn follow(mut body: Body, sender: UnboundedSender<Seen>) -> Result<()> {
    let mut buffer = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        let at = Instant::now();
        buffer.extend_from_slice(&data);
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line = buffer.split_to(end + 1);
            // Nobody listens any more: the measurement is over.
            if sender.send((objects::turn(&line)?, at)).is_err() {
                return Ok(());
            }
        }
    }
    bail!("the watch ended")
}
