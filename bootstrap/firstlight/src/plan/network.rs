//! The network of a plan: each host has its own ports, and only simulated workload clusters listen.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use net::{BoxStream, Dial, Listener, Network, SimulatedNetwork, without_brackets};
use parking_lot::Mutex;

/// The hosts, by name or address. A host that nobody listens on refuses each connection.
#[derive(Clone, Default)]
pub(super) struct Hosts(Arc<Mutex<BTreeMap<String, SimulatedNetwork>>>);

impl Hosts {
    fn host(&self, name: &str) -> SimulatedNetwork {
        let name = without_brackets(name);
        self.0.lock().entry(name.to_owned()).or_default().clone()
    }
}

impl Dial for Hosts {
    fn dial<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<BoxStream>> {
        let network = self.host(host);
        async move { network.dial(host, port).await }.boxed()
    }
}

impl Network for Hosts {
    fn listen<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Box<dyn Listener>>> {
        let network = self.host(host);
        async move { network.listen(host, port).await }.boxed()
    }
}
