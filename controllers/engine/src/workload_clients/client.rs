//! The Kubernetes clients of a workload cluster, over a [`Network`].

use std::sync::Arc;
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, Uri};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::Client;
use kube::client::middleware::BaseUriLayer;
use kube::client::{Body, ClientBuilder};
use machinery::clock::Clock;
use net::{DialConnector, Network};
use pki::kubeconfig::{Credentials, Kubeconfig};
use rustls_pki_types::ServerName;
use tower::timeout::Timeout;
use tower::util::{BoxCloneSyncService, MapRequestLayer};

use super::bounded::{Answers, BoundedLayer};
use crate::error::{Error, Result};

/// Limit for opening a connection, TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Idle connections are closed after this time.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// A connection whose server does not answer pings is given up, and with it the requests that share it. As in client-go.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(15);
const HTTPS_PORT: u16 = 443;

/// The clients of a workload cluster. Time and size of their answers are limited together.
#[derive(Clone)]
pub struct WorkloadClients {
    /// Its requests share one connection if the server speaks HTTP/2: each connection costs a handshake and buffers, and each cluster has
    /// several watches. A server need not allow more than 100 requests at a time on a connection.
    pub shared: Client,
    /// Each request has a connection of its own while it runs, which speaks HTTP/1.1: a port-forward takes over the connection, and
    /// there may be many watches of Pods.
    pub dedicated: Client,
    /// Host and port of the API server.
    pub address: String,
}

impl WorkloadClients {
    /// Creates the clients for the cluster that `kubeconfig` (YAML or JSON, with inline credentials only) describes.
    ///
    /// # Errors
    /// [`Error::Kubeconfig`], which never quotes a secret.
    pub fn new(network: &Arc<dyn Network>, clock: &Clock, kubeconfig: &[u8]) -> Result<Self> {
        Self::within(&Answers::default(), network, clock, kubeconfig)
    }

    /// Like [`WorkloadClients::new`], for one of several clusters whose answers are limited together, too.
    pub(crate) fn within(
        all: &Answers,
        network: &Arc<dyn Network>,
        clock: &Clock,
        kubeconfig: &[u8],
    ) -> Result<Self> {
        let text =
            std::str::from_utf8(kubeconfig).map_err(|_| Error::Kubeconfig("it is not UTF-8".into()))?;
        let kubeconfig = Kubeconfig::parse(text).map_err(|error| Error::Kubeconfig(error.to_string()))?;
        let identity = kubeconfig.credentials.identity.as_ref();
        let tls = pki::tls::client_config(&kubeconfig.authority, identity, &[], clock)
            .map_err(|error| Error::Kubeconfig(error.to_string()))?;
        let uri: Option<Uri> = kubeconfig.server.parse().ok();
        let is_https = |uri: &Uri| uri.scheme_str() == Some("https") && uri.authority().is_some();
        // Without a scheme, the client would panic.
        let uri = uri.filter(is_https).ok_or_else(|| {
            Error::Kubeconfig(format!("server {:?} is not an https URL", kubeconfig.server))
        })?;
        let name = kubeconfig.server_name.map(server_name).transpose()?;
        let tls = || {
            let builder = HttpsConnectorBuilder::new().with_tls_config(tls.clone()).https_only();
            match &name {
                Some(name) => builder.with_server_name_resolver(FixedServerNameResolver::new(name.clone())),
                None => builder,
            }
        };
        let authorization = authorization(&kubeconfig.credentials)?;
        let limits = BoundedLayer::within(all);
        let client = |connector| client(connector, &uri, &limits, authorization.clone());
        let address = uri.host().map(|host| format!("{host}:{}", uri.port_u16().unwrap_or(HTTPS_PORT)));
        Ok(Self {
            shared: client(tls().enable_all_versions().wrap_connector(DialConnector::new(network.clone()))),
            dedicated: client(tls().enable_http1().wrap_connector(DialConnector::new(network.clone()))),
            address: address.unwrap_or_default(),
        })
    }
}

fn server_name(name: String) -> Result<ServerName<'static>> {
    let failed =
        |_| Error::Kubeconfig(format!("tls-server-name {name:?} is neither a DNS name nor an address"));
    ServerName::try_from(name.clone()).map_err(failed)
}

/// Returns the header of a token.
fn authorization(credentials: &Credentials) -> Result<Option<HeaderValue>> {
    let Some(token) = &credentials.token else { return Ok(None) };
    let value = HeaderValue::from_str(&format!("Bearer {token}"));
    let mut value = value.map_err(|_| Error::Kubeconfig("its token fits into no header".into()))?;
    value.set_sensitive(true);
    Ok(Some(value))
}

fn client(
    connector: HttpsConnector<DialConnector>,
    uri: &Uri,
    limits: &BoundedLayer,
    authorization: Option<HeaderValue>,
) -> Client {
    let http = HttpClient::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .http2_keep_alive_interval(PING_INTERVAL)
        .http2_keep_alive_timeout(PING_TIMEOUT)
        .build::<_, Body>(BoxCloneSyncService::new(Timeout::new(connector, CONNECT_TIMEOUT)));
    let client = ClientBuilder::new(http, "default").with_layer(limits);
    let authorize = MapRequestLayer::new(move |mut request: Request<Body>| {
        if let Some(value) = &authorization {
            request.headers_mut().insert(AUTHORIZATION, value.clone());
        }
        request
    });
    client.with_layer(&BaseUriLayer::new(uri.clone())).with_layer(&authorize).build()
}
