//! A list of ten thousand objects in one answer.

use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::time::Instant;

use crate::{
    arm::Arm,
    figures::{self, Figures, Who},
    load, objects,
};

const NAMESPACE: &str = "bench-list";
const OBJECTS: usize = 10_000;
/// The middle of these counts.
const TIMES: usize = 5;

/// Takes the figures.
pub(crate) async fn measure(arm: &Arm, who: Who, figures: &mut Figures) -> Result<()> {
    eprintln!("bench: {}: list of {OBJECTS}", who.name());
    arm.namespace(NAMESPACE).await?;
    load::fill(arm, NAMESPACE, OBJECTS).await?;
    let http = arm.connect()?;
    let path = objects::path(NAMESPACE);
    let (mut times, mut bytes) = (Vec::new(), 0);
    let cpu = arm.cpu()?;
    for _ in 0..TIMES {
        let began = Instant::now();
        let reply = http.get(&path).await?;
        times.push(began.elapsed());
        ensure!(reply.status == 200, "expected a list: {reply}");
        bytes = reply.bytes.len();
    }
    let used = (arm.cpu()? - cpu) / TIMES as u32;
    ensure!(bytes > OBJECTS * 1000, "a list of {OBJECTS} must be longer than {bytes} bytes");
    figures.add(who, figures::LIST_TIME, milliseconds(middle(times)));
    figures.add(who, figures::LIST_CPU, milliseconds(used));
    figures.add(who, figures::LIST_BYTES, bytes as f64 / 1e6);
    Ok(())
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
