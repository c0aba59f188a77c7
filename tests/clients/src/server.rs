//! A fresh `firstlight serve`, ended with its test.

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::process::{Child, Command};

/// How long a server may take until it serves, on a busy machine.
const START: Duration = Duration::from_secs(60);

/// A server that runs until this is dropped.
#[derive(Debug)]
pub struct Server {
    _child: Child,
}

impl Server {
    /// Starts `binary serve` on `directory/data`, its log in `directory/server.log`, and waits until it says, as to systemd, that it
    /// is ready.
    ///
    /// # Errors
    /// Where it ends or is not ready in a minute, with its log.
    pub async fn start(binary: &Path, directory: &Path, options: &[String]) -> Result<Self> {
        let socket = directory.join("notify");
        let ready = UnixDatagram::bind(&socket)?;
        ready.set_nonblocking(true)?;
        let ready = tokio::net::UnixDatagram::from_std(ready)?;
        let log = std::fs::File::create(directory.join("server.log"))?;
        let mut child = Command::new(binary)
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(directory.join("data"))
            .args(options)
            .env("NOTIFY_SOCKET", &socket)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", binary.display()))?;
        let mut message = [0; 64];
        let started = tokio::time::timeout(START, async {
            tokio::select! {
                biased;
                received = ready.recv(&mut message) => received.map(drop).context("the notification"),
                ended = child.wait() => Err(anyhow::anyhow!("the server ended: {ended:?}")),
            }
        });
        let outcome =
            started.await.unwrap_or_else(|_| Err(anyhow::anyhow!("the server is not ready after {START:?}")));
        outcome.with_context(|| std::fs::read_to_string(directory.join("server.log")).unwrap_or_default())?;
        Ok(Self { _child: child })
    }
}
