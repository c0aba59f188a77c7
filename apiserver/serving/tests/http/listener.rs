//! Connections: TLS, client certificates, limits, the end.

use ::access::User;
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use machinery::clock::Clock;
use machinery::random::Random;
use pki::tls::{ClientCertificates, ServerCertificates};
use pki::{CertificateAuthority, Identity, KeyAlgorithm, Leaf};
use rustls::pki_types::ServerName;
use serving::listener::Tls;
use serving::{Listener, Server, limits};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, DuplexStream, duplex};
use tokio_rustls::TlsConnector;

use crate::common::registry;

struct Tested {
    listener: Listener,
    tls: Tls,
    authority: CertificateAuthority,
    clock: Clock,
    random: Random,
}

impl Tested {
    async fn new() -> Self {
        let clock = Clock::simulated("2026-11-21T00:00:00Z".parse().unwrap());
        let random = Random::seeded(1);
        let authority = authority(&clock, &random);
        let tls = Tls::new(server_config(&authority, &clock, &random));
        let server = Server::builder(registry(&clock).await, clock.clone()).build();
        let listener = Listener::new(server, Some(tls.clone()));
        Self { listener, tls, authority, clock, random }
    }

    /// A connection that the listener serves.
    fn connect(&self) -> DuplexStream {
        let (ours, theirs) = duplex(64 * 1024);
        let listener = self.listener.clone();
        tokio::spawn(async move { listener.serve_stream(theirs).await });
        ours
    }

    fn identity(&self, name: &str, groups: &[&str]) -> Identity {
        self.authority.issue(&Leaf::client(name, groups), self.clock.now(), &self.random).unwrap()
    }

    async fn connect_tls(
        &self,
        identity: Option<&Identity>,
        protocol: &str,
    ) -> std::io::Result<tokio_rustls::client::TlsStream<DuplexStream>> {
        let trusted = self.authority.certificate();
        let config = pki::tls::client_config(trusted, identity, &[protocol], &self.clock).unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, self.connect()).await
    }
}

impl Tested {
    async fn metrics(&self) -> String {
        let admin = self.identity("admin", &["system:masters"]);
        let mut client = http1(self.connect_tls(Some(&admin), "http/1.1").await.unwrap()).await;
        let answer = client.send_request(request("/metrics")).await.unwrap();
        String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
    }
}

fn authority(clock: &Clock, random: &Random) -> CertificateAuthority {
    CertificateAuthority::generate("test", KeyAlgorithm::EcdsaP256, None, clock.now(), random).unwrap()
}

fn server_config(authority: &CertificateAuthority, clock: &Clock, random: &Random) -> rustls::ServerConfig {
    let leaf = Leaf::server("test", vec!["localhost".into()]);
    let identity = authority.issue(&leaf, clock.now(), random).unwrap();
    let certificates = Arc::new(ServerCertificates::new(&identity).unwrap());
    let clients = ClientCertificates::Optional(authority.certificate().to_owned());
    pki::tls::server_config(certificates, &clients, &[], clock).unwrap()
}

fn request(path: &str) -> Request<Empty<Bytes>> {
    Request::builder().uri(format!("https://localhost{path}")).body(Empty::new()).unwrap()
}

async fn http1(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> http1::SendRequest<Empty<Bytes>> {
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

#[tokio::test(start_paused = true)]
async fn the_certificate_says_who_asks() {
    let tested = Tested::new().await;
    let admin = tested.identity("admin", &["system:masters"]);
    let bob = tested.identity("bob", &["dev"]);
    for (identity, code) in [(Some(&admin), 200), (Some(&bob), 403), (None, 403)] {
        let mut client = http1(tested.connect_tls(identity, "http/1.1").await.unwrap()).await;
        let answer = client.send_request(request("/api/v1/namespaces")).await.unwrap();
        assert_eq!(answer.status().as_u16(), code);
    }
}

#[tokio::test(start_paused = true)]
async fn http2_by_alpn() {
    let tested = Tested::new().await;
    let admin = tested.identity("admin", &["system:masters"]);
    let stream = tested.connect_tls(Some(&admin), "h2").await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"h2".as_slice()));
    let (mut client, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let answers = futures::future::join_all(
        ["/version", "/api/v1/namespaces", "/nope"].map(|path| client.send_request(request(path))),
    );
    let codes: Vec<u16> = answers.await.into_iter().map(|answer| answer.unwrap().status().as_u16()).collect();
    assert_eq!(codes, [200, 200, 404]);
}

#[tokio::test(start_paused = true)]
async fn certificates_are_replaced_in_place() {
    let tested = Tested::new().await;
    let mut before = http1(tested.connect_tls(None, "http/1.1").await.unwrap()).await;
    let other = authority(&tested.clock, &Random::seeded(2));
    tested.tls.replace(server_config(&other, &tested.clock, &tested.random));
    assert!(tested.connect_tls(None, "http/1.1").await.is_err(), "the new certificate is not trusted");
    let answer = before.send_request(request("/version")).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn closing_ends_watches_and_connections() {
    let clock = Clock::simulated("2026-11-21T00:00:00Z".parse().unwrap());
    let server = Server::builder(registry(&clock).await, clock).authenticator(Everybody).build();
    let listener = Listener::new(server, None);
    let (ours, theirs) = duplex(64 * 1024);
    let serving = {
        let listener = listener.clone();
        tokio::spawn(async move { listener.serve_stream(theirs).await })
    };
    let mut client = http1(ours).await;
    let path = "/api/v1/namespaces?watch=true&resourceVersion=0&fieldSelector=metadata.name=nobody";
    let watch = client.send_request(request(path)).await.unwrap();
    assert_eq!(watch.status(), StatusCode::OK);
    listener.close();
    assert!(watch.into_body().collect().await.unwrap().to_bytes().is_empty());
    serving.await.unwrap();
}

/// Whoever connects is the administrator.
struct Everybody;

impl ::access::Authenticator for Everybody {
    fn authenticate(&self, _: &http::request::Parts) -> Result<User, machinery::status::Status> {
        Ok(User::master("admin"))
    }
}

#[tokio::test(start_paused = true)]
async fn slow_clients_are_shed() {
    let tested = Tested::new().await;
    // One that never begins the handshake, one that never sends a request.
    let mut silent = tested.connect();
    let started = tested.clock.monotonic();
    assert_eq!(tokio::io::AsyncReadExt::read(&mut silent, &mut [0; 8]).await.unwrap(), 0);
    assert_eq!(started.elapsed(), limits::HANDSHAKE);
    let mut idle = tested.connect_tls(None, "http/1.1").await.unwrap();
    idle.write_all(b"GET /version HTTP/1.1\r\nhost: x\r\n").await.unwrap();
    let started = tested.clock.monotonic();
    let mut answer = Vec::new();
    drop(tokio::io::AsyncReadExt::read_to_end(&mut idle, &mut answer).await);
    assert_eq!(started.elapsed().as_secs(), limits::HEADERS.as_secs());
}

#[tokio::test(start_paused = true)]
async fn connections_below_at_and_above_the_limit() {
    let tested = Tested::new().await;
    let held: Vec<DuplexStream> = (0..limits::CONNECTIONS - 1).map(|_| tested.connect()).collect();
    tokio::task::yield_now().await;
    let last = tested.connect_tls(None, "http/1.1").await.expect("one is free");
    assert!(tested.connect_tls(None, "http/1.1").await.is_err(), "none is free");
    drop((held, last));
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
    tested.connect_tls(None, "http/1.1").await.expect("all are free again");
}

#[tokio::test(start_paused = true)]
async fn headers_below_at_and_above_their_limits() {
    let tested = Tested::new().await;
    // The head of a request may fill the buffer, and not one byte more.
    let head = |size: usize| {
        let plain = "GET /version HTTP/1.1\r\nhost: x\r\nconnection: close\r\nfill: \r\n\r\n";
        plain.replace("fill: ", &format!("fill: {}", "x".repeat(size - plain.len())))
    };
    let count = |count: usize| {
        let more: String = (0..count - 2).map(|at| format!("h{at}: x\r\n")).collect();
        format!("GET /version HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{more}\r\n")
    };
    let cases = [
        (head(limits::HEADER_BYTES - 1), "200"),
        (head(limits::HEADER_BYTES + 1), "431"),
        (count(limits::HEADER_COUNT - 1), "200"),
        (count(limits::HEADER_COUNT), "200"),
        (count(limits::HEADER_COUNT + 1), "431"),
    ];
    for (request, code) in cases {
        let stream = tested.connect_tls(None, "http/1.1").await.unwrap();
        let (mut read, mut write) = tokio::io::split(stream);
        let sending = tokio::spawn(async move {
            write.write_all(request.as_bytes()).await?;
            write.flush().await.map(|()| write)
        });
        let mut answer = vec![0; 12];
        tokio::io::AsyncReadExt::read_exact(&mut read, &mut answer).await.unwrap();
        assert_eq!(String::from_utf8_lossy(&answer), format!("HTTP/1.1 {code}"));
        drop(sending.await);
    }
    let metrics = tested.metrics().await;
    assert!(metrics.contains("firstlight_limit_reached_total{limit=\"header_bytes\"} 2"), "{metrics}");
}
