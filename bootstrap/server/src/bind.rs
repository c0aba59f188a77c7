//! Listens on the addresses that flags have.

use anyhow::{Context as _, Result};
use tokio::net::TcpListener;

use crate::options::Address;

/// Listens on `address`, the value of `flag`. Returns `None` if the endpoint is disabled.
///
/// # Errors
/// The process cannot listen on the address.
pub(crate) async fn bind(address: Option<&Address>, flag: &str) -> Result<Option<TcpListener>> {
    let Some(address) = address else { return Ok(None) };
    for candidate in address.candidates() {
        match TcpListener::bind(candidate).await {
            Ok(listener) => return Ok(Some(listener)),
            // The host may have no IPv6; the next candidate is the unspecified IPv4 address.
            Err(_) if candidate.is_ipv6() && address.candidates().len() > 1 => {}
            Err(error) => return Err(error).with_context(|| format!("{flag}: cannot listen on {candidate}")),
        }
    }
    Ok(None)
}
