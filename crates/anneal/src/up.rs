//! `anneal up`: a cluster in this process, until somebody stops it.

use std::{
    io::Write,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anneal_embedded::{Cluster, Data, Options, Selection, User, write_private};
use anneal_kit::Rng;
use anneal_types::crd;
use anyhow::{Context, Result, ensure};
use futures::future::try_join_all;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams},
};
use tokio::net::TcpListener;

use crate::{
    health,
    process::{self, Signals},
};

#[derive(clap::Args)]
#[command(
    after_help = "ANNEAL_LOG in the environment sets what is logged: \"warn\", \"anneal_embedded=debug\"."
)]
pub struct Arguments {
    /// Where the API of Anneal itself listens; port 0 picks a free one. Default: 127.0.0.1:8080, or the port that the
    /// environment variable PORT names, as platforms set it.
    #[arg(long, env = "ANNEAL_LISTEN")]
    listen: Option<SocketAddr>,
    /// Where the Kubernetes API listens, by TLS; port 0 picks a free one.
    #[arg(long, env = "ANNEAL_KUBE_LISTEN", default_value = "127.0.0.1:6443")]
    kube_listen: SocketAddr,
    /// Where objects are kept. Default: $XDG_DATA_HOME/anneal, or ~/.local/share/anneal.
    #[arg(long, env = "ANNEAL_DATA_DIR")]
    data_dir: Option<PathBuf>,
    /// Keep nothing: objects end with this process.
    #[arg(long, env = "ANNEAL_EPHEMERAL")]
    ephemeral: bool,
    /// Which of the cluster's own controllers run: "all", "none", a list, or "-NAME" to leave one out.
    #[arg(
        long,
        env = "ANNEAL_CONTROLLERS",
        default_value = "all",
        value_name = "LIST",
        allow_hyphen_values = true
    )]
    controllers: Selection,
    /// Where the kubeconfig is written. Default: in the data directory, or in a private temporary one.
    #[arg(long, env = "ANNEAL_KUBECONFIG_OUT")]
    kubeconfig_out: Option<PathBuf>,
    /// Do not put the demo application in. There is none yet: accepted for scripts.
    #[arg(long = "no-demo", env = "ANNEAL_NO_DEMO")]
    _no_demo: bool,
    #[arg(long = "port", env = "PORT", hide = true)]
    port: Option<u16>,
}

pub fn run(arguments: Arguments) -> Result<()> {
    process::log();
    // Each connection is a file, and the usual limit is half of what we take on.
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::warn!(%error, "The limit of open files cannot be raised");
    }
    // Two at least: the embedded API keeps one of them free of long work.
    let workers = std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
    let result = runtime.block_on(up(arguments));
    // What still runs has had its time.
    runtime.shutdown_timeout(Duration::from_millis(200));
    result
}

async fn up(arguments: Arguments) -> Result<()> {
    let by_port = SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port.unwrap_or(8080)));
    let listen = arguments.listen.unwrap_or(by_port);
    // Neither asks who calls yet: that comes with the API that it will serve.
    ensure!(listen.ip().is_loopback(), "--listen {listen}: only loopback addresses are served so far");
    ensure!(
        !arguments.ephemeral || arguments.data_dir.is_none(),
        "--ephemeral (or ANNEAL_EPHEMERAL) keeps nothing, --data-dir (or ANNEAL_DATA_DIR) says where to keep it: \
         give only one"
    );
    let mut signals = Signals::new()?;
    let api = bind("--listen", listen).await?;
    let kube = bind("--kube-listen", arguments.kube_listen).await?;
    let data = match arguments.data_dir {
        _ if arguments.ephemeral => Data::Ephemeral,
        Some(directory) => Data::Directory(directory),
        None => Data::Directory(default_data_dir()?),
    };
    let controllers = arguments.controllers;
    let cluster = Cluster::start(Options { data: data.clone(), controllers, ..Options::default() }).await?;
    let address = reachable(kube.local_addr()?);
    let kubeconfig = Kubeconfig::write(&cluster, address, &data, arguments.kubeconfig_out)?;
    cluster.listen(kube)?;
    let ready = Arc::new(AtomicBool::new(false));
    let api_address = api.local_addr()?;
    let health = tokio::spawn(health::serve(api, ready.clone()));
    let running = async {
        install_definitions(cluster.client(User::admin())).await?;
        ready.store(true, Ordering::Release);
        announce(address, api_address, &kubeconfig.path, &data)?;
        std::future::pending().await
    };
    let outcome = tokio::select! {
        outcome = running => outcome,
        () = signals.next() => Ok(()),
    };
    health.abort();
    // A second signal does not wait for the data to be put in order: they are safe at any time.
    tokio::select! {
        () = cluster.stop() => {}
        () = signals.next() => {}
    }
    outcome
}

async fn bind(flag: &str, address: SocketAddr) -> Result<TcpListener> {
    let hint = "choose another one, or port 0 for any that is free";
    TcpListener::bind(address).await.with_context(|| format!("cannot listen on {flag} {address}: {hint}"))
}

/// Where clients on this machine find a listener.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    address
}

fn default_data_dir() -> Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")));
    Ok(base.context("neither XDG_DATA_HOME nor HOME is set: give --data-dir or --ephemeral")?.join("anneal"))
}

/// The administrator's kubeconfig. A private folder that was made for it goes with it.
struct Kubeconfig {
    path: PathBuf,
    folder: Option<PathBuf>,
}

impl Kubeconfig {
    fn write(cluster: &Cluster, address: SocketAddr, data: &Data, out: Option<PathBuf>) -> Result<Self> {
        let (path, folder) = match (out, data) {
            (Some(path), _) => (path, None),
            (None, Data::Directory(directory)) => (directory.join("kubeconfig"), None),
            (None, Data::Ephemeral) => {
                let folder = private_folder()?;
                (folder.join("kubeconfig"), Some(folder))
            }
        };
        write_private(&path, &cluster.kubeconfig(address))
            .with_context(|| format!("failed to write the kubeconfig {}", path.display()))?;
        Ok(Self { path, folder })
    }
}

impl Drop for Kubeconfig {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            // What cannot be removed here is the temporary directory's affair.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// A folder that nobody else can look into, under a name that nobody can guess.
fn private_folder() -> Result<PathBuf> {
    let path = std::env::temp_dir().join(format!("anneal-{}", Rng::machine().name_suffix(10)));
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&path).with_context(|| format!("failed to make {}", path.display()))?;
    Ok(path)
}

/// Puts our kinds in and waits until they are served.
/// All at once, so that they share a few commits.
async fn install_definitions(client: Client) -> Result<()> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client);
    let apply = PatchParams::apply("anneal").force();
    try_join_all(crd::all().into_iter().map(|definition| {
        let (definitions, apply, name) = (&definitions, &apply, definition.name_any());
        async move {
            let applied = definitions.patch(&name, apply, &Patch::Apply(&definition)).await;
            let mut applied = applied.with_context(|| format!("failed to install {name}"))?;
            while !is_established(&applied) {
                tokio::time::sleep(Duration::from_millis(5)).await;
                applied = definitions.get(&name).await?;
            }
            Ok(())
        }
    }))
    .await
    .map(drop)
}

fn is_established(definition: &CustomResourceDefinition) -> bool {
    let conditions = definition.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|all| all.iter().any(|c| c.type_ == "Established" && c.status == "True"))
}

fn announce(kube: SocketAddr, api: SocketAddr, kubeconfig: &Path, data: &Data) -> Result<()> {
    let kept = match data {
        Data::Ephemeral => "in memory, gone when this ends".to_owned(),
        Data::Directory(directory) => directory.display().to_string(),
    };
    let kubeconfig = kubeconfig.display();
    let text = format!(
        "Kubernetes API  https://{kube}\n\
         API             http://{api}\n\
         Data            {kept}\n\
         \n\
         kubectl --kubeconfig {kubeconfig} get namespaces\n\
         \n\
         Ctrl-C stops it.\n"
    );
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("failed to write to standard output")
}
