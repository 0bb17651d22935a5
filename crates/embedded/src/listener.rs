//! The TLS listener: connections in, the same router that clients in this process use.

use std::{sync::Arc, time::Duration};

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
    service::TowerToHyperService,
};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    task::JoinSet,
};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::{ServiceExt, service_fn};

use crate::body;

/// Connections at once. Each costs some 40 kB of buffers; kubectl and controllers need a handful.
const MAX_CONNECTIONS: usize = 2048;
/// How long a client may take to say hello and to send its headers.
const HELLO: Duration = Duration::from_secs(10);
/// How long a connection may be without a request. Upstream's bound for HTTP/2, in HTTP/1.1 it is [`HELLO`].
const IDLE: Duration = Duration::from_secs(90);
/// How much of bodies that are not read yet a connection may hold.
const WINDOW: u32 = 256 << 10;
/// How long requests may take to end when the server stops.
const FAREWELL: Duration = Duration::from_secs(2);

/// The configuration of a server with one certificate.
///
/// # Errors
/// When the key does not fit the certificate.
pub fn tls(
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
) -> Result<Arc<ServerConfig>, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Serves connections until told to stop; then lets what is under way end, for a moment.
pub async fn serve(
    listener: TcpListener,
    config: Arc<ServerConfig>,
    router: Router,
    stop: CancellationToken,
) {
    let acceptor = TlsAcceptor::from(config);
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        // A full house makes newcomers wait in the kernel's queue.
        let Ok(slot) = slots.clone().acquire_owned().await else { break };
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        while connections.try_join_next().is_some() {}
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of file descriptors, most likely: wait for some to be closed.
                tracing::warn!(%error, "Accepting a connection failed");
                tokio::time::sleep(Duration::from_secs(1)).await;
                continue;
            }
        };
        let (acceptor, router, stop) = (acceptor.clone(), router.clone(), stop.clone());
        connections.spawn(async move {
            let _slot = slot;
            converse(stream, acceptor, router, stop).await;
        });
    }
    while connections.join_next().await.is_some() {}
}

/// Serves one connection until it ends, is of no use any more, or everything stops.
async fn converse(stream: TcpStream, acceptor: TlsAcceptor, router: Router, stop: CancellationToken) {
    let _ = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    // Of a client that does not read, nothing else is heard.
    stream.set_write_timeout(Some(body::STALL));
    let Ok(Ok(stream)) = tokio::time::timeout(HELLO, acceptor.accept(Box::pin(stream))).await else { return };
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HELLO);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(1000)
        .initial_connection_window_size(WINDOW)
        .initial_stream_window_size(WINDOW)
        .keep_alive_interval(Some(Duration::from_secs(30)))
        .keep_alive_timeout(Duration::from_secs(20));
    let requests = Requests::default();
    let mut idle = requests.0.subscribe();
    let service = service_fn(move |request: http::Request<hyper::body::Incoming>| {
        let (router, request_guard) = (router.clone(), requests.begin());
        async move {
            let response = router.oneshot(request).await;
            response.map(|response| response.map(|body| body::holding(body, request_guard)))
        }
    });
    let connection =
        builder.serve_connection_with_upgrades(TokioIo::new(stream), TowerToHyperService::new(service));
    tokio::pin!(connection);
    tokio::select! {
        // A client that goes away in the middle is its own affair.
        _ = connection.as_mut() => return,
        () = stop.cancelled() => {}
        () = until_idle(&mut idle) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = tokio::time::timeout(FAREWELL, connection).await;
}

/// The number of requests that a connection has under way.
#[derive(Clone, Default)]
struct Requests(Arc<watch::Sender<usize>>);

struct RequestGuard(Requests);

impl Requests {
    fn begin(&self) -> RequestGuard {
        self.0.send_modify(|count| *count += 1);
        RequestGuard(self.clone())
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
    }
}

/// Returns when there has been no request for too long: the first one is waited for less.
async fn until_idle(requests: &mut watch::Receiver<usize>) {
    let mut patience = HELLO;
    // The sender is gone with the connection, and then nobody waits here.
    while requests.wait_for(|count| *count == 0).await.is_ok() {
        if tokio::time::timeout(patience, requests.changed()).await.is_err() {
            return;
        }
        patience = IDLE;
    }
}
