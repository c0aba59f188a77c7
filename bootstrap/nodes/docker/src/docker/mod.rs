//! The daemon as a runtime: its state in this process, and the operations of the trait.

mod containers;
mod exec;
mod facts;
mod find;
mod images;
mod life;
mod program;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use container_images::{Credentials, Sources};
use futures::FutureExt;
use futures::future::BoxFuture;
use machinery::random::Random;
use system_containers::{Container, Exec, Exit, Finding, Image, Images, Report, Runtime, Spec, named};
use tokio::io::AsyncRead;

use crate::balancer::Program;
use crate::client::Client;
use crate::network::Networks;
use crate::owner;
use crate::socket::{self, Engine};
use containers::Containers;
use images::DaemonImages;
use program::BalancerImage;

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
    containers: Containers,
    networks: Networks,
    balancer: BalancerImage,
    images: DaemonImages,
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
        let docker = Self {
            containers: Containers::new(client, owner),
            networks: Networks::new(network, range),
            balancer: BalancerImage::new(program),
            images: DaemonImages::new(data, sources, credentials),
        };
        docker.images.sweep(&docker.containers).await;
        Ok(docker)
    }

    /// Returns the engine.
    pub fn engine(&self) -> Engine {
        self.containers.client().engine()
    }

    /// Returns whether the machine of the daemon has version 1 of control groups.
    ///
    /// # Errors
    /// The daemon does not answer.
    pub async fn has_cgroups_v1(&self) -> Result<bool> {
        Ok(self.containers.client().info().await?.cgroup_version == "1")
    }
}

impl Images for Docker {
    fn find<'a>(&'a self, name: &'a str, report: Report<'a>) -> BoxFuture<'a, Result<Image>> {
        self.images.find(&self.containers, name, report).boxed()
    }

    fn archive<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Box<dyn AsyncRead + Send + Unpin>>> {
        self.images.archive(self.containers.client(), name).boxed()
    }
}

impl Runtime for Docker {
    fn preflight(&self) -> BoxFuture<'_, Result<Vec<Finding>>> {
        facts::examine(self.containers.client()).boxed()
    }

    fn create<'a>(&'a self, spec: &'a Spec) -> BoxFuture<'a, Result<Container>> {
        let created = life::create(&self.containers, &self.networks, &self.balancer, spec);
        named("container", "created", &spec.name, created)
    }

    fn start<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Container>> {
        named("container", "started", name, life::start(&self.containers, &self.networks, name))
    }

    fn list<'a>(&'a self, labels: &'a BTreeMap<String, String>) -> BoxFuture<'a, Result<Vec<Container>>> {
        self.containers.all(labels).boxed()
    }

    fn inspect<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Container>>> {
        named("container", "inspected", name, self.containers.find(name))
    }

    fn exec<'a>(&'a self, name: &'a str, exec: Exec<'a>) -> BoxFuture<'a, Result<Exit>> {
        named("container", "entered", name, exec::exec(&self.containers, name, exec))
    }

    fn console<'a>(&'a self, name: &'a str, most: usize) -> BoxFuture<'a, Result<Vec<u8>>> {
        named("container", "read", name, self.containers.console(name, most))
    }

    fn has<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, bool> {
        node_runtime::machine_has(path).boxed()
    }

    fn pause<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        named("container", "paused", name, life::freeze(&self.containers, name, true))
    }

    fn resume<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        named("container", "resumed", name, life::freeze(&self.containers, name, false))
    }

    fn stop<'a>(&'a self, name: &'a str, grace: Duration) -> BoxFuture<'a, Result<()>> {
        named("container", "stopped", name, life::stop(&self.containers, name, grace))
    }

    fn kill<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        named("container", "killed", name, life::kill(&self.containers, name))
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        let removed = life::remove(&self.containers, &self.networks, &self.balancer, name);
        named("container", "removed", name, removed)
    }
}
