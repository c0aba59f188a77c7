//! The real server process, which is killed.

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};

const PATIENCE: Duration = Duration::from_secs(60);

/// A running server. Dropping it kills it.
pub struct Server {
    child: Child,
    /// A client over its socket.
    pub client: Client,
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Server {
    /// Starts `binary` on the data below `directory` and waits until it says, as to systemd, that it is ready.
    ///
    /// # Errors
    /// Where it does not become ready.
    pub async fn start(binary: &Path, directory: &Path) -> Result<Self> {
        let socket = directory.join("notify");
        drop(std::fs::remove_file(&socket));
        let ready = UnixDatagram::bind(&socket)?;
        ready.set_read_timeout(Some(PATIENCE))?;
        let data = directory.join("data");
        let mut child = Command::new(binary)
            .args(["serve", "--listen", "127.0.0.1:0", "--controllers", "none", "--data-dir"])
            .arg(&data)
            .env("NOTIFY_SOCKET", &socket)
            .env("RUST_LOG", "error")
            .stdout(Stdio::null())
            .spawn()?;
        if let Err(error) = ready.recv(&mut [0; 64]) {
            drop(child.kill());
            drop(child.wait());
            return Err(error).context("the server did not become ready");
        }
        let kubeconfig = Kubeconfig::read_from(data.join("kubeconfig"))?;
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        Ok(Self { child, client: Client::try_from(config)? })
    }

    /// kill -9.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}
