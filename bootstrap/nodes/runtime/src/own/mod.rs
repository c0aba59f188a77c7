//! System containers without a container runtime.
//!
//! A data directory has the identity of everything that is made of the machine for it (`identity`), the range of its network
//! (`network.json`), a folder for each container (`containers`), and files that keep operations apart (`locks`): several processes may
//! use it at the same time, for example a server and a command.

mod copy;
mod create;
mod end;
mod exec;
mod image;
mod lock;
mod observe;
mod paths;
mod record;
mod remove;
mod start;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use anyhow::{Context, Result};
use futures::FutureExt;
use futures::future::BoxFuture;
use machinery::clock::Clock;
use machinery::random::Random;
use parking_lot::Mutex;

use crate::network::Range;
use crate::preflight;
use crate::supervisor::Steps;
use system_containers::{Container, Exec, Exit, Finding, Runtime, Spec, named};

pub(crate) use record::{Folder, Record, Supervised};

/// The file with the range of the network.
const NETWORK: &str = "network.json";

/// What [`Own`] is made of.
pub struct Options {
    /// The data directory.
    pub data: PathBuf,
    /// The addresses of containers. If there is none, a range is chosen that nothing on this machine uses.
    pub range: Option<Range>,
    /// The clock.
    pub clock: Clock,
    /// Random numbers.
    pub random: Random,
    /// A function that is called at each step.
    pub steps: Steps,
}

/// System containers of a data directory. See the documentation of the crate.
pub struct Own {
    data: PathBuf,
    identity: String,
    range: Option<Range>,
    clock: Clock,
    steps: Steps,
    /// Supervisors that this process has started, and has to wait for when they end.
    children: Mutex<Vec<Child>>,
}

impl Own {
    /// Opens a data directory, which is made if it does not exist, and removes what processes that were killed have left without a record.
    ///
    /// # Errors
    /// The directory cannot be read or written.
    pub async fn open(options: Options) -> Result<Self> {
        let data = std::path::absolute(&options.data)
            .with_context(|| format!("cannot find {}", options.data.display()))?;
        files::make_folder(&data, 0o700)?;
        let Options { range, clock, steps, random, .. } = options;
        let identity = lock::identity(&clock, &data, &random).await?;
        let own = Self { data, identity, range, clock, steps, children: Mutex::default() };
        if let Err(error) = own.sweep().await {
            tracing::warn!("what an earlier process has left of containers cannot be removed: {error:#}");
        }
        Ok(own)
    }

    /// Returns the folder of a container.
    fn folder(&self, name: &str) -> Folder {
        Folder::new(self.data.join("containers").join(name))
    }

    fn step(&self, step: &str) {
        (self.steps)(&self.data, step);
    }

    /// Waits for supervisors that have ended, so that the kernel forgets them.
    fn reap(&self) {
        self.children.lock().retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    }

    /// Runs an operation on a container, with its name in each error.
    fn named<'a, T>(
        &'a self,
        what: &'static str,
        name: &'a str,
        operation: impl Future<Output = Result<T>> + Send + 'a,
    ) -> BoxFuture<'a, Result<T>> {
        named("container", what, name, async move {
            self.reap();
            operation.await
        })
    }
}

/// Returns whether this machine has a file, a link or a folder of this path: [`Runtime::has`] of a runtime whose containers run on this machine.
pub async fn machine_has(path: &Path) -> bool {
    let path = path.to_owned();
    tokio::task::spawn_blocking(move || path.symlink_metadata().is_ok()).await.unwrap_or(false)
}

impl Runtime for Own {
    fn preflight(&self) -> BoxFuture<'_, Result<Vec<Finding>>> {
        preflight::examine(&self.data, self.range, &self.identity).boxed()
    }

    fn create<'a>(&'a self, spec: &'a Spec) -> BoxFuture<'a, Result<Container>> {
        self.named("created", &spec.name, self.create_container(spec))
    }

    fn start<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Container>> {
        self.named("started", name, self.start_container(name))
    }

    fn list<'a>(&'a self, labels: &'a BTreeMap<String, String>) -> BoxFuture<'a, Result<Vec<Container>>> {
        self.reap();
        async move { self.all(labels) }.boxed()
    }

    fn inspect<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Container>>> {
        self.named("inspected", name, async move { Ok(self.find(name)) })
    }

    fn exec<'a>(&'a self, name: &'a str, exec: Exec<'a>) -> BoxFuture<'a, Result<Exit>> {
        self.named("entered", name, self.exec_in_container(name, exec))
    }

    fn console<'a>(&'a self, name: &'a str, most: usize) -> BoxFuture<'a, Result<Vec<u8>>> {
        self.named("read", name, async move { self.read_console(name, most) })
    }

    fn has<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, bool> {
        machine_has(path).boxed()
    }

    fn pause<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        self.named("paused", name, self.freeze(name, true))
    }

    fn resume<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        self.named("resumed", name, self.freeze(name, false))
    }

    fn stop<'a>(&'a self, name: &'a str, grace: Duration) -> BoxFuture<'a, Result<()>> {
        self.named("stopped", name, self.stop_container(name, grace))
    }

    fn kill<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        self.named("killed", name, self.kill_container(name))
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        self.named("removed", name, self.remove_container(name))
    }
}
