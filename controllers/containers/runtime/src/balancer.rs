//! The load balancer of a cluster's API servers, as its users know it. It runs where the nodes run, and outlives the server as they do.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use anyhow::{Result, ensure};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::limits;
use crate::spec::State;

/// The folder of a balancer in its container ([`crate::Init::Balancer`]): [`CONFIGURATION`] and [`STATUS`] are mounted there.
pub const FOLDER: &str = "/balancer";
/// The folder in it from which the balancer reads its configuration.
pub const CONFIGURATION: &str = "configuration";
/// The folder in it in which the balancer says what it does.
pub const STATUS: &str = "status";

/// Runs load balancers. All errors name the balancer, the step, and what to do.
pub trait Balancers: Send + Sync {
    /// Makes a balancer if there is none of this name, starts it if it does not run, and gives it this configuration, which it uses when
    /// this returns. Connections through it go on. One that is paused stays paused.
    ///
    /// `address` is the one that it had when it was made the first time: with it, a balancer that was lost is made again where its users look
    /// for it. `labels` are those of its container, and are not changed later.
    ///
    /// # Errors
    /// The configuration cannot be used, the balancer has another address, or it cannot be made or started: the error says why. What there
    /// is then is completed by the next call, or removed by [`Balancers::remove`].
    fn ensure<'a>(
        &'a self,
        name: &'a str,
        labels: &'a BTreeMap<String, String>,
        address: Option<Ipv4Addr>,
        configuration: &'a Configuration,
    ) -> BoxFuture<'a, Result<Balancer>>;

    /// Returns the balancer called `name`; `None` if it does not exist.
    ///
    /// # Errors
    /// What is remembered of it cannot be read.
    fn inspect<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Balancer>>>;

    /// Removes a balancer and everything that was made for it. Nothing happens if there is none.
    ///
    /// # Errors
    /// Something cannot be removed; a later call tries again.
    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>>;
}

/// What a balancer shall do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Configuration {
    /// The port on which it listens, on all of its addresses.
    pub port: u16,
    /// The servers among which it distributes connections.
    pub servers: Vec<Server>,
}

/// An API server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Server {
    /// Its name, for example that of its container.
    pub name: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// Its port.
    pub port: u16,
    /// Whether it gets new connections only if no other server takes them.
    #[serde(default)]
    pub drain: bool,
}

/// A balancer that is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Balancer {
    /// Its name.
    pub name: String,
    /// Its address, which stays as long as it is there.
    pub address: Ipv4Addr,
    /// What its container does.
    pub state: State,
    /// What it says of itself; `None` if it does not run, or does not answer.
    pub status: Option<Status>,
}

/// What a balancer says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The configuration that it uses.
    pub configuration: Configuration,
    /// Why it does not use the newest one.
    pub error: Option<String>,
    /// The number of connections that it has, and how many there may be at most. More wait until one of them ends.
    pub connections: usize,
    /// See `connections`.
    pub most_connections: usize,
    /// Its servers, in the order of the configuration.
    pub servers: Vec<ServerStatus>,
}

/// What a balancer says of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerStatus {
    /// Its name.
    pub name: String,
    /// Whether it answers.
    pub health: Health,
    /// The number of connections that it has through the balancer.
    pub connections: usize,
}

/// Whether a server answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Health {
    /// It was not asked yet.
    Unknown,
    /// It is ready.
    Healthy,
    /// It does not answer, or says that it is not ready: why.
    Unhealthy(String),
}

impl Configuration {
    /// Checks what does not depend on the machine.
    ///
    /// # Errors
    /// The field that is wrong, and why.
    pub fn check(&self) -> Result<()> {
        ensure!(self.port != 0, "port: 0 is no port: name the one of the cluster's endpoint, usually 6443");
        let (count, most) = (self.servers.len(), limits::SERVERS);
        ensure!(count <= most, "servers: there are {count}, and a balancer has at most {most}");
        for (index, server) in self.servers.iter().enumerate() {
            let (name, address) = (&server.name, server.address);
            let length = name.len();
            ensure!(
                (1..=limits::SERVER_NAME).contains(&length),
                "servers[{index}].name: it has {length} bytes, and must have 1 to {}",
                limits::SERVER_NAME
            );
            let is_plain = !name.chars().any(char::is_control);
            ensure!(is_plain, "servers[{index}].name: {name:?} has characters that cannot be shown");
            let is_one = !address.is_unspecified() && !address.is_multicast() && !address.is_broadcast();
            ensure!(is_one, "servers[{index}].address: {address} is no address of a server ({name:?})");
            ensure!(server.port != 0, "servers[{index}].port: 0 is no port ({name:?})");
            let is_first = self.servers[..index].iter().all(|other| other.name != *name);
            ensure!(is_first, "servers[{index}].name: there are two servers called {name:?}");
        }
        Ok(())
    }
}

impl Status {
    /// Returns the servers that are ready.
    pub fn healthy(&self) -> impl Iterator<Item = &ServerStatus> {
        self.servers.iter().filter(|server| server.health == Health::Healthy)
    }
}
