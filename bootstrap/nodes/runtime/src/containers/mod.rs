//! System containers without a container runtime.
//!
//! A data directory has the identity of everything that is made of the machine for it (`identity`), the range of its network
//! (`network.json`), a folder for each container (`containers`), and files that keep operations apart (`locks`): several processes may
//! use it at the same time, for example a server and a command.

mod copy;
mod create;
mod data;
mod end;
mod exec;
mod image;
mod lock;
mod observe;
mod paths;
mod record;
mod remove;
mod start;
mod supervisors;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use futures::FutureExt;
use futures::future::BoxFuture;
use machinery::clock::Clock;
use machinery::random::Random;

use crate::network::Range;
use crate::preflight;
use crate::supervisor::Steps;
use system_containers::{Container, Exec, Exit, Finding, Runtime, Spec, named};

use data::Data;
use supervisors::Supervisors;

pub(crate) use record::{Folder, Record, Supervised};

/// What a [`LinuxRuntime`] is made of.
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

/// System containers of a data directory, made by this program and the kernel. See the documentation of the crate.
pub struct LinuxRuntime {
    data: Data,
    range: Option<Range>,
    supervisors: Supervisors,
}

impl LinuxRuntime {
    /// Opens a data directory, which is made if it does not exist, and removes what processes that were killed have left without a record.
    ///
    /// # Errors
    /// The directory cannot be read or written.
    pub async fn open(options: Options) -> Result<Self> {
        let Options { data, range, clock, random, steps } = options;
        let data = Data::open(&data, clock, &random, steps).await?;
        if let Err(error) = remove::sweep(&data).await {
            tracing::warn!("what an earlier process has left of containers cannot be removed: {error:#}");
        }
        Ok(Self { data, range, supervisors: Supervisors::default() })
    }

    /// Runs an operation on a container, with its name in each error.
    fn named<'a, T>(
        &'a self,
        what: &'static str,
        name: &'a str,
        operation: impl Future<Output = Result<T>> + Send + 'a,
    ) -> BoxFuture<'a, Result<T>> {
        named("container", what, name, async move {
            self.supervisors.reap();
            let outcome = operation.await;
            self.supervisors.reap();
            outcome
        })
    }
}

/// Returns whether this machine has a file, a link or a folder of this path: [`Runtime::has`] of a runtime whose containers run on this machine.
pub async fn machine_has(path: &Path) -> bool {
    let path = path.to_owned();
    tokio::task::spawn_blocking(move || path.symlink_metadata().is_ok()).await.unwrap_or(false)
}

impl Runtime for LinuxRuntime {
    fn preflight(&self) -> BoxFuture<'_, Result<Vec<Finding>>> {
        preflight::examine(self.data.path(), self.range, self.data.identity()).boxed()
    }

    fn create<'a>(&'a self, spec: &'a Spec) -> BoxFuture<'a, Result<Container>> {
        self.named("created", &spec.name, create::create(&self.data, self.range, spec))
    }

    fn start<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Container>> {
        self.named("started", name, start::start(&self.data, &self.supervisors, name))
    }

    fn list<'a>(&'a self, labels: &'a BTreeMap<String, String>) -> BoxFuture<'a, Result<Vec<Container>>> {
        self.supervisors.reap();
        async move { observe::all(&self.data, labels) }.boxed()
    }

    fn inspect<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Container>>> {
        self.named("inspected", name, async move { Ok(observe::find(&self.data, name)) })
    }

    fn exec<'a>(&'a self, name: &'a str, exec: Exec<'a>) -> BoxFuture<'a, Result<Exit>> {
        self.named("entered", name, exec::exec(&self.data, name, exec))
    }

    fn console<'a>(&'a self, name: &'a str, most: usize) -> BoxFuture<'a, Result<Vec<u8>>> {
        self.named("read", name, async move { observe::console(&self.data, name, most) })
    }

    fn has<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, bool> {
        machine_has(path).boxed()
    }

    fn pause<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        self.named("paused", name, end::freeze(&self.data, name, true))
    }

    fn resume<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        self.named("resumed", name, end::freeze(&self.data, name, false))
    }

    fn stop<'a>(&'a self, name: &'a str, grace: Duration) -> BoxFuture<'a, Result<()>> {
        self.named("stopped", name, end::stop(&self.data, name, grace))
    }

    fn kill<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        self.named("killed", name, end::kill(&self.data, name))
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        self.named("removed", name, remove::remove(&self.data, name))
    }
}
