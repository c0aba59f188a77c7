//! Names that a Pod looks up.

use std::net::UdpSocket;
use std::path::PathBuf;
use std::time::Duration;

use pod_network::limits;

use crate::pods_network::inside::{Machine, within};

const DEADLINE: Duration = Duration::from_secs(30);
/// A name server of this machine, on its loopback, as that of systemd.
const SERVER: &str = "127.0.77.53";
/// Another one, which does not answer.
const SILENT: &str = "127.0.77.54";

fn question(name: &str) -> Vec<u8> {
    let mut message = vec![0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        message.push(u8::try_from(label.len()).unwrap());
        message.extend_from_slice(label.as_bytes());
    }
    message.extend_from_slice(&[0, 0, 1, 0, 1]);
    message
}

/// A machine with this name server, and the file that says so.
async fn machine(server: &str) -> Option<(Machine, PathBuf)> {
    let resolv_conf = std::env::temp_dir().join(format!("pod-network-{}-{server}", std::process::id()));
    std::fs::write(&resolv_conf, format!("nameserver {server}\nsearch example.org\n")).unwrap();
    Some((Machine::start(resolv_conf.clone()).await?, resolv_conf))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_lookups_is_limited() {
    let Some((machine, resolv_conf)) = machine(SILENT).await else { return };
    let server = UdpSocket::bind((SILENT, 53)).unwrap();
    server.set_read_timeout(Some(DEADLINE)).unwrap();
    let pod = machine.pod().await;
    let asked = within(&pod, move || {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        socket.connect("198.19.0.2:53").unwrap();
        for _ in 0..limits::LOOKUPS {
            socket.send(&question("www.example.org")).unwrap();
            server.recv(&mut [0; 512]).unwrap();
        }
        socket.send(&question("beyond.example.org")).unwrap();
        server
    });
    let _server = asked.await;
    let reached = async {
        while machine.reached("pod_lookups") == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, reached).await.unwrap();
    std::fs::remove_file(resolv_conf).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_looked_up() {
    let Some((machine, resolv_conf)) = machine(SERVER).await else { return };
    let server = UdpSocket::bind((SERVER, 53)).unwrap();
    std::thread::spawn(move || {
        let mut buffer = [0; 512];
        let (length, from) = server.recv_from(&mut buffer).unwrap();
        buffer[2] |= 0x80;
        server.send_to(&buffer[..length], from).unwrap();
    });
    let text = machine.networks.resolv_conf("capi-system");
    assert!(text.contains("nameserver 198.19.0.2\n") && text.contains(" example.org\n"), "{text}");
    let pod = machine.pod().await;
    let answers = within(&pod, || {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        socket.set_read_timeout(Some(DEADLINE)).unwrap();
        socket.connect("198.19.0.2:53").unwrap();
        ["kubernetes.default.svc", "absent.capi-system.svc.cluster.local", "www.example.org"].map(|name| {
            socket.send(&question(name)).unwrap();
            let mut answer = vec![0; 512];
            let length = socket.recv(&mut answer).unwrap();
            answer.truncate(length);
            answer
        })
    });
    let [api, absent, forwarded] = answers.await;
    assert_eq!(api[api.len() - 4..], [198, 19, 0, 1]);
    assert_eq!(absent[3] & 0x0f, 3, "no such name");
    let mut expected = question("www.example.org");
    expected[2] |= 0x80;
    assert_eq!(forwarded, expected, "what the name server said");
    std::fs::remove_file(resolv_conf).unwrap();
}
