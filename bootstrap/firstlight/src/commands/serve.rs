//! `firstlight serve`: the same as `up`, without the live view.

mod detached;

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use anyhow::Result;
use clap::Args;
use server::options::ServerOptions;
use server::process::Process;

use crate::handed_over;
use crate::signals::Signals;

/// Options of `serve`.
#[derive(Debug, Clone, Args)]
pub struct ServeOptions {
    /// Return as soon as the API answers; the server keeps running in the background until `firstlight stop`
    #[arg(long)]
    pub detach: bool,
    /// Options shared with `up`.
    #[command(flatten)]
    pub server: ServerOptions,
}

/// Serves until the process is interrupted.
///
/// # Errors
/// The server cannot start, or its store cannot be written any more.
pub async fn run(options: &ServeOptions) -> Result<()> {
    let (options, detach) = (&options.server, options.detach);
    handed_over::before_start(options)?;
    if detach {
        return detached::start(options).await;
    }
    let (process, mut signals) = Signals::catch_after(Process::start(options)).await?;
    process.remember();
    tracing::info!(address = %process.address, kubeconfig = %process.kubeconfig.display(), "serving");
    if let Some(socket) = std::env::var_os("NOTIFY_SOCKET")
        && let Err(error) = notify(&socket)
    {
        // systemd then ends the process after its timeout; until then the API is served.
        tracing::warn!(%error, ?socket, "the service manager cannot be told that the server is ready");
    }
    let outcome = tokio::select! {
        biased;
        _ = signals.next() => Ok(()),
        error = process.store_failed() => Err(error),
    };
    tracing::info!("stopping");
    process.stop().await;
    outcome
}

/// Tells systemd (`Type=notify`) that the server is ready. A socket whose name begins with `@` is in the abstract namespace.
pub fn notify(socket: &OsStr) -> io::Result<()> {
    let address = match socket.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(socket)?,
    };
    let datagram = UnixDatagram::unbound()?;
    datagram.send_to_addr(b"READY=1", &address)?;
    Ok(())
}
