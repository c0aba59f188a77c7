//! What `firstlight controllers` shows of itself, with the flags of upstream's managers: `/metrics`, `/healthz` and `/readyz`.
//!
//! Metrics are served over HTTPS, to those whom the cluster lets read `/metrics`, as controller-runtime does. Nothing is served unless an
//! address is given.

mod authorization;
mod options;
mod site;

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result};
use engine::Manager;
use pki::tls::{ClientCertificates, ServerCertificates, server_config};
use pki::{CertificateAuthority, KeyAlgorithm, Leaf};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

pub use options::{Address, DiagnosticsOptions};

use authorization::Authorizer;
use site::{Site, serve};

/// What is served, and where. It ends with the manager.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagnostics {
    /// Where `/metrics` is.
    pub metrics: Option<SocketAddr>,
    /// Where `/healthz` and `/readyz` are.
    pub health: Option<SocketAddr>,
}

impl Diagnostics {
    /// Serves what `options` name.
    ///
    /// # Errors
    /// An address that cannot be listened on.
    pub async fn start(options: &DiagnosticsOptions, manager: &Manager) -> Result<Self> {
        let mut started = Self::default();
        if let Some(listener) = bind(options.health_addr.as_ref(), "--health-addr").await? {
            started.health = Some(listener.local_addr()?);
            manager.spawn(serve(listener, None, Arc::new(Site::Health(manager.clone()))));
        }
        if let Some(listener) = bind(options.diagnostics_address.as_ref(), "--diagnostics-address").await? {
            started.metrics = Some(listener.local_addr()?);
            let metrics = manager.all_metrics().clone();
            let (tls, authorizer) = if options.insecure_diagnostics {
                (None, None)
            } else {
                (Some(acceptor(manager)?), Some(Box::new(Authorizer::new(manager.client().clone()))))
            };
            manager.spawn(serve(listener, tls, Arc::new(Site::Metrics { metrics, authorizer })));
        }
        Ok(started)
    }
}

async fn bind(address: Option<&Address>, flag: &str) -> Result<Option<TcpListener>> {
    let Some(address) = address else { return Ok(None) };
    for candidate in address.candidates() {
        match TcpListener::bind(candidate).await {
            Ok(listener) => return Ok(Some(listener)),
            // A machine without IPv6 has all its addresses in IPv4.
            Err(_) if candidate.is_ipv6() && address.candidates().len() > 1 => {}
            Err(error) => return Err(error).with_context(|| format!("{flag}: cannot listen on {candidate}")),
        }
    }
    Ok(None)
}

/// TLS with a certificate that nobody knows: a scraper that wants to be sure whom it asks reaches the port through the API server.
fn acceptor(manager: &Manager) -> Result<TlsAcceptor> {
    let (name, now, random) = ("firstlight-controllers", manager.clock().now(), manager.random());
    let authority = CertificateAuthority::generate(
        "firstlight-controllers-ca",
        KeyAlgorithm::default(),
        None,
        now,
        random,
    )?;
    let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
    let certificates =
        Arc::new(ServerCertificates::new(&authority.issue(&Leaf::server(name, names), now, random)?)?);
    let config = server_config(certificates, &ClientCertificates::None, &["http/1.1"], manager.clock())?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
