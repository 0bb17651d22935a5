//! The server under attack, and how it is doing.

use std::{path::Path, pin::pin, sync::Arc, time::Duration};

use anneal_harness::{Anneal, Data, Http, Identity, Server};
use anyhow::{Context, Result, ensure};
use base64::{Engine, engine::general_purpose::STANDARD};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use serde_json::{Value, json};
use tokio::{net::TcpStream, time::Instant};
use tokio_rustls::{TlsConnector, client::TlsStream};

/// A server, in a process of its own.
pub struct Victim {
    anneal: Anneal,
    pub server: Server,
    pub admin: Http,
    /// The ordinary client, on connections of its own.
    bystander: Http,
    pub token: String,
    /// Where it listens.
    pub address: String,
    authority: CertificateDer<'static>,
}

impl Victim {
    pub async fn start() -> Result<Self> {
        // Figures are taken from a release build, which somebody names.
        let program = std::env::var_os("ANNEAL_BIN").unwrap_or(env!("CARGO_BIN_EXE_anneal").into());
        let mut anneal = Anneal::start(Path::new(&program), &Data::Ephemeral)?;
        let server = anneal.server().await?;
        let kubeconfig = std::fs::read_to_string(anneal.kubeconfig())?;
        let kubeconfig: Value = serde_saphyr::from_str(&kubeconfig)?;
        let text = |pointer: &str| {
            let value = kubeconfig.pointer(pointer).and_then(Value::as_str);
            value.map(str::to_owned).with_context(|| format!("{pointer} in the kubeconfig"))
        };
        let authority = STANDARD.decode(text("/clusters/0/cluster/certificate-authority-data")?)?;
        Ok(Self {
            admin: server.http(&Identity::Admin)?,
            bystander: server.http(&Identity::Admin)?,
            server,
            token: text("/users/0/user/token")?,
            address: text("/clusters/0/cluster/server")?.trim_start_matches("https://").to_owned(),
            authority: CertificateDer::from_pem_slice(&authority)?,
            anneal,
        })
    }

    /// A TLS connection for `h2` or `http/1.1`.
    pub async fn connect(&self, protocol: &str) -> Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.clone())?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let stream = TcpStream::connect(&self.address).await?;
        let name = ServerName::try_from("localhost")?;
        Ok(TlsConnector::from(Arc::new(config)).connect(name, stream).await?)
    }

    /// Does harm, asks again and again meanwhile what an ordinary client would, and tells how both went.
    pub async fn under<T>(&self, attack: &str, harm: impl Future<Output = Result<T>>) -> Result<T> {
        self.rounds_under(attack, harm).await.map(|(result, _)| result)
    }

    /// The same, with the number of rounds that the ordinary client had meanwhile.
    pub async fn rounds_under<T>(
        &self,
        attack: &str,
        harm: impl Future<Output = Result<T>>,
    ) -> Result<(T, usize)> {
        let (mut harm, mut slowest, mut answers) = (pin!(harm), Duration::ZERO, 0);
        let result = loop {
            let began = Instant::now();
            tokio::select! {
                biased;
                result = &mut harm => break result,
                asked = self.is_well() => asked.with_context(|| format!("under {attack}"))?,
            }
            slowest = slowest.max(began.elapsed());
            answers += 1;
            tokio::select! {
                biased;
                result = &mut harm => break result,
                () = tokio::time::sleep(Duration::from_millis(20)) => {}
            }
        };
        self.is_well().await.with_context(|| format!("after {attack}"))?;
        let peak = self.peak_megabytes()?.map_or("unknown".to_owned(), |peak| format!("{peak:.0} MB"));
        println!(
            "{attack}: {answers} rounds of an ordinary client, slowest {slowest:.0?}; peak memory {peak}"
        );
        Ok((result?, answers))
    }

    /// Writes, reads and deletes, as an ordinary client does.
    async fn is_well(&self) -> Result<()> {
        let path = "/api/v1/namespaces/default/configmaps";
        let object = json!({ "metadata": { "generateName": "probe-" }, "data": { "a": "b" } });
        let made = self.bystander.post(path, &object).await?.is(201)?;
        let name = made["metadata"]["name"].as_str().context("a name")?;
        let read = self.bystander.get(&format!("{path}/{name}")).await?.ok()?;
        ensure!(read["data"] == object["data"], "another object was read: {read}");
        self.bystander.delete(&format!("{path}/{name}"), &Value::Null).await?.ok()?;
        Ok(())
    }

    /// The most memory that it has had, where the system tells.
    pub fn peak_megabytes(&self) -> Result<Option<f64>> {
        let Ok(status) = std::fs::read_to_string(format!("/proc/{}/status", self.anneal.pid())) else {
            return Ok(None);
        };
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("VmHWM")?;
        Ok(Some(line.trim().trim_end_matches(" kB").parse::<f64>()? / 1000.0))
    }

    /// Fails if it has ever had more memory than this.
    pub fn stayed_below(&self, megabytes: f64) -> Result<()> {
        let peak = self.peak_megabytes()?;
        ensure!(peak.is_none_or(|peak| peak < megabytes), "peak memory {peak:?} MB, bound {megabytes} MB");
        Ok(())
    }

    /// Puts so many ConfigMaps of this size into a namespace.
    pub async fn fill(&self, namespace: &str, count: usize, bytes: usize) -> Result<()> {
        let namespaces = "/api/v1/namespaces";
        self.admin.post(namespaces, &json!({ "metadata": { "name": namespace } })).await?.is(201)?;
        let path = format!("{namespaces}/{namespace}/configmaps");
        let data = "x".repeat(bytes);
        for number in 0..count {
            let object = json!({ "metadata": { "name": format!("large-{number}") }, "data": { "a": data } });
            self.admin.post(&path, &object).await?.is(201)?;
        }
        Ok(())
    }
}
