//! Connects to a cluster with a kubeconfig, which is found by kubectl's rules.

use std::path::PathBuf;
use std::sync::Arc;

use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ClientBuilder, ConfigExt};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use machinery::cause::first_cause;
use net::{Connector, Proxies};
use tower::retry::RetryLayer;
use tower::util::MapErrLayer;
use tower::{BoxError, ServiceBuilder};

use crate::{Context, Result};

/// A proxy for kube's reading of a kubeconfig, which takes one from the environment otherwise, whatever the server's address is. It is not
/// used.
const NO_PROXY_OF_KUBE: &str = "http://proxy.invalid";

/// The user's choice of a cluster: a kubeconfig and a context in it.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// The kubeconfig; by default `$KUBECONFIG`, then `~/.kube/config`.
    pub kubeconfig: Option<PathBuf>,
    /// The context; by default the kubeconfig's current context.
    pub context: Option<String>,
}

/// A connection to a cluster, and its default namespace.
#[derive(Clone)]
pub struct Connection {
    /// Client for the cluster.
    pub client: Client,
    /// The namespace of the context, or `default`.
    pub namespace: String,
}

/// The error of a request that a server did not answer. It has no source, because its text ends with the first cause.
#[derive(Debug, thiserror::Error)]
#[error("{server}: {cause}")]
struct Unanswered {
    server: String,
    cause: String,
}

impl Choice {
    /// Reads the cluster's data from the kubeconfig. Nothing is sent yet.
    ///
    /// # Errors
    /// There is no kubeconfig, it cannot be read, or it does not have the context.
    pub async fn config(&self) -> Result<Config> {
        Ok(self.read().await?.0)
    }

    /// Also returns the proxies to the server: `proxy-url` of the kubeconfig, or else those of this process's environment.
    async fn read(&self) -> Result<(Config, Arc<Proxies>)> {
        let named = || {
            let path = self.kubeconfig.as_ref().map(|path| format!(" {}", path.display()));
            format!("cannot use the kubeconfig{}", path.unwrap_or_default())
        };
        let kubeconfig = match &self.kubeconfig {
            Some(path) => Kubeconfig::read_from(path),
            None => Kubeconfig::read(),
        };
        let mut kubeconfig = kubeconfig.context(named)?;
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        let proxies = take_proxies(&mut kubeconfig, &options);
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await.context(named)?;
        config.proxy_url = None;
        Ok((config, proxies))
    }

    /// Returns the connection, which is opened at the first request. An error of it names the server.
    ///
    /// # Errors
    /// The errors of [`Self::config`], and credentials that cannot be used.
    pub async fn connect(&self) -> Result<Connection> {
        let (config, proxies) = self.read().await?;
        let namespace = config.default_namespace.clone();
        Ok(Connection { client: client(config, proxies)?, namespace })
    }
}

/// Takes `proxy-url` of the chosen context's cluster out of a kubeconfig.
fn take_proxies(kubeconfig: &mut Kubeconfig, options: &KubeConfigOptions) -> Arc<Proxies> {
    let context = options.context.as_ref().or(kubeconfig.current_context.as_ref());
    let mut contexts = kubeconfig.contexts.iter();
    let context =
        contexts.find(|named| Some(&named.name) == context).and_then(|named| named.context.as_ref());
    let chosen = context.map(|context| context.cluster.clone());
    let mut found = None;
    for named in &mut kubeconfig.clusters {
        let Some(cluster) = &mut named.cluster else { continue };
        let url = cluster.proxy_url.replace(NO_PROXY_OF_KUBE.to_owned()).filter(|url| !url.is_empty());
        if chosen.as_ref() == Some(&named.name) {
            found = url;
        }
    }
    match found {
        Some(url) => Arc::new(Proxies::fixed("proxy-url of the kubeconfig", &url)),
        None => Proxies::of_process(),
    }
}

/// Returns a client as kube makes it, but for its connections: those are made through `proxies`.
fn client(config: Config, proxies: Arc<Proxies>) -> Result<Client> {
    let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
    let name_server = MapErrLayer::new(move |error: BoxError| Unanswered {
        server: server.clone(),
        cause: first_cause(error.as_ref()),
    });
    let https = config.rustls_https_connector_with_connector(Connector::new(proxies))?;
    let mut connector = TimeoutConnector::new(https);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    connector.set_reset_reader_on_write(config.reset_reader_on_write);
    let http = legacy::Client::builder(TokioExecutor::new()).build::<_, Body>(connector);
    let service = ServiceBuilder::new()
        .layer(name_server)
        .layer(config.base_uri_layer())
        .option_layer(config.default_retry.then_some(RetryLayer::new(RetryPolicy::server_retry())))
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http);
    Ok(ClientBuilder::new(service, config.default_namespace).build())
}
