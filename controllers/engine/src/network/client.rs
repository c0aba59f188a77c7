//! The Kubernetes client of a workload cluster, over a [`Network`].

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use http::Uri;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use kube::Client;
use kube::client::middleware::BaseUriLayer;
use kube::client::{Body, ClientBuilder};
use machinery::clock::Clock;
use pki::kubeconfig::Kubeconfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower::Service;

use super::{BoxStream, Network};
use crate::error::{Error, Result};

/// Limit for opening a connection, TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Idle connections are closed after this time.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
const HTTPS_PORT: u16 = 443;

/// Creates a client for the cluster that `kubeconfig` (YAML or JSON, with inline certificates) describes. It
/// uses HTTP/1.1, so that a connection can be upgraded for a port-forward.
///
/// # Errors
/// [`Error::Kubeconfig`], which never quotes a secret.
pub fn workload_client(network: &Arc<dyn Network>, clock: &Clock, kubeconfig: &[u8]) -> Result<Client> {
    let text = std::str::from_utf8(kubeconfig).map_err(|_| Error::Kubeconfig("it is not UTF-8".into()))?;
    let kubeconfig = Kubeconfig::parse(text).map_err(|error| Error::Kubeconfig(error.to_string()))?;
    let tls =
        pki::tls::client_config(&kubeconfig.authority, Some(&kubeconfig.identity), &["http/1.1"], clock)
            .map_err(|error| Error::Kubeconfig(error.to_string()))?;
    let uri: Uri = kubeconfig
        .server
        .parse()
        .map_err(|_| Error::Kubeconfig(format!("server {:?} is not a URL", kubeconfig.server)))?;
    let connector = Connector { network: network.clone(), tls: TlsConnector::from(Arc::new(tls)) };
    let http = HttpClient::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .build::<_, Body>(connector);
    Ok(ClientBuilder::new(http, "default").with_layer(&BaseUriLayer::new(uri)).build())
}

#[derive(Clone)]
struct Connector {
    network: Arc<dyn Network>,
    tls: TlsConnector,
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Secured>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connector = self.clone();
        async move {
            let connect = connector.connect(&uri);
            tokio::time::timeout(CONNECT_TIMEOUT, connect)
                .await
                .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
        }
        .boxed()
    }
}

impl Connector {
    async fn connect(&self, uri: &Uri) -> io::Result<TokioIo<Secured>> {
        let invalid = |message: &str| io::Error::new(io::ErrorKind::InvalidInput, message.to_owned());
        let host = uri.host().ok_or_else(|| invalid("the server's URL has no host"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name =
            ServerName::try_from(host.to_owned()).map_err(|_| invalid("the server's host is not a name"))?;
        let stream = self.network.dial(host, uri.port_u16().unwrap_or(HTTPS_PORT)).await?;
        Ok(TokioIo::new(Secured(self.tls.connect(name, stream).await?)))
    }
}

/// A TLS connection that hyper's client can pool.
struct Secured(TlsStream<BoxStream>);

impl Connection for Secured {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for Secured {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Secured {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
