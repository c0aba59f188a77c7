//! Connections to a listener, made without sockets.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use machinery::clock::Clock;
use machinery::random::Random;
use pki::tls::{ClientCertificates, ServerCertificates};
use pki::{CertificateAuthority, Identity, KeyAlgorithm, Leaf};
use rustls::pki_types::ServerName;
use serving::Tls;
use serving::{Listener, Server};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, duplex};
use tokio_rustls::TlsConnector;

use crate::serving::http::common::registry;

/// A listener with TLS over an empty server, whose connections need no sockets.
pub struct Tested {
    pub listener: Listener,
    pub tls: Tls,
    pub authority: CertificateAuthority,
    pub clock: Clock,
    pub random: Random,
}

impl Tested {
    pub async fn new() -> Self {
        let clock = Clock::simulated("2026-11-21T00:00:00Z".parse().unwrap());
        let random = Random::seeded(1);
        let authority = authority(&clock, &random);
        let tls = Tls::new(server_config(&authority, &clock, &random));
        let server = Server::builder(registry(&clock).await, clock.clone()).build();
        let listener = Listener::new(server, Some(tls.clone()));
        Self { listener, tls, authority, clock, random }
    }

    /// Returns the client side of a connection that the listener serves.
    pub fn connect(&self) -> DuplexStream {
        let (ours, theirs) = duplex(64 * 1024);
        let listener = self.listener.clone();
        tokio::spawn(async move { listener.serve_stream(theirs).await });
        ours
    }

    pub fn identity(&self, name: &str, groups: &[&str]) -> Identity {
        self.authority.issue(&Leaf::client(name, groups), self.clock.now(), &self.random).unwrap()
    }

    pub async fn connect_tls(
        &self,
        identity: Option<&Identity>,
        protocol: &str,
    ) -> std::io::Result<tokio_rustls::client::TlsStream<DuplexStream>> {
        let trusted = self.authority.certificate();
        let config = pki::tls::client_config(trusted, identity, &[protocol], &self.clock).unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, self.connect()).await
    }

    pub async fn metrics(&self) -> String {
        let admin = self.identity("admin", &["system:masters"]);
        let mut client = http1(self.connect_tls(Some(&admin), "http/1.1").await.unwrap()).await;
        let answer = client.send_request(request("/metrics")).await.unwrap();
        String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
    }
}

pub fn authority(clock: &Clock, random: &Random) -> CertificateAuthority {
    CertificateAuthority::generate("test-ca", KeyAlgorithm::EcdsaP256, None, clock.now(), random).unwrap()
}

pub fn server_config(
    authority: &CertificateAuthority,
    clock: &Clock,
    random: &Random,
) -> rustls::ServerConfig {
    let leaf = Leaf::server("test", vec!["localhost".into()]);
    let identity = authority.issue(&leaf, clock.now(), random).unwrap();
    let certificates = Arc::new(ServerCertificates::new(&identity).unwrap());
    let clients = ClientCertificates::Optional(authority.certificate().to_owned());
    pki::tls::server_config(certificates, &clients, &[], clock).unwrap()
}

pub fn request(path: &str) -> Request<Empty<Bytes>> {
    Request::builder().uri(format!("https://localhost{path}")).body(Empty::new()).unwrap()
}

pub async fn http1(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> http1::SendRequest<Empty<Bytes>> {
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

pub async fn http2(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> http2::SendRequest<Empty<Bytes>> {
    let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}
