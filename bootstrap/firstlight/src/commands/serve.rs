//! `firstlight serve`: the same as `up`, without the live view.

use anyhow::Result;

use super::interrupted;
use crate::cli::ServerOptions;
use crate::process::Process;

/// Serves until it is interrupted.
///
/// # Errors
/// Where it cannot start.
pub async fn run(options: &ServerOptions) -> Result<()> {
    let process = Process::start(options).await?;
    tracing::info!(address = %process.address, kubeconfig = %process.kubeconfig.display(), "serving");
    notify_service_manager()?;
    interrupted().await;
    tracing::info!("stopping");
    process.stop().await;
    Ok(())
}

/// Tells systemd, where it asked for it (`Type=notify`), that the server is ready.
fn notify_service_manager() -> Result<()> {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET") else { return Ok(()) };
    let datagram = std::os::unix::net::UnixDatagram::unbound()?;
    datagram.send_to(b"READY=1", socket)?;
    Ok(())
}
