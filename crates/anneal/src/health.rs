//! What the API port has to say so far: whether the program lives, and whether our kinds are there.
//!
//! Anybody on the machine can connect, so few are served at once, and none for long.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{Router, http::StatusCode, routing::get};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{net::TcpListener, sync::Semaphore};

/// Connections at once.
const CONNECTIONS: usize = 64;
/// How long a client may take to send the head of a request.
const HELLO: Duration = Duration::from_secs(10);
/// How long a connection may last.
const VISIT: Duration = Duration::from_secs(60);

/// Answers for ever.
pub async fn serve(listener: TcpListener, ready: Arc<AtomicBool>) {
    let readiness = move || {
        let code =
            if ready.load(Ordering::Acquire) { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        std::future::ready((code, if code.is_success() { "ok\n" } else { "not ready\n" }))
    };
    let router = Router::new().route("/healthz", get(|| async { "ok\n" })).route("/readyz", get(readiness));
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    // A full house makes newcomers wait in the kernel's queue; nobody closes it.
    while let Ok(slot) = slots.clone().acquire_owned().await {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of file descriptors, most likely: wait for some to be closed.
                tracing::warn!(%error, "Accepting a connection to the API port failed");
                tokio::time::sleep(Duration::from_secs(1)).await;
                continue;
            }
        };
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let _slot = slot;
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(HELLO);
            // A client that goes away in the middle is its own affair.
            let _ =
                tokio::time::timeout(VISIT, builder.serve_connection(TokioIo::new(stream), service)).await;
        });
    }
}
