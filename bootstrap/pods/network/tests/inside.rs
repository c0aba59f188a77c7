//! A machine with networks of Pods, and what is done inside of one.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use machinery::clock::Clock;
use metrics::{Limits, Metrics};
use nix::ifaddrs::getifaddrs;
use nix::sched::{CloneFlags, setns};
use pod_network::helper::{Program, process};
use pod_network::{Network, Networks, Options};
use tokio::net::TcpListener;

/// The first argument of a test program that acts as helper.
const HELPER: &str = "network-of-a-test";

/// Acts as helper if this program was started as one.
#[test]
fn as_helper() {
    if std::env::args().next().as_deref() == Some(HELPER) {
        process::run().unwrap();
    }
}

/// A machine. Its API server is a listener.
pub struct Machine {
    pub networks: Networks,
    pub api: TcpListener,
    metrics: Metrics,
}

impl Machine {
    /// Starts a machine whose name servers are in this file; `None` if this machine does not allow networks of Pods.
    pub async fn start(resolv_conf: PathBuf) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            assert!(std::env::var_os("CI").is_none(), "these tests need root");
            println!("skipped: not root");
            return None;
        }
        process::offer();
        // The name of a test has no name of its program.
        let (_, here) = module_path!().split_once("::").unwrap();
        let helper = format!("{here}::as_helper");
        let arguments = ["--exact", &helper, "--nocapture"].map(str::to_owned).to_vec();
        let api = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let options = Options {
            api: api.local_addr().unwrap(),
            resolv_conf,
            program: Program { name: HELPER.to_owned(), arguments },
            clock: Clock::system(),
        };
        Some(Self { networks: Networks::new(options), api, metrics: Metrics::default() })
    }

    pub async fn pod(&self) -> Arc<Network> {
        let made = self.networks.make(None, &Limits::of(&self.metrics)).await.unwrap();
        Arc::new(made.expect("this machine allows no networks of Pods"))
    }

    /// Returns how often a limit was reached.
    pub fn reached(&self, limit: &str) -> usize {
        let text = self.metrics.text();
        let line = format!("firstlight_limit_reached_total{{limit=\"{limit}\"}} ");
        text.lines().find_map(|found| found.strip_prefix(&line)?.parse().ok()).unwrap_or_default()
    }
}

/// Does something in the network of a Pod, on a thread of its own.
pub async fn within<T: Send + 'static>(pod: &Arc<Network>, act: impl FnOnce() -> T + Send + 'static) -> T {
    let (pod, (done, result)) = (pod.clone(), tokio::sync::oneshot::channel());
    thread::spawn(move || {
        let network = File::open(pod.namespaces().network).unwrap();
        setns(network, CloneFlags::CLONE_NEWNET).unwrap();
        let result = act();
        drop(pod);
        done.send(result).ok();
    });
    result.await.unwrap()
}

/// An address of this machine that others can reach.
pub fn own_address() -> Ipv4Addr {
    let addresses = getifaddrs().unwrap().filter_map(|interface| {
        let address = interface.address?.as_sockaddr_in()?.ip();
        (!address.is_loopback()).then_some(address)
    });
    addresses.into_iter().next().expect("this machine has no address but loopback")
}

pub fn at(address: impl Into<IpAddr>, port: u16) -> SocketAddr {
    SocketAddr::new(address.into(), port)
}
