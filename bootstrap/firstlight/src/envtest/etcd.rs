//! A stub of `etcd` for envtest: it starts, answers health checks, and ends when told. It stores nothing, because `kube-apiserver`
//! keeps everything in its own memory.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use axum::Router;
use axum::routing::any;
use http::StatusCode;
use machinery::random::Random;
use net::server::{Patience, Server, Times, Waiting};
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

/// Simultaneous connections to all addresses together.
const CONNECTIONS: usize = 32;
const TIME: Duration = Duration::from_secs(10);
const TIMES: Times =
    Times { head: (TIME, None), handshake: (TIME, "handshake"), stalled: (Patience::All(TIME), "stalled") };

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
    let (reached, random) = (metrics::Limits::default(), Random::system());
    let server = Server::new(router(), None, TIMES, Waiting::new(CONNECTIONS), reached, &random);
    for url in urls {
        let address = address(url).await?;
        let listener =
            TcpListener::bind(address).await.with_context(|| format!("--listen-client-urls: {url}"))?;
        tokio::spawn(server.clone().serve(listener));
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

fn router() -> Router {
    Router::new()
        .route("/health", any(async || r#"{"health":"true","reason":""}"#))
        .route("/readyz", any(async || "ok\n"))
        .route("/livez", any(async || "ok\n"))
        .route("/version", any(async || r#"{"etcdserver":"3.6.0","etcdcluster":"3.6.0"}"#))
        .fallback(async || (StatusCode::NOT_FOUND, "404 page not found\n"))
}
