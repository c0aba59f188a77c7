//! A server process under measurement: its start, its CPU time, its memory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use anyhow::{Context, Result};
use futures::TryStreamExt;
use kube::Client;
use kube::core::WatchEvent;
use machinery::clock::Clock;
use serde_json::Value;
use tokio::time::Instant;

/// The objects of a kind in one namespace, by name.
pub type Objects = BTreeMap<String, Value>;

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

    /// Lists the objects of a collection of one namespace, by name.
    ///
    /// # Errors
    /// Returns the server's refusal.
    pub async fn list(&self, collection: &str) -> Result<Objects> {
        Ok(by_name(self.send(http::Method::GET, collection, "", None).await?).0)
    }

    /// Watches the objects of a collection of one namespace until `reached` holds for them. A watch takes less of the server's CPU time,
    /// which is measured, than repeated requests.
    ///
    /// # Errors
    /// Returns the server's refusal; fails if it does not hold within [`LIMIT`].
    pub async fn until(&self, collection: &str, reached: impl Fn(&Objects) -> bool) -> Result<()> {
        let reached = tokio::time::timeout(LIMIT, async {
            while !self.watch(collection, &reached).await? {}
            anyhow::Ok(())
        });
        reached.await.with_context(|| format!("{collection}: not what is waited for after {LIMIT:?}"))?
    }

    /// Watches one object until `reached` holds for it.
    ///
    /// # Errors
    /// As [`Server::until`].
    pub async fn until_object(
        &self,
        collection: &str,
        name: &str,
        reached: impl Fn(&Value) -> bool,
    ) -> Result<()> {
        let collection = format!("{collection}?fieldSelector=metadata.name%3D{name}");
        self.until(&collection, |objects| objects.get(name).is_some_and(&reached)).await
    }

    /// Lists and watches a collection. Returns whether `reached` held before the server ended the watch.
    async fn watch(&self, collection: &str, reached: impl Fn(&Objects) -> bool) -> Result<bool> {
        let (mut objects, version) = by_name(self.send(http::Method::GET, collection, "", None).await?);
        let separator = if collection.contains('?') { '&' } else { '?' };
        let request =
            http::Request::get(format!("{collection}{separator}watch=true&resourceVersion={version}"));
        let mut events = pin!(self.client.request_events::<Value>(request.body(Vec::new())?).await?);
        while !reached(&objects) {
            match events.try_next().await? {
                None | Some(WatchEvent::Error(_)) => return Ok(false),
                Some(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                    objects.insert(name(&object), object);
                }
                Some(WatchEvent::Deleted(object)) => {
                    objects.remove(&name(&object));
                }
                Some(WatchEvent::Bookmark(_)) => {}
            }
        }
        Ok(true)
    }
}

/// Returns the objects of a list by name, and its `resourceVersion`.
fn by_name(mut list: Value) -> (Objects, String) {
    let version = list["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
    let items = list["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
    (items.into_iter().map(|item| (name(&item), item)).collect(), version)
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}
