//! One server process under measurement: its start, its CPU time, its memory.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use firstlight::commands::controllers::client;
use kube::Client;
use machinery::clock::Clock;
use serde_json::Value;
use tokio::time::Instant;

/// A running `firstlight serve` on a data directory of its own.
pub struct Server {
    child: Child,
    folder: tempfile::TempDir,
    /// Where it listens on loopback.
    pub port: u16,
    /// When it was executed.
    pub started: Instant,
    /// A client with the administrator's kubeconfig.
    pub client: Client,
}

/// No start takes longer.
const START_LIMIT: Duration = Duration::from_secs(30);
/// Clock ticks of `/proc/<pid>/stat` a second, on every Linux that runs this.
const TICKS: f64 = 100.0;

impl Server {
    /// Starts `binary` with further arguments and waits until `/readyz` answers.
    ///
    /// # Errors
    /// Where it does not start.
    pub async fn start(binary: &Path, arguments: &[&str], clock: &Clock) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let started = clock.monotonic();
        let child = Command::new(binary)
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(folder.path())
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot run {}", binary.display()))?;
        let kubeconfig = folder.path().join("kubeconfig");
        let client = loop {
            if folder.path().join("server.json").exists()
                && let Ok(client) = client(&kubeconfig).await
                && ready(&client).await
            {
                break client;
            }
            if clock.monotonic() - started > START_LIMIT {
                bail!("{} is not ready after {START_LIMIT:?}", binary.display());
            }
            clock.sleep(Duration::from_millis(2)).await;
        };
        let port = client_port(&kubeconfig).await?;
        Ok(Self { child, folder, port, started, client })
    }

    /// The administrator's.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    fn proc(&self, file: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{file}", self.child.id()))
    }

    /// CPU time so far, user and system, in seconds.
    ///
    /// # Errors
    /// Where the process has ended.
    pub fn cpu(&self) -> Result<f64> {
        let stat = std::fs::read_to_string(self.proc("stat")).context("the server has ended")?;
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
        let ticks = |index: usize| fields.get(index).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
        Ok((ticks(11) + ticks(12)) / TICKS)
    }

    /// Resident memory in MB.
    ///
    /// # Errors
    /// Where the process has ended.
    pub fn memory(&self) -> Result<f64> {
        let status = std::fs::read_to_string(self.proc("status")).context("the server has ended")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes =
            line.and_then(|line| line.split_whitespace().next()).and_then(|text| text.parse::<f64>().ok());
        Ok(kilobytes.context("no VmRSS")? / 1024.0)
    }

    /// Sends a request; any answer but a success is an error.
    ///
    /// # Errors
    /// What the server refuses.
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
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; either way nobody needs it any more.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

async fn client_port(kubeconfig: &Path) -> Result<u16> {
    let read = kube::config::Kubeconfig::read_from(kubeconfig)?;
    let config = kube::Config::from_custom_kubeconfig(read, &Default::default()).await?;
    config.cluster_url.port_u16().context("the kubeconfig names no port")
}

async fn ready(client: &Client) -> bool {
    let Ok(request) = http::Request::get("/readyz").body(Vec::new()) else { return false };
    client.request_text(request).await.is_ok()
}
