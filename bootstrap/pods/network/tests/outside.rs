//! What Pods reach outside of this machine, for which its own addresses stand here, and what they do not.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pod_network::{API, Network, limits};
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::pods_network::inside::{Machine, at, own_address, within};

const DEADLINE: Duration = Duration::from_secs(30);
/// More than all buffers on the way.
const MANY: usize = 20 << 20;

async fn connects(pod: &Arc<Network>, to: SocketAddr) -> Result<(), ErrorKind> {
    within(pod, move || TcpStream::connect_timeout(&to, DEADLINE))
        .await
        .map(drop)
        .map_err(|error| error.kind())
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_arrive_in_both_directions() {
    let Some(machine) = Machine::start(PathBuf::new()).await else { return };
    let pod = machine.pod().await;
    let listener = TcpListener::bind(at(own_address(), 0)).await.unwrap();
    let to = listener.local_addr().unwrap();
    let echo = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let (mut read, mut write) = stream.split();
        tokio::io::copy(&mut read, &mut write).await.unwrap();
        write.shutdown().await.unwrap();
    };
    let sent: Vec<u8> = (0..MANY).map(|at| u8::try_from(at * 31 % 251).unwrap()).collect();
    let expected = sent.clone();
    let talk = within(&pod, move || {
        let mut stream = TcpStream::connect_timeout(&to, DEADLINE).unwrap();
        let mut other = stream.try_clone().unwrap();
        let writer = std::thread::spawn(move || {
            other.write_all(&sent).unwrap();
            other.shutdown(std::net::Shutdown::Write).unwrap();
        });
        let mut received = Vec::new();
        stream.read_to_end(&mut received).unwrap();
        writer.join().unwrap();
        received
    });
    let ((), received) =
        tokio::time::timeout(DEADLINE * 2, async { tokio::join!(echo, talk) }).await.unwrap();
    assert!(received == expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_seen_at_once() {
    let Some(machine) = Machine::start(PathBuf::new()).await else { return };
    let pod = machine.pod().await;
    let free = TcpListener::bind(at(own_address(), 0)).await.unwrap().local_addr().unwrap();
    assert_eq!(connects(&pod, free).await, Err(ErrorKind::ConnectionRefused));
    let absent = at([198, 18, 200, 200], 80);
    assert_eq!(connects(&pod, absent).await, Err(ErrorKind::HostUnreachable), "there is no such Pod");
}

#[tokio::test(flavor = "multi_thread")]
async fn loopback_of_the_machine_is_not_reached() {
    let Some(machine) = Machine::start(PathBuf::new()).await else { return };
    let pod = machine.pod().await;
    let port = machine.api.local_addr().unwrap().port();
    for address in [[127, 0, 0, 1], [127, 0, 0, 2], [198, 19, 0, 2], [0, 0, 0, 0]] {
        assert!(connects(&pod, at(address, port)).await.is_err(), "{address:?}");
    }
    // A Service may not lead there, either.
    struct Trap(SocketAddr);
    impl pod_network::Services for Trap {
        fn addresses(&self, _: &str, _: &str) -> Option<Vec<std::net::Ipv4Addr>> {
            None
        }
        fn endpoint(&self, _: std::net::SocketAddrV4) -> Option<SocketAddr> {
            Some(self.0)
        }
    }
    machine.networks.serve(Arc::new(Trap(machine.api.local_addr().unwrap())));
    let trap = connects(&pod, at(pod_network::FIRST_SERVICE, 443)).await;
    assert_eq!(trap, Err(ErrorKind::HostUnreachable));
    assert_eq!(connects(&pod, API.into()).await, Ok(()), "but for the API server");
}

#[tokio::test(flavor = "multi_thread")]
async fn datagrams_go_out_and_come_back() {
    let Some(machine) = Machine::start(PathBuf::new()).await else { return };
    let pod = machine.pod().await;
    let echo = tokio::net::UdpSocket::bind(at(own_address(), 0)).await.unwrap();
    let to = echo.local_addr().unwrap();
    tokio::spawn(async move {
        let mut buffer = vec![0; 65_536];
        while let Ok((length, from)) = echo.recv_from(&mut buffer).await {
            echo.send_to(&buffer[..length], from).await.ok();
        }
    });
    let sizes = within(&pod, move || {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        socket.set_read_timeout(Some(DEADLINE)).unwrap();
        socket.connect(to).unwrap();
        let mut buffer = vec![0; 65_536];
        [1, 1400, 9000].map(|size| {
            socket.send(&vec![7; size]).unwrap();
            socket.recv(&mut buffer).unwrap()
        })
    });
    assert_eq!(sizes.await, [1, 1400, 9000]);
    let refused = within(&pod, || {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        socket.set_read_timeout(Some(DEADLINE)).unwrap();
        socket.connect("198.18.0.200:9").unwrap();
        socket.send(b"to no Pod").unwrap();
        socket.recv(&mut [0; 10]).unwrap_err().kind()
    });
    assert_eq!(refused.await, ErrorKind::ConnectionRefused);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_destinations_is_limited() {
    let Some(machine) = Machine::start(PathBuf::new()).await else { return };
    let pod = machine.pod().await;
    let sink = UdpSocket::bind(at(own_address(), 0)).unwrap();
    sink.set_read_timeout(Some(DEADLINE)).unwrap();
    let to = sink.local_addr().unwrap();
    let send = move |count: usize| {
        let sockets: Vec<_> = (0..count).map(|_| UdpSocket::bind("0.0.0.0:0").unwrap()).collect();
        for socket in &sockets {
            socket.send_to(b"!", to).unwrap();
            // One after the other, so that none is lost for want of room.
            sink.recv(&mut [0; 1]).unwrap();
        }
        let beyond = UdpSocket::bind("0.0.0.0:0").unwrap();
        beyond.send_to(b"?", to).unwrap();
        sockets.len()
    };
    assert_eq!(within(&pod, move || send(limits::UDP_FLOWS)).await, limits::UDP_FLOWS);
    let reached = async {
        while machine.reached("pod_udp_flows") == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, reached).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_connections_is_limited() {
    let Some(machine) = Machine::start(PathBuf::new()).await else { return };
    // Both sides of each connection, and those of the gateway, are files of this process.
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    setrlimit(Resource::Nofile, files).unwrap();
    let pod = machine.pod().await;
    let listener = TcpListener::bind(at(own_address(), 0)).await.unwrap();
    let to = listener.local_addr().unwrap();
    let accepting = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                stream.write_all(b"!").await.ok();
                stream.read_to_end(&mut Vec::new()).await.ok();
            });
        }
    });
    let held = within(&pod, move || {
        let connect = || {
            let mut stream = TcpStream::connect_timeout(&to, DEADLINE)?;
            stream.read_exact(&mut [0; 1])?;
            Ok::<_, std::io::Error>(stream)
        };
        let held: Vec<_> = (0..limits::TCP_FLOWS).map(|_| connect().unwrap()).collect();
        let beyond = connect().unwrap_err().kind();
        (held, beyond)
    });
    let (held, beyond) = held.await;
    assert_eq!((held.len(), beyond), (limits::TCP_FLOWS, ErrorKind::ConnectionRefused));
    assert_eq!(machine.reached("pod_tcp_flows"), 1);
    drop(held);
    // Those that have ended make room.
    let again = async { while connects(&pod, to).await.is_err() {} };
    tokio::time::timeout(DEADLINE, again).await.unwrap();
    accepting.abort();
    let mut answer = machine.networks.dial("198.18.0.1", 1).await.unwrap().unwrap();
    assert_eq!(answer.read(&mut [0; 1]).await.unwrap(), 0, "the listener serves nobody but the gateway");
}
