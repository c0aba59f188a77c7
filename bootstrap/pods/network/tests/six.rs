//! IPv6 from Pods, where this machine has it.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::time::Duration;

use nix::ifaddrs::getifaddrs;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::pods_network::inside::{Machine, at, within};

const DEADLINE: Duration = Duration::from_secs(30);

/// An address of this machine that others can reach, if it has one.
fn own_address() -> Option<Ipv6Addr> {
    let addresses = getifaddrs().unwrap().filter_map(|interface| {
        let address = interface.address?.as_sockaddr_in6()?.ip();
        let is_of_link = address.segments()[0] & 0xffc0 == 0xfe80;
        (!address.is_loopback() && !is_of_link).then_some(address)
    });
    addresses.into_iter().next()
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_and_datagrams_of_version_six_go_out() {
    let Some(machine) = Machine::start(PathBuf::new()).await else { return };
    let Some(own) = own_address() else { return println!("skipped: this machine has no IPv6") };
    let pod = machine.pod().await;
    let listener = TcpListener::bind(at(own, 0)).await.unwrap();
    let to = listener.local_addr().unwrap();
    let answer = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut asked = [0; 3];
        stream.read_exact(&mut asked).await.unwrap();
        stream.write_all(b"pong").await.unwrap();
        asked
    };
    let ask = within(&pod, move || {
        let mut stream = TcpStream::connect_timeout(&to, DEADLINE).unwrap();
        stream.write_all(b"hey").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    });
    let (asked, answered) =
        tokio::time::timeout(DEADLINE, async { tokio::join!(answer, ask) }).await.unwrap();
    assert_eq!((&asked[..], answered.as_str()), (&b"hey"[..], "pong"));

    let echo = tokio::net::UdpSocket::bind(at(own, 0)).await.unwrap();
    let to = echo.local_addr().unwrap();
    let answer = async {
        let mut buffer = [0; 16];
        let (length, from) = echo.recv_from(&mut buffer).await.unwrap();
        echo.send_to(&buffer[..length], from).await.unwrap();
    };
    let ask = within(&pod, move || {
        let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).unwrap();
        socket.set_read_timeout(Some(DEADLINE)).unwrap();
        socket.send_to(b"datagram", to).unwrap();
        let mut buffer = [0; 16];
        let (length, from) = socket.recv_from(&mut buffer).unwrap();
        (buffer[..length].to_vec(), from)
    });
    let ((), answered) = tokio::time::timeout(DEADLINE, async { tokio::join!(answer, ask) }).await.unwrap();
    assert_eq!(answered, (b"datagram".to_vec(), to));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_version_six_does_not_reach_is_said_at_once() {
    let Some(machine) = Machine::start(PathBuf::new()).await else { return };
    let pod = machine.pod().await;
    let free = match own_address() {
        Some(own) => Some(TcpListener::bind(at(own, 0)).await.unwrap().local_addr().unwrap()),
        None => None,
    };
    let loopback = std::net::TcpListener::bind((Ipv6Addr::LOCALHOST, 0));
    let port = loopback.as_ref().map_or(9, |listener| listener.local_addr().unwrap().port());
    let fixed = ["::1", "fe80::1", "ff02::1", "::ffff:127.0.0.1", "fd5f:1a7e:9c03::c612:7777"];
    let fixed = fixed.map(|address| SocketAddr::new(address.parse::<IpAddr>().unwrap(), port));
    for to in fixed.into_iter().chain(free) {
        let error = within(&pod, move || {
            TcpStream::connect_timeout(&to, DEADLINE).map(drop).map_err(|error| error.kind())
        });
        let error = error.await.unwrap_err();
        assert!(error != ErrorKind::TimedOut && error != ErrorKind::WouldBlock, "{to}: {error}");
    }
}
