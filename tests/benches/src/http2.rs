//! HTTP/2 connections to the measured server. `kube::Client` alone is not enough, since it uses one
//! connection per request.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::client::ConfigExt;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// A connection shared by many requests.
pub type Connection = SendRequest<Full<Bytes>>;

/// Connects as the administrator of a kubeconfig.
///
/// # Errors
/// Fails if the kubeconfig cannot be read or the server does not answer.
pub async fn connect(kubeconfig: &Path) -> Result<Connection> {
    let read = Kubeconfig::read_from(kubeconfig)?;
    let config = kube::Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?;
    let mut tls = config.rustls_client_config()?;
    tls.alpn_protocols = vec![b"h2".to_vec()];
    let host = config.cluster_url.host().context("the kubeconfig names no server")?.to_owned();
    let port = config.cluster_url.port_u16().context("the kubeconfig names no port")?;
    let stream = TcpStream::connect((host.as_str(), port)).await?;
    let name = rustls_pki_types::ServerName::try_from(host)?;
    let stream = TlsConnector::from(Arc::new(tls)).connect(name, stream).await?;
    let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}
