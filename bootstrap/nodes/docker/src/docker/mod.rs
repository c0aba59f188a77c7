//! The daemon as a runtime: its state in this process, and the operations of the trait.

mod exec;
mod facts;
mod find;
mod images;
mod life;
mod observe;
mod program;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use container_images::{Credentials, Locks, Sources};
use futures::FutureExt;
use futures::future::BoxFuture;
use machinery::random::Random;
use parking_lot::Mutex;
use system_containers::{Container, Exec, Exit, Finding, Image, Runtime, Spec, named};

use crate::api::{Info, Inspected};
use crate::balancer::Program;
use crate::client::Client;
use crate::network::Networks;
use crate::socket::{self, Engine};
use crate::{body, owner};

/// The usual name of the network: the one of kind, and of Cluster API's Dev provider.
pub const NETWORK: &str = "kind";

/// What [`Docker`] is made of.
pub struct Options {
    /// The data directory. It has the name of the owner of the containers, and files that are decompressed.
    pub data: PathBuf,
    /// The engine that is meant.
    pub engine: Engine,
    /// The socket of the daemon. If there is none, the usual ones are tried ([`socket::candidates`]).
    pub socket: Option<PathBuf>,
    /// The network, which is made if it does not exist: usually [`NETWORK`].
    pub network: String,
    /// The addresses of a network that is made. If there is none, the daemon chooses.
    pub range: Option<node_runtime::Range>,
    /// Folders and archives with images.
    pub sources: Sources,
    /// The users and passwords of registries.
    pub credentials: Credentials,
    /// The files of this program, of which the image of balancers is made.
    pub program: Program,
    /// Random numbers.
    pub random: Random,
}

/// System containers and images of a daemon. See the documentation of the crate.
pub struct Docker {
    pub(crate) client: Client,
    pub(crate) data: PathBuf,
    pub(crate) owner: String,
    pub(crate) networks: Networks,
    pub(crate) sources: Sources,
    pub(crate) credentials: Credentials,
    pub(crate) program: Program,
    /// Held while the image of balancers is made or removed.
    pub(crate) makes_program: tokio::sync::Mutex<()>,
    /// Held while an image is fetched.
    pub(crate) fetches: Locks,
    /// What was found of images, by name: the identity that the daemon gave the image then, which is another one when the name has another image.
    pub(crate) images: Mutex<BTreeMap<String, (String, Image)>>,
}

impl Docker {
    /// Opens the daemon.
    ///
    /// # Errors
    /// None answers at the sockets, or none with a version that can be used: the error has the reason of each. Or the data directory cannot
    /// be used.
    pub async fn open(options: Options) -> Result<Self> {
        let Options { data, engine, socket, network, range, sources, credentials, program, random } = options;
        let sockets = match socket {
            Some(socket) => vec![socket],
            None => socket::candidates(engine, |name| std::env::var_os(name))?,
        };
        let client = Client::open(engine, &sockets).await?;
        let data = std::path::absolute(&data).with_context(|| format!("cannot find {}", data.display()))?;
        let folder = data.clone();
        let owner = tokio::task::spawn_blocking(move || owner::of(&folder, &random));
        let owner = owner.await.context("the data directory was not read")??;
        let networks = Networks::new(network, range);
        let docker = Self {
            client,
            data,
            owner,
            networks,
            sources,
            credentials,
            program,
            makes_program: tokio::sync::Mutex::default(),
            fetches: Locks::default(),
            images: Mutex::default(),
        };
        docker.sweep().await;
        Ok(docker)
    }

    /// Returns the engine.
    pub fn engine(&self) -> Engine {
        self.client.engine()
    }

    /// Returns whether the machine of the daemon has version 1 of control groups.
    ///
    /// # Errors
    /// The daemon does not answer.
    pub async fn has_cgroups_v1(&self) -> Result<bool> {
        Ok(self.info().await?.cgroup_version == "1")
    }

    pub(crate) async fn info(&self) -> Result<Info> {
        self.client.get("/info").await
    }

    /// Returns what the daemon says of a container of this data directory.
    ///
    /// # Errors
    /// There is none, or it is somebody else's.
    pub(crate) async fn own(&self, name: &str) -> Result<Inspected> {
        let found = self.read(name).await?.context("there is no such container: create it first")?;
        self.check_owner(&found)?;
        Ok(found)
    }

    /// Checks that a container is one of this data directory.
    pub(crate) fn check_owner(&self, found: &Inspected) -> Result<()> {
        let is_own = found.config.labels.get(body::LABEL_OWNER) == Some(&self.owner);
        ensure!(
            is_own,
            "name: {} has a container of this name that this data directory has not created: use the data directory that has, or another name, or remove it with `{} rm`",
            self.engine().name(),
            self.engine().name().to_lowercase()
        );
        Ok(())
    }
}

impl Runtime for Docker {
    fn preflight(&self) -> BoxFuture<'_, Result<Vec<Finding>>> {
        facts::examine(self).boxed()
    }

    fn create<'a>(&'a self, spec: &'a Spec) -> BoxFuture<'a, Result<Container>> {
        named("container", "created", &spec.name, self.create_container(spec))
    }

    fn start<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Container>> {
        named("container", "started", name, self.start_container(name))
    }

    fn list<'a>(&'a self, labels: &'a BTreeMap<String, String>) -> BoxFuture<'a, Result<Vec<Container>>> {
        self.all(labels).boxed()
    }

    fn inspect<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Container>>> {
        named("container", "inspected", name, self.find_container(name))
    }

    fn exec<'a>(&'a self, name: &'a str, exec: Exec<'a>) -> BoxFuture<'a, Result<Exit>> {
        named("container", "entered", name, self.exec_in_container(name, exec))
    }

    fn console<'a>(&'a self, name: &'a str, most: usize) -> BoxFuture<'a, Result<Vec<u8>>> {
        named("container", "read", name, self.read_console(name, most))
    }

    fn has<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, bool> {
        node_runtime::machine_has(path).boxed()
    }

    fn pause<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        named("container", "paused", name, self.freeze(name, true))
    }

    fn resume<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        named("container", "resumed", name, self.freeze(name, false))
    }

    fn stop<'a>(&'a self, name: &'a str, grace: Duration) -> BoxFuture<'a, Result<()>> {
        named("container", "stopped", name, self.stop_container(name, grace))
    }

    fn kill<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        named("container", "killed", name, self.kill_container(name))
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        named("container", "removed", name, self.remove_container(name))
    }
}

impl Docker {
    /// Removes the containers that an ended process has made to look into images.
    async fn sweep(&self) {
        if let Err(error) = find::sweep(self).await {
            tracing::warn!("what an earlier process has left cannot be removed: {error:#}");
        }
    }
}
