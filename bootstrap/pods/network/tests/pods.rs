//! Pods among each other, and the server's access to them.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use pod_network::{API, FIRST_SERVICE, Network, Services};
use tokio::io::AsyncReadExt;

use crate::pods_network::inside::{Machine, at, within};

const PORT: u16 = 9443;
const DEADLINE: Duration = Duration::from_secs(30);

/// Lets a Pod say something to everybody who connects.
async fn speaks(pod: &Arc<Network>, words: &'static str) {
    let listener = within(pod, || TcpListener::bind(("0.0.0.0", PORT)).unwrap()).await;
    thread::spawn(move || {
        for stream in listener.incoming() {
            stream.unwrap().write_all(words.as_bytes()).ok();
        }
    });
}

async fn heard(machine: &Machine, host: &str, port: u16) -> String {
    let mut stream = machine.networks.dial(host, port).await.unwrap().unwrap();
    let mut words = String::new();
    stream.read_to_string(&mut words).await.unwrap();
    words
}

fn read(to: SocketAddr) -> std::io::Result<String> {
    let mut words = String::new();
    TcpStream::connect_timeout(&to, DEADLINE)?.read_to_string(&mut words)?;
    Ok(words)
}

struct OneService(SocketAddr);

impl Services for OneService {
    fn addresses(&self, namespace: &str, name: &str) -> Option<Vec<Ipv4Addr>> {
        ((namespace, name) == ("capi-system", "hook")).then(|| vec![FIRST_SERVICE])
    }

    fn endpoint(&self, service: SocketAddrV4) -> Option<SocketAddr> {
        (service == SocketAddrV4::new(FIRST_SERVICE, 443)).then_some(self.0)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ports_of_pods_do_not_collide() {
    let Some(machine) = Machine::start(PathBuf::new()).await else { return };
    let (one, other) = (machine.pod().await, machine.pod().await);
    assert_ne!(one.address(), other.address());
    speaks(&one, "one").await;
    speaks(&other, "other").await;
    assert_eq!(heard(&machine, &one.address().to_string(), PORT).await, "one");
    assert_eq!(heard(&machine, &other.address().to_string(), PORT).await, "other");
    let closed = machine.networks.dial(&one.address().to_string(), 9440).await.unwrap();
    assert_eq!(closed.unwrap_err().kind(), ErrorKind::ConnectionRefused);
    assert!(machine.networks.dial("192.0.2.1", 1).await.is_none(), "that is no matter of Pods");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_reaches_others_and_services() {
    let Some(machine) = Machine::start(PathBuf::new()).await else { return };
    let (client, server) = (machine.pod().await, machine.pod().await);
    let address = at(server.address(), PORT);
    machine.networks.serve(Arc::new(OneService(address)));
    speaks(&server, "the service").await;
    for (to, what) in [(address, "the Pod"), (at(FIRST_SERVICE, 443), "the Service")] {
        assert_eq!(within(&client, move || read(to)).await.unwrap(), "the service", "{what}");
    }
    let itself = within(&server, move || read(at(FIRST_SERVICE, 443)));
    assert_eq!(itself.await.unwrap(), "the service", "a Pod may be its own client");
    for host in ["hook.capi-system.svc", "hook.capi-system.svc.cluster.local"] {
        assert_eq!(heard(&machine, host, 443).await, "the service");
    }
    assert!(machine.networks.dial("other.capi-system.svc", 443).await.is_none());
    let refused = within(&client, || read(at(FIRST_SERVICE, 444))).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_reaches_the_api_server() {
    let Some(machine) = Machine::start(PathBuf::new()).await else { return };
    let pod = machine.pod().await;
    let talk = within(&pod, || {
        let mut stream = TcpStream::connect_timeout(&API.into(), DEADLINE).unwrap();
        stream.write_all(b"question").unwrap();
        // The end of one direction is passed on, and leaves the other open.
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    });
    let serve = async {
        let (mut stream, _) = machine.api.accept().await.unwrap();
        let mut question = String::new();
        stream.read_to_string(&mut question).await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut stream, format!("{question}: answer").as_bytes())
            .await
            .unwrap();
    };
    let (answer, ()) = tokio::join!(talk, serve);
    assert_eq!(answer, "question: answer");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_remains_of_a_pod() {
    let Some(machine) = Machine::start(PathBuf::new()).await else { return };
    for _ in 0..20 {
        let pod = machine.pod().await;
        let network = std::fs::metadata(pod.namespaces().network).unwrap().ino();
        let address = pod.address().to_string();
        speaks_briefly(&pod).await;
        drop(pod);
        let gone = machine.networks.dial(&address, PORT).await.unwrap();
        assert_eq!(gone.unwrap_err().kind(), ErrorKind::HostUnreachable);
        let freed = async {
            while is_open(network) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(DEADLINE, freed).await.expect("the network is still there");
    }
}

async fn speaks_briefly(pod: &Arc<Network>) {
    within(pod, || drop(TcpListener::bind(("0.0.0.0", PORT)).unwrap())).await;
}

/// Returns whether a process of this machine is in the network, or has a file of it open.
fn is_open(network: u64) -> bool {
    let name = format!("net:[{network}]");
    let links = |folder: PathBuf| {
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        files.into_iter().filter_map(|file| std::fs::read_link(file.path()).ok()).collect::<Vec<_>>()
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.into_iter().any(|process| {
        let mut all = links(process.path().join("fd"));
        let tasks = std::fs::read_dir(process.path().join("task")).into_iter().flatten().flatten();
        all.extend(tasks.filter_map(|task| std::fs::read_link(task.path().join("ns/net")).ok()));
        all.iter().any(|link| link.to_str() == Some(name.as_str()))
    })
}
