//! The networks: connections, refusals, ports.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::io;

use net::{Dial, Network, RealNetwork, SimulatedNetwork};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::test]
async fn no_two_listen_on_one_port() {
    let listener = RealNetwork.listen("127.0.0.1", 0).await.unwrap();
    let port = listener.port();
    let taken = RealNetwork.listen("127.0.0.1", port).await.err().unwrap();
    assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
    assert!(RealNetwork.listen("0.0.0.0", port).await.is_err());
    drop(listener);
    assert!(RealNetwork.listen("127.0.0.1", port).await.is_ok());
}

#[tokio::test]
async fn connects_and_refuses() {
    let network = SimulatedNetwork::new();
    assert!(network.dial("host", 1).await.is_err());
    let mut listener = network.listen("127.0.0.1", 0).await.unwrap();
    assert!(network.listen("127.0.0.1", listener.port()).await.is_err());
    let mut ours = network.dial("host", listener.port()).await.unwrap();
    let (mut theirs, _) = listener.accept().await.unwrap();
    ours.write_all(b"hello").await.unwrap();
    let mut buffer = [0; 5];
    theirs.read_exact(&mut buffer).await.unwrap();
    assert_eq!(&buffer, b"hello");
    let port = listener.port();
    drop(listener);
    assert!(network.dial("host", port).await.is_err());
}
