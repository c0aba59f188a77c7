//! Runs a firstlight process for a test and ends it with the test.

use std::fs::OpenOptions;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::process::{Child, Command};

/// Maximum time until a server is ready, on a busy machine.
const START: Duration = Duration::from_secs(60);

/// A running `firstlight serve`. Dropping it kills it.
#[derive(Debug)]
pub struct Server {
    child: Child,
    data: PathBuf,
    log: PathBuf,
}

impl Server {
    /// Starts `binary serve OPTIONS` with the data in `directory/data` on a free port of loopback, appends
    /// its log to `directory/server.log`, and waits for its systemd notification that it is ready.
    ///
    /// # Errors
    /// The server ends, or is not ready within a minute. The error contains its log.
    pub async fn start(binary: &Path, directory: &Path, options: &[&str]) -> Result<Self> {
        Self::start_in(binary, directory, options, &[]).await
    }

    /// The same with these variables in the environment.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub async fn start_in(
        binary: &Path,
        directory: &Path,
        options: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<Self> {
        let socket = directory.join("notify");
        // An earlier server of this directory may have left the socket behind.
        drop(std::fs::remove_file(&socket));
        let ready = UnixDatagram::bind(&socket)?;
        ready.set_nonblocking(true)?;
        let ready = tokio::net::UnixDatagram::from_std(ready)?;
        let (data, log) = (directory.join("data"), directory.join("server.log"));
        let mut child = Command::new(binary)
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(&data)
            .args(options)
            .envs(environment.iter().copied())
            .env("NOTIFY_SOCKET", &socket)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(OpenOptions::new().create(true).append(true).open(&log)?)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", binary.display()))?;
        let mut message = [0; 64];
        let started = tokio::time::timeout(START, async {
            tokio::select! {
                biased;
                received = ready.recv(&mut message) => received.map(drop).context("the notification"),
                ended = child.wait() => Err(anyhow!("the server ended: {ended:?}")),
            }
        });
        let outcome =
            started.await.unwrap_or_else(|_| Err(anyhow!("the server is not ready after {START:?}")));
        outcome.with_context(|| std::fs::read_to_string(&log).unwrap_or_default())?;
        Ok(Self { child, data, log })
    }

    /// Path of the administrator's kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.data.join("kubeconfig")
    }

    /// A client configuration from the administrator's kubeconfig, with the server's address.
    ///
    /// # Errors
    /// The kubeconfig cannot be read.
    pub async fn config(&self) -> Result<Config> {
        let kubeconfig = Kubeconfig::read_from(self.kubeconfig())?;
        Ok(Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?)
    }

    /// A client with the administrator's kubeconfig.
    ///
    /// # Errors
    /// The kubeconfig cannot be read.
    pub async fn client(&self) -> Result<Client> {
        Ok(Client::try_from(self.config().await?)?)
    }

    /// The exit status, if the process has ended.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// The log so far, including earlier servers of this directory.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The process ID while the process runs.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Kills the process with SIGKILL and waits until it has ended.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub async fn kill(&mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }
}
