//! TLS of probes: as a kubelet's, it does not verify who answers.

use std::sync::Arc;

use anyhow::{Context, Result};
use net::BoxStream;
use rustls_pki_types::ServerName;
use tokio_rustls::TlsConnector;

/// Begins TLS on a connection.
///
/// # Errors
/// The other side does not speak TLS.
pub(super) async fn secured(stream: BoxStream, host: &str) -> Result<BoxStream> {
    let config = pki::tls::client_config_for_anyone().context("TLS cannot be used")?;
    let name = ServerName::try_from(host.to_owned()).context("the host is no name")?;
    let connected = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
    Ok(Box::new(connected.context("no TLS")?))
}
