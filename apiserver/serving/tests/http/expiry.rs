//! Client certificates that expire while their connections and sessions last.

use std::sync::Arc;

use access::certificate::Authorities;
use chrono::Duration;
use hyper::client::conn::http1::SendRequest;
use machinery::clock::Clock;
use machinery::random::Random;
use pki::{CertificateAuthority, KeyAlgorithm, Leaf};
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, HandshakeKind};
use serving::{Listener, Server, Tls};
use tokio::io::{DuplexStream, duplex};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::serving::http::common::registry;
use crate::serving::http::connection::{http1, request, server_config};

/// How long what expires is valid, in seconds.
const LIFE: i64 = 20;

struct Plane {
    listener: Listener,
    authority: CertificateAuthority,
    clock: Clock,
    random: Random,
}

impl Plane {
    /// A listener whose authority is valid for so long.
    async fn new(validity: Option<Duration>) -> Self {
        let clock = Clock::simulated("2026-11-21T00:00:00Z".parse().unwrap());
        let random = Random::seeded(1);
        let authority =
            CertificateAuthority::generate("ca", KeyAlgorithm::EcdsaP256, validity, clock.now(), &random)
                .unwrap();
        let authorities = Authorities::from_pem(authority.certificate()).unwrap();
        let tls = Tls::new(server_config(&authority, &clock, &random)).with_authorities(authorities);
        let server = Server::builder(registry(&clock).await, clock.clone()).build();
        Self { listener: Listener::new(server, Some(tls)), authority, clock, random }
    }

    /// Returns the TLS settings of an administrator, whose certificate is valid for so long. They remember one session.
    fn admin(&self, validity: Duration) -> Arc<ClientConfig> {
        let leaf = Leaf::client("admin", &["system:masters"]).valid_for(validity);
        let identity = self.authority.issue(&leaf, self.clock.now(), &self.random).unwrap();
        let trusted = self.authority.certificate();
        let mut config =
            pki::tls::client_config(trusted, Some(&identity), &["http/1.1"], &self.clock).unwrap();
        config.resumption = Resumption::in_memory_sessions(1);
        Arc::new(config)
    }

    async fn connect(&self, config: &Arc<ClientConfig>) -> TlsStream<DuplexStream> {
        let (ours, theirs) = duplex(64 * 1024);
        let listener = self.listener.clone();
        tokio::spawn(async move { listener.serve_stream(theirs).await });
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(config.clone()).connect(name, ours).await.unwrap()
    }
}

async fn code(client: &mut SendRequest<http_body_util::Empty<bytes::Bytes>>) -> u16 {
    client.send_request(request("/api/v1/namespaces")).await.unwrap().status().as_u16()
}

async fn pass(seconds: i64) {
    tokio::time::advance(std::time::Duration::from_secs(seconds.unsigned_abs())).await;
}

#[tokio::test(start_paused = true)]
async fn an_expired_certificate_is_refused_at_each_request() {
    let plane = Plane::new(None).await;
    let admin = plane.admin(Duration::seconds(LIFE));
    let mut kept = http1(plane.connect(&admin).await).await;
    assert_eq!(code(&mut kept).await, 200);
    pass(LIFE).await;
    assert_eq!(code(&mut kept).await, 200, "its last second");
    pass(1).await;
    assert_eq!(code(&mut kept).await, 401, "a connection that was kept");
    let resumed = plane.connect(&admin).await;
    assert_eq!(resumed.get_ref().1.handshake_kind(), Some(HandshakeKind::Resumed));
    let mut resumed = http1(resumed).await;
    assert_eq!(code(&mut resumed).await, 401, "a session that was resumed");
    // Paths that anybody may read are no exception, as in kube-apiserver.
    let health = resumed.send_request(request("/healthz")).await.unwrap();
    assert_eq!(health.status().as_u16(), 401);
}

#[tokio::test(start_paused = true)]
async fn a_certificate_does_not_count_longer_than_its_authority() {
    let plane = Plane::new(Some(Duration::seconds(LIFE))).await;
    let admin = plane.admin(Duration::days(365));
    let mut kept = http1(plane.connect(&admin).await).await;
    assert_eq!(code(&mut kept).await, 200);
    pass(LIFE + 1).await;
    assert_eq!(code(&mut kept).await, 401);
}
