//! The endpoints `/metrics`, `/healthz` and `/readyz` of `firstlight controllers`, with the flags of upstream's managers.
//!
//! As in controller-runtime, metrics are served over HTTPS, and only to users whom the cluster allows to get `/metrics`. Without the flags
//! no endpoint is served.

mod authorization;
mod options;
mod site;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use engine::Manager;
use net::server::{Patience, Server, Times, Waiting};
use pki::tls::{ClientCertificates, ServerCertificates, server_config};
use pki::{CertificateAuthority, KeyAlgorithm, Leaf};
use rustls::ServerConfig;

pub use options::DiagnosticsOptions;

use crate::bind::bind;
use authorization::Authorizer;

/// Simultaneous connections to each endpoint: a few scrapers and probes connect.
const CONNECTIONS: usize = 32;
const TIME: Duration = Duration::from_secs(10);
const TIMES: Times = Times {
    head: (TIME, None),
    handshake: (TIME, "diagnostics_handshake"),
    stalled: (Patience::All(TIME), "diagnostics_stalled"),
};

/// The addresses of the running endpoints, which end with the manager. `None` if an endpoint is not served.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagnostics {
    /// Address of `/metrics`.
    pub metrics: Option<SocketAddr>,
    /// Address of `/healthz` and `/readyz`.
    pub health: Option<SocketAddr>,
}

impl Diagnostics {
    /// Starts the endpoints for which `options` has an address.
    ///
    /// # Errors
    /// The process cannot listen on an address, or the certificate cannot be created.
    pub async fn start(options: &DiagnosticsOptions, manager: &Manager) -> Result<Self> {
        let mut started = Self::default();
        let server = |router, tls| {
            let reached = metrics::Limits::of(manager.all_metrics());
            Server::new(router, tls, TIMES, Waiting::new(CONNECTIONS), reached, manager.random())
        };
        if let Some(listener) = bind(options.health_addr.as_ref(), "--health-addr").await? {
            started.health = Some(listener.local_addr()?);
            manager.spawn(server(site::health(manager.clone()), None).serve(listener));
        }
        if let Some(listener) = bind(options.diagnostics_address.as_ref(), "--diagnostics-address").await? {
            started.metrics = Some(listener.local_addr()?);
            let metrics = manager.all_metrics().clone();
            let (tls, authorizer) = if options.insecure_diagnostics {
                (None, None)
            } else {
                (Some(tls(manager)?), Some(Authorizer::new(manager.client().clone())))
            };
            manager.spawn(server(site::metrics(metrics, authorizer), tls).serve(listener));
        }
        Ok(started)
    }
}

/// Creates TLS with a certificate of a new authority, which no scraper trusts. A scraper that must authenticate the server connects
/// through the API server.
fn tls(manager: &Manager) -> Result<Arc<ServerConfig>> {
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
    Ok(Arc::new(config))
}
