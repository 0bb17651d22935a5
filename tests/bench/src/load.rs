//! Create, update, apply and get, by one client and by many.
//!
//! Each client has a connection and objects of its own and sends its next request when the last is answered.

use std::time::Duration;

use anneal_harness::{Http, PatchKind};
use anyhow::Result;
use bytes::Bytes;
use futures::future::try_join_all;
use http::Method;
use tokio::time::Instant;

use crate::{
    arm::Arm,
    figures::{Figures, Operation, Who},
    objects,
};

const NAMESPACE: &str = "bench-load";
/// The most that one measurement may take, on a server that is far slower than expected.
const LIMIT: Duration = Duration::from_secs(30);

/// How many clients, and how many requests each sends before and while it counts. The writes of both come to
/// about the 7,000 of the anchor, whose memory they are compared with.
struct Load {
    clients: usize,
    warm_up: usize,
    requests: usize,
}
const LOADS: [Load; 2] =
    [Load { clients: 1, warm_up: 30, requests: 500 }, Load { clients: 32, warm_up: 3, requests: 60 }];

/// Takes the figures of all operations.
pub(crate) async fn measure(arm: &Arm, who: Who, figures: &mut Figures) -> Result<()> {
    arm.namespace(NAMESPACE).await?;
    for load in &LOADS {
        let mut workers = (0..load.clients)
            .map(|number| Worker::new(arm, &format!("c{}-{number}", load.clients)))
            .collect::<Result<Vec<_>>>()?;
        for operation in Operation::ALL {
            eprintln!("bench: {}: {} by {}", who.name(), operation.name(), load.clients);
            all(&mut workers, operation, load.warm_up).await?;
            let (began, cpu) = (Instant::now(), arm.cpu()?);
            let done = all(&mut workers, operation, load.requests).await? as f64;
            let (took, used) = (began.elapsed().as_secs_f64(), arm.cpu()? - cpu);
            figures.add(who, operation.rate(load.clients), done / took);
            figures.add(who, operation.cpu(load.clients), used.as_secs_f64() * 1e6 / done);
        }
    }
    Ok(())
}

/// Fills a namespace with objects, by many clients.
pub(crate) async fn fill(arm: &Arm, namespace: &str, objects: usize) -> Result<()> {
    const CLIENTS: usize = 32;
    let one = async |number: usize| {
        let http = arm.connect()?;
        for object in (number..objects).step_by(CLIENTS) {
            let body = objects::body(&format!("object-{object}"), "", 0);
            let reply = http.send(Method::POST, &objects::path(namespace), Some(JSON), body.into()).await?;
            objects::version(&reply)?;
        }
        Ok::<_, anyhow::Error>(())
    };
    try_join_all((0..CLIENTS).map(one)).await?;
    Ok(())
}

const JSON: &str = "application/json";

/// Lets all of them work; tells how many requests were answered in the time there was.
async fn all(workers: &mut Vec<Worker>, operation: Operation, requests: usize) -> Result<usize> {
    let end = Instant::now() + LIMIT;
    // A task each: in one task they would take turns on one core.
    let tasks: Vec<_> = workers
        .drain(..)
        .map(|mut worker| {
            tokio::spawn(async move {
                let done = worker.run(operation, requests, end).await?;
                Ok::<_, anyhow::Error>((worker, done))
            })
        })
        .collect();
    let mut answered = 0;
    for task in tasks {
        let (worker, done) = task.await??;
        workers.push(worker);
        answered += done;
    }
    Ok(answered)
}

/// One client and what it has written.
struct Worker {
    http: Http,
    prefix: String,
    // By number: each object's version.
    versions: Vec<String>,
    turn: u64,
}

impl Worker {
    fn new(arm: &Arm, prefix: &str) -> Result<Self> {
        Ok(Self { http: arm.connect()?, prefix: prefix.to_owned(), versions: Vec::new(), turn: 0 })
    }

    async fn run(&mut self, operation: Operation, requests: usize, end: Instant) -> Result<usize> {
        for done in 0..requests {
            if Instant::now() > end {
                return Ok(done);
            }
            self.turn += 1;
            self.once(operation).await?;
        }
        Ok(requests)
    }

    async fn once(&mut self, operation: Operation) -> Result<()> {
        let object = match operation {
            Operation::Create => {
                self.versions.push(String::new());
                self.versions.len() - 1
            }
            // One after another, so that no object is hotter than the rest.
            _ => self.turn as usize % self.versions.len(),
        };
        let name = format!("{}-{object}", self.prefix);
        let all = objects::path(NAMESPACE);
        let body = |version: &str| Bytes::from(objects::body(&name, version, self.turn));
        let reply = match operation {
            Operation::Create => self.http.send(Method::POST, &all, Some(JSON), body("")).await?,
            Operation::Update => {
                let path = format!("{all}/{name}");
                self.http.send(Method::PUT, &path, Some(JSON), body(&self.versions[object])).await?
            }
            Operation::Apply => {
                let path = format!("{all}/{name}?fieldManager=bench&force=true");
                self.http.send(Method::PATCH, &path, Some(PatchKind::Apply.media_type()), body("")).await?
            }
            Operation::Get => self.http.get(&format!("{all}/{name}")).await?,
        };
        self.versions[object] = objects::version(&reply)?;
        Ok(())
    }
}
