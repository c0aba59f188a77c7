//! Port-forwards over SPDY, alone and in a WebSocket.

use std::time::Duration;

use ::portforward::limits::{PORT_FORWARDS, PORTS};
use ::portforward::spdy::frame::Frame;
use futures::{SinkExt, StreamExt};
use http::{HeaderMap, Method, Request, StatusCode};
use hyper::upgrade::Upgraded;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::spdy::{Peer, data, headers};
use super::*;

const SPDY: [(&str, &str); 3] =
    [("connection", "Upgrade"), ("upgrade", "SPDY/3.1"), ("x-stream-protocol-version", "portforward.k8s.io")];
const WEBSOCKET: [(&str, &str); 5] = [
    ("connection", "Upgrade"),
    ("upgrade", "websocket"),
    ("sec-websocket-version", "13"),
    ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ("sec-websocket-protocol", "SPDY/3.1+portforward.k8s.io"),
];

/// The headers of a request.
type Asked = Vec<(&'static str, &'static str)>;

/// The answer to a request for a port-forward, and the connection if it was upgraded.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    upgraded: Option<TokioIo<Upgraded>>,
}

impl Cluster {
    async fn ask(&self, method: Method, pod: &str, headers: &[(&str, &str)]) -> Answer {
        self.ask_for(method, &format!("{pod}/portforward"), headers).await
    }

    /// Asks for a path below the Pods.
    async fn ask_for(&self, method: Method, path: &str, headers: &[(&str, &str)]) -> Answer {
        let leaf = Leaf::client("kubernetes-admin", &["system:masters"]);
        let identity =
            self.authorities.cluster.issue(&leaf, self.clock.now(), &self.random).expect("a certificate");
        let authority = self.authorities.cluster.certificate();
        let tls = pki::tls::client_config(authority, Some(&identity), &[], &self.clock).expect("TLS");
        let name = ServerName::try_from("127.0.0.1").expect("a server name");
        let stream = self.network.dial("127.0.0.1", PORT).await.expect("a connection");
        let stream =
            tokio_rustls::TlsConnector::from(Arc::new(tls)).connect(name, stream).await.expect("a handshake");
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.expect("HTTP/1.1");
        drop(tokio::spawn(connection.with_upgrades()));
        let path = format!("/api/v1/namespaces/kube-system/pods/{path}");
        let mut request = Request::builder().method(method).uri(path).header("host", "127.0.0.1");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::<Bytes>::default()).expect("a request");
        let response = sender.send_request(request).await.expect("an answer");
        let (status, headers) = (response.status(), response.headers().clone());
        let upgraded = match status {
            StatusCode::SWITCHING_PROTOCOLS => hyper::upgrade::on(response).await.ok().map(TokioIo::new),
            _ => None,
        };
        Answer { status, headers, upgraded }
    }

    /// Opens a SPDY session with a Pod: in a WebSocket, or alone.
    async fn session(&self, pod: &str, in_websocket: bool) -> Peer<DuplexStream> {
        let answer = match in_websocket {
            true => self.ask(Method::GET, pod, &WEBSOCKET).await,
            false => self.ask(Method::POST, pod, &SPDY).await,
        };
        let upgraded = answer.upgraded.expect("an upgraded connection");
        let (near, mut far) = tokio::io::duplex(1024);
        drop(tokio::spawn(async move {
            if !in_websocket {
                let mut upgraded = upgraded;
                drop(tokio::io::copy_bidirectional(&mut far, &mut upgraded).await);
                return;
            }
            let socket = WebSocketStream::from_raw_socket(upgraded, Role::Client, None).await;
            carry(far, socket).await;
        }));
        Peer::new(near)
    }
}

/// Sends bytes as messages of a WebSocket, and the other way round.
async fn carry(mut bytes: DuplexStream, mut socket: WebSocketStream<TokioIo<Upgraded>>) {
    let mut buffer = vec![0; 100];
    loop {
        tokio::select! {
            read = bytes.read(&mut buffer) => match read {
                Ok(read @ 1..) => socket.send(Message::binary(buffer[..read].to_vec())).await.unwrap(),
                _ => return drop(socket.close(None).await),
            },
            message = socket.next() => match message {
                Some(Ok(Message::Binary(content))) => bytes.write_all(&content).await.unwrap(),
                _ => return,
            },
        }
    }
}

/// Opens the two streams of a connection with this request, `first` and the next one. Fails with the reason of the first that is refused.
async fn open(peer: &mut Peer<DuplexStream>, first: u32, port: &str, request: &str) -> Result<(), u32> {
    for (stream, kind) in [(first, "error"), (first + 2, "data")] {
        let headers = headers(&[("streamtype", kind), ("port", port), ("requestid", request)]);
        peer.send(Frame::SynStream { stream, fin: false, headers }).await;
        match peer.receive().await {
            Some(Frame::SynReply { stream: of, fin: false, .. }) if of == stream => {}
            Some(Frame::RstStream { stream: of, status }) if of == stream => return Err(status),
            other => panic!("{other:?}"),
        }
    }
    peer.send(data(first, true, b"")).await;
    Ok(())
}

/// Carries bytes to and from a stream until both sides have ended it. Returns what arrived on the stream for errors, `errors`.
async fn forward(mut peer: Peer<DuplexStream>, errors: u32, connection: DuplexStream) -> String {
    let (mut reader, mut writer) = tokio::io::split(connection);
    let (mut told, mut buffer) = (Vec::new(), vec![0; 1000]);
    let (mut is_sent, mut told_all, mut received_all) = (false, false, false);
    while !is_sent || !told_all || !received_all {
        tokio::select! {
            read = reader.read(&mut buffer), if !is_sent => {
                let read = read.unwrap();
                is_sent = read == 0;
                peer.send(data(errors + 2, is_sent, &buffer[..read])).await;
            }
            frame = peer.receive() => match frame {
                Some(Frame::Data { stream, fin, data }) if stream == errors => {
                    told.extend(data);
                    told_all = fin;
                }
                Some(Frame::Data { fin, data, .. }) => {
                    drop(writer.write_all(&data).await);
                    received_all = fin;
                }
                other => panic!("{other:?}"),
            },
        }
    }
    String::from_utf8(told).unwrap()
}

#[tokio::test(start_paused = true)]
async fn etcd_is_reached_over_spdy() {
    let cluster = cluster().await;
    cluster.start("a", 1).await;
    for in_websocket in [false, true] {
        let mut session = cluster.session("etcd-a", in_websocket).await;
        open(&mut session, 1, "2379", "0").await.expect("two streams");
        let (near, far) = tokio::io::duplex(1024);
        let forwarded = tokio::spawn(forward(session, 1, far));
        let status: etcd::StatusResponse =
            cluster.call_over(near, "etcd-a", etcd::STATUS, &etcd::StatusRequest::default()).await;
        assert_eq!(status.leader, 1);
        assert_eq!(forwarded.await.unwrap(), "", "both streams end with the connection");
    }
}

#[tokio::test(start_paused = true)]
async fn a_port_without_a_server_is_told_on_the_stream_for_errors() {
    let cluster = cluster().await;
    cluster.start("a", 1).await;
    for in_websocket in [false, true] {
        let mut session = cluster.session("kube-scheduler-a", in_websocket).await;
        assert_eq!(open(&mut session, 1, "eighty", "0").await, Err(3), "no port");
        assert_eq!(open(&mut session, 3, "80", "0").await, Ok(()));
        let (near, far) = tokio::io::duplex(1024);
        drop(near);
        let expected = "error forwarding port 80 to pod kube-scheduler-a: dial tcp kube-system/kube-scheduler-a:80: connection refused";
        assert_eq!(forward(session, 3, far).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn the_form_of_a_port_forward_is_negotiated() {
    let cluster = cluster().await;
    cluster.start("a", 1).await;
    let changed = |of: &[(&'static str, &'static str)], name: &str, value: Option<&'static str>| {
        let kept = of.iter().copied().filter(|(kept, _)| *kept != name);
        kept.chain(value.map(|value| (of.iter().find(|(kept, _)| *kept == name).unwrap().0, value))).collect()
    };
    let (version, protocol) = ("x-stream-protocol-version", "sec-websocket-protocol");
    let cases: [(Asked, u16, &str, Option<&str>); 10] = [
        (Vec::new(), 400, protocol, None),
        (SPDY.to_vec(), 101, version, Some("portforward.k8s.io")),
        (changed(&SPDY, "upgrade", Some("spdy/3.1")), 101, "upgrade", Some("SPDY/3.1")),
        (changed(&SPDY, version, Some("v2, portforward.k8s.io")), 101, version, Some("portforward.k8s.io")),
        (changed(&SPDY, version, None), 400, version, None),
        (
            changed(&SPDY, version, Some("v2")),
            403,
            "x-accepted-stream-protocol-versions",
            Some("portforward.k8s.io"),
        ),
        (WEBSOCKET.to_vec(), 101, protocol, Some("SPDY/3.1+portforward.k8s.io")),
        (
            changed(&WEBSOCKET, protocol, Some("v1, SPDY/3.1+portforward.k8s.io")),
            101,
            "sec-websocket-accept",
            Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
        ),
        (changed(&WEBSOCKET, protocol, Some("v1")), 400, protocol, None),
        (changed(&WEBSOCKET, "sec-websocket-key", None), 400, protocol, None),
    ];
    for (asked, status, name, value) in cases {
        let answer = cluster.ask(Method::GET, "etcd-a", &asked).await;
        let told = answer.headers.get(name).map(|value| value.to_str().unwrap());
        assert_eq!((answer.status.as_u16(), told), (status, value), "{asked:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_ports_of_channels_are_limited() {
    let cluster = cluster().await;
    cluster.start("a", 1).await;
    let mut channels = WEBSOCKET;
    channels[4].1 = "v4.channel.k8s.io";
    for (ports, status) in [(PORTS - 1, 101), (PORTS, 101), (PORTS + 1, 400)] {
        let path = format!("etcd-a/portforward?ports={}", vec!["2379"; ports].join(","));
        let answer = cluster.ask_for(Method::GET, &path, &channels).await;
        assert_eq!(answer.status.as_u16(), status, "{ports}");
        let Some(upgraded) = answer.upgraded else { continue };
        let mut socket = WebSocketStream::from_raw_socket(upgraded, Role::Client, None).await;
        let last = 2 * ports - 1;
        loop {
            let first = socket.next().await.unwrap().unwrap().into_data();
            if usize::from(first[0]) == last {
                assert_eq!(first[1..], 2379_u16.to_le_bytes());
                break;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn port_forwards_of_a_cluster_are_limited() {
    let cluster = cluster().await;
    cluster.start("a", 1).await;
    let mut sessions = Vec::new();
    for _ in 0..PORT_FORWARDS {
        sessions.push(cluster.session("etcd-a", false).await);
    }
    assert_eq!(cluster.ask(Method::POST, "etcd-a", &SPDY).await.status, 429);
    drop(sessions.pop());
    let again = async {
        while cluster.ask(Method::POST, "etcd-a", &SPDY).await.status == 429 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), again).await.expect("a place becomes free");
}
