//! Names that a Pod looks up.

use std::net::UdpSocket;
use std::time::Duration;

use crate::inside::{Machine, within};

const DEADLINE: Duration = Duration::from_secs(30);
/// A name server of this machine, on its loopback, as that of systemd.
const SERVER: &str = "127.0.77.53";

fn question(name: &str) -> Vec<u8> {
    let mut message = vec![0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        message.push(u8::try_from(label.len()).unwrap());
        message.extend_from_slice(label.as_bytes());
    }
    message.extend_from_slice(&[0, 0, 1, 0, 1]);
    message
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_looked_up() {
    let folder = std::env::temp_dir().join(format!("pod-network-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let resolv_conf = folder.join("resolv.conf");
    std::fs::write(&resolv_conf, format!("nameserver {SERVER}\nsearch example.org\n")).unwrap();
    let Some(machine) = Machine::start(resolv_conf).await else { return };
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
    std::fs::remove_dir_all(&folder).unwrap();
}
