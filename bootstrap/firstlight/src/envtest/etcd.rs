//! A stub of `etcd` for envtest: it starts, answers health checks, and ends when told. It stores nothing, because `kube-apiserver`
//! keeps everything in its own memory.

use std::convert::Infallible;
use std::net::SocketAddr;

use anyhow::{Context, Result, bail};
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use super::flags::Flags;
use crate::signals::Signals;

/// The text of `--help`.
pub const HELP: &str = "\
Usage: etcd [flags]

Answers health checks for envtest. It is firstlight, which stores nothing here: its kube-apiserver needs no etcd.

  --listen-client-urls 'http://localhost:2379'   Addresses to answer on, separated by commas.
  --unsafe-no-fsync 'false'                      Accepted, without effect: nothing is written to disk.

All other flags are accepted, without effect.
";

/// The default address.
const DEFAULT_URL: &str = "http://localhost:2379";

/// Answers until SIGTERM.
///
/// # Errors
/// An address is invalid or in use.
pub async fn run(flags: &Flags) -> Result<()> {
    let mut urls = flags.list("listen-client-urls");
    if urls.is_empty() {
        urls.push(DEFAULT_URL);
    }
    for url in urls {
        let address = address(url).await?;
        let listener =
            TcpListener::bind(address).await.with_context(|| format!("--listen-client-urls: {url}"))?;
        tokio::spawn(serve(listener));
    }
    Signals::catch()?.next().await;
    Ok(())
}

async fn address(url: &str) -> Result<SocketAddr> {
    let Some(authority) = url.strip_prefix("http://") else {
        bail!(
            "--listen-client-urls: {url}: firstlight's etcd speaks plain HTTP only; write http://ADDRESS:PORT"
        );
    };
    let looked_up = tokio::net::lookup_host(authority.trim_end_matches('/')).await;
    let mut found = looked_up.with_context(|| format!("--listen-client-urls: {url}"))?;
    found.next().with_context(|| format!("--listen-client-urls: {url} has no address"))
}

async fn serve(listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let connection =
                    http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
                // Errors of a connection that its client closed are irrelevant.
                tokio::spawn(async move { drop(connection.await) });
            }
            Err(error) => tracing::warn!(%error, "cannot accept a connection"),
        }
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<String>, Infallible> {
    let (code, text) = match request.uri().path() {
        "/health" => (StatusCode::OK, r#"{"health":"true","reason":""}"#),
        "/readyz" | "/livez" => (StatusCode::OK, "ok\n"),
        "/version" => (StatusCode::OK, r#"{"etcdserver":"3.6.0","etcdcluster":"3.6.0"}"#),
        _ => (StatusCode::NOT_FOUND, "404 page not found\n"),
    };
    let mut response = Response::new(text.to_owned());
    *response.status_mut() = code;
    Ok(response)
}
