//! A server process under measurement: its start, its CPU time, its memory.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use kube::Client;
use machinery::clock::Clock;
use serde_json::Value;
use tokio::time::Instant;

/// A running `firstlight serve` with its own data directory.
pub struct Server {
    process: test_server::Server,
    _folder: tempfile::TempDir,
    /// The port on loopback.
    pub port: u16,
    /// When the process was started.
    pub started: Instant,
    /// A client with the administrator's kubeconfig.
    pub client: Client,
}

/// Limit for what a benchmark waits for.
const LIMIT: Duration = Duration::from_secs(600);

/// Clock ticks per second in `/proc/<pid>/stat`, the same on every supported Linux.
const TICKS: f64 = 100.0;

impl Server {
    /// Starts `binary` with further arguments and waits until it is ready.
    ///
    /// # Errors
    /// Fails if the server does not start.
    pub async fn start(binary: &Path, arguments: &[&str], clock: &Clock) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let started = clock.monotonic();
        let process = test_server::Server::start(binary, folder.path(), arguments).await?;
        let config = process.config().await?;
        let port = config.cluster_url.port_u16().context("the kubeconfig names no port")?;
        Ok(Self { process, _folder: folder, port, started, client: Client::try_from(config)? })
    }

    /// Returns the path of the administrator's kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.process.kubeconfig()
    }

    fn proc(&self, file: &str) -> Result<String> {
        let process = self.process.id().context("the server has ended")?;
        std::fs::read_to_string(format!("/proc/{process}/{file}")).context("the server has ended")
    }

    /// Returns the CPU time so far, user and system, in seconds.
    ///
    /// # Errors
    /// Fails if the process has ended.
    pub fn cpu(&self) -> Result<f64> {
        let stat = self.proc("stat")?;
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
        let ticks = |index: usize| fields.get(index).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
        Ok((ticks(11) + ticks(12)) / TICKS)
    }

    /// Returns the resident memory in MB.
    ///
    /// # Errors
    /// Fails if the process has ended.
    pub fn memory(&self) -> Result<f64> {
        let status = self.proc("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes =
            line.and_then(|line| line.split_whitespace().next()).and_then(|text| text.parse::<f64>().ok());
        Ok(kilobytes.context("no VmRSS")? / 1024.0)
    }

    /// Sends a request; any response without success is an error.
    ///
    /// # Errors
    /// Returns the server's refusal.
    pub async fn send(
        &self,
        method: http::Method,
        path: &str,
        kind: &str,
        body: Option<&Value>,
    ) -> Result<Value> {
        let mut request = http::Request::builder().method(method).uri(path);
        if !kind.is_empty() {
            request = request.header(http::header::CONTENT_TYPE, kind);
        }
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        Ok(self.client.request(request.body(body)?).await?)
    }

    /// Reads a path each `interval` until `reached` holds for what is there.
    ///
    /// # Errors
    /// Returns the server's refusal; fails if it does not hold within [`LIMIT`].
    pub async fn until(
        &self,
        clock: &Clock,
        path: &str,
        interval: Duration,
        reached: impl Fn(&Value) -> bool,
    ) -> Result<()> {
        let started = clock.monotonic();
        while clock.monotonic() - started < LIMIT {
            if reached(&self.send(http::Method::GET, path, "", None).await?) {
                return Ok(());
            }
            clock.sleep(interval).await;
        }
        bail!("{path}: not what is waited for after {LIMIT:?}")
    }
}
