//! Servers that are known by a kubeconfig.

use std::path::Path;

use anyhow::Result;
use kube::{
    Client, Config,
    config::{AuthInfo, KubeConfigOptions, Kubeconfig},
};

use crate::{Identity, Server};

/// The server of a kubeconfig, without nodes.
pub(crate) async fn server(name: &str, kubeconfig: &Path, controllers: bool) -> Result<Server> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Server::new(name, controllers, false, move |who| connect(&config, who)).await
}

fn connect(config: &Config, who: &Identity) -> Result<Client> {
    let mut config = config.clone();
    match who {
        Identity::Admin => {}
        Identity::Token(token) => {
            config.auth_info = AuthInfo { token: Some(token.clone().into()), ..AuthInfo::default() };
        }
        Identity::Anonymous => config.auth_info = AuthInfo::default(),
    }
    // Watches stay open for as long as the test wants.
    config.read_timeout = None;
    // Tests see every answer, also those a client would try to get past by asking again.
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}
