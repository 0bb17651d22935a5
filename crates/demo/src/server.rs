//! Connections: one task each, bounded in number and time.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anneal_kit::Clock;
use axum::body::Body;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::{SockRef, Socket};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};

use crate::{
    fault::Plan,
    graphql::Schema,
    http_api,
    node::{Node, Start},
};

const MOST_CONNECTIONS: usize = 512;
/// For a request's head: who connects and says nothing must not stay for ever.
const PATIENCE: Duration = Duration::from_secs(30);

/// How the application begins.
#[derive(Clone, Debug)]
pub struct Options {
    pub start: Start,
    /// Seconds from block to block.
    pub slot_seconds: u32,
}

/// The application.
#[derive(Clone)]
pub struct App(Arc<Shared>);

struct Shared {
    clock: Clock,
    schema: Schema,
    state: Mutex<State>,
}

pub(crate) struct State {
    pub node: Node,
    pub plan: Option<Plan>,
}

/// The one way to answer that is none.
pub(crate) struct Reset;

impl App {
    /// An application that has just begun.
    ///
    /// # Errors
    /// Never, as long as the schema and the state that we carry are such.
    pub fn new(options: &Options, clock: Clock) -> Result<Self, String> {
        let schema = Schema::parse(include_str!("../schema.graphql"))?;
        let first =
            serde_json::from_str(include_str!("../first_state.json")).map_err(|error| error.to_string())?;
        let node = Node::new(first, options.start, options.slot_seconds, clock.now());
        Ok(Self(Arc::new(Shared { clock, schema, state: Mutex::new(State { node, plan: None }) })))
    }

    /// Answers on a listener, for ever.
    pub async fn serve(self, listener: TcpListener) -> Infallible {
        let slots = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        loop {
            let slot = slots.clone().acquire_owned().await;
            match listener.accept().await {
                Ok((stream, _)) => {
                    let app = self.clone();
                    tokio::spawn(async move {
                        app.connection(stream).await;
                        drop(slot);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "A connection could not be accepted");
                    // Mostly there are too many open files: others need time to close theirs.
                    self.0.clock.sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    async fn connection(self, stream: TcpStream) {
        // Kept to be able to reset it: a second handle on the same socket.
        let Ok(socket) = SockRef::from(&stream).try_clone() else { return };
        let socket = Arc::new(Mutex::new(Some(socket)));
        let service = service_fn(move |request: http::Request<Incoming>| {
            let (app, socket) = (self.clone(), socket.clone());
            async move {
                let answer = http_api::answer(&app, request.map(Body::new)).await;
                answer.map_err(|Reset| reset(&socket))
            }
        });
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
        // How a connection ends is its client's business.
        let _ = builder.serve_connection(TokioIo::new(stream), service).await;
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    pub(crate) fn schema(&self) -> &Schema {
        &self.0.schema
    }

    /// The state as it is now.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.node.advance(self.0.clock.now());
        state
    }
}

/// Without time to linger, closing a socket resets its connection. Our handle goes, so that hyper's is the last.
fn reset(socket: &Mutex<Option<Socket>>) -> std::io::Error {
    if let Some(socket) = socket.lock().unwrap_or_else(PoisonError::into_inner).take() {
        let _ = socket.set_linger(Some(Duration::ZERO));
    }
    std::io::Error::from(std::io::ErrorKind::ConnectionReset)
}
