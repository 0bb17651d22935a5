//! The cluster as a whole: what is started together and stopped together.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
};

use anneal_kit::{Clock, Rng};
use axum::{Router, body::Body};
use kube::Client;
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::{ServiceExt, service_fn};

use crate::{
    api::{
        self,
        access::{Secrets, User},
        bootstrap,
        server::Server,
    },
    controllers::{self, Controller, Selection},
    identity::{Identity, IdentityError},
    listener,
    store::{self, OpenError, Store},
};

/// Where the cluster keeps its objects.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Data {
    /// In memory: they end with the process.
    Ephemeral,
    /// In this directory, made if it is missing.
    Directory(PathBuf),
}

/// How to start a cluster.
pub struct Options {
    pub data: Data,
    pub clock: Clock,
    pub rng: Rng,
    /// Which of the built-in controllers run.
    pub controllers: Selection,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            data: Data::Ephemeral,
            clock: Clock::machine(),
            rng: Rng::machine(),
            controllers: Selection::default(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Store(#[from] OpenError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error("failed to serve TLS: {0}")]
    Tls(#[from] rustls::Error),
    #[error("failed to set up the cluster's first objects: {0}")]
    Bootstrap(String),
}

/// A running cluster.
pub struct Cluster {
    pub(crate) server: Arc<Server>,
    router: Router,
    identity: Identity,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Cluster {
    /// Starts a cluster. It has no listener yet, but clients in this process.
    ///
    /// # Errors
    /// When its data cannot be read, are damaged, or are in use by another process.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let Options { data, clock, rng, controllers } = options;
        let settings = store::Options { clock: clock.clone(), ..store::Options::default() };
        let (store, identity) = match &data {
            Data::Ephemeral => (Store::ephemeral(settings), Identity::ephemeral(&rng)?),
            Data::Directory(directory) => {
                let store = Store::open(directory, settings)?;
                (store, Identity::of(directory, &rng)?)
            }
        };
        let secrets =
            Secrets { admin_token: identity.admin_token.clone(), signing_key: identity.signing_key };
        let mut server = Server::new(store, &secrets, clock.clone(), rng.clone());
        server.service_accounts = controllers.contains(Controller::NamespaceDefaults);
        let server = Arc::new(server);
        bootstrap::ensure(&server).await.map_err(|error| StartError::Bootstrap(error.message))?;
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let definitions = api::definitions::keep_serving(server.clone());
        tasks.spawn(stop.clone().run_until_cancelled_owned(definitions));
        let cluster = Self { router: api::router(server.clone()), server, identity, stop, tasks };
        let client = cluster.client(User::controllers());
        for part in controllers::start(client, clock, rng, &cluster.identity.authority, &controllers) {
            cluster.tasks.spawn(cluster.stop.clone().run_until_cancelled_owned(part));
        }
        Ok(cluster)
    }

    /// A client in this process that acts as a user.
    pub fn client(&self, user: User) -> Client {
        let router = self.router.clone();
        let service = service_fn(move |request: http::Request<kube::client::Body>| {
            let (mut head, body) = request.into_parts();
            head.extensions.insert(user.clone());
            router.clone().oneshot(http::Request::from_parts(head, Body::new(body)))
        });
        Client::new(service, "default")
    }

    /// A client in this process that is authenticated as one from outside is, by what it sends.
    pub fn client_from_outside(&self, token: Option<&str>) -> Client {
        let router = self.router.clone();
        let authorization = token.map(|token| format!("Bearer {token}"));
        let service = service_fn(move |request: http::Request<kube::client::Body>| {
            let (mut head, body) = request.into_parts();
            if let Some(value) = authorization.as_ref().and_then(|value| value.parse().ok()) {
                head.headers.insert(http::header::AUTHORIZATION, value);
            }
            router.clone().oneshot(http::Request::from_parts(head, Body::new(body)))
        });
        Client::new(service, "default")
    }

    /// Serves the API on a listener, by TLS.
    ///
    /// # Errors
    /// When no certificate can be made for it.
    pub fn listen(&self, listener: TcpListener) -> Result<(), StartError> {
        let mut addresses = vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        if let Ok(address) = listener.local_addr()
            && !address.ip().is_unspecified()
            && !addresses.contains(&address.ip())
        {
            addresses.push(address.ip());
        }
        let (certificate, key) = self.identity.certificate(&addresses)?;
        let config = listener::tls(certificate, key)?;
        self.tasks.spawn(listener::serve(listener, config, self.router.clone(), self.stop.clone()));
        Ok(())
    }

    /// A kubeconfig for the administrator, who finds the API at this address.
    pub fn kubeconfig(&self, address: SocketAddr) -> String {
        use base64::{Engine, engine::general_purpose::STANDARD};
        let authority = STANDARD.encode(&self.identity.authority);
        let token = &self.identity.admin_token;
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: anneal\n  cluster:\n    server: https://{address}\n    \
             certificate-authority-data: {authority}\nusers:\n- name: admin\n  user:\n    token: {token}\n\
             contexts:\n- name: anneal\n  context:\n    cluster: anneal\n    user: admin\n\
             current-context: anneal\n"
        )
    }

    /// Stops everything, and returns when the data are safe and free for another process.
    pub async fn stop(self) {
        self.stop.cancel();
        self.server.end();
        self.tasks.close();
        self.tasks.wait().await;
        self.server.store.close().await;
    }
}
