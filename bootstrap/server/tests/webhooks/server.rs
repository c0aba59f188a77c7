//! The server of the webhooks on a paused clock, over TLS in memory.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use access::User;
use access::certificate::Authorities;
use engine::Manager;
use kube::Client;
use machinery::clock::Clock;
use machinery::random::Random;
use net::SimulatedNetwork;
use net::server::Peer;
use pki::tls::{ClientCertificates, ServerCertificates, server_config};
use pki::{CertificateAuthority, KeyAlgorithm, Leaf};
use registry::Registry;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use server::admission::ClusterApiAdmission;
use server::testing::{CONVERSION_BYTES, REVIEW, REVIEW_BYTES, REVIEWS_BYTES, WEBHOOK_IDLE, WEBHOOK_STALLED};
use server::webhooks::server::{Site, TIMES};
use serving::Server;
use store::{Memory as MemoryEngine, Store};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::Instant;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const SECOND: Duration = Duration::from_secs(1);
/// The validity of the client certificate in the tests that need one.
const CLIENT_VALID: chrono::Duration = chrono::Duration::seconds(4);

/// The webhooks of a process, and clients of them.
struct Webhooks {
    site: Arc<Site>,
    manager: Manager,
    server: net::server::Server,
    connector: TlsConnector,
}

impl Webhooks {
    async fn new() -> Self {
        Self::with(false).await
    }

    /// Webhooks that everybody may ask for admission, or only clients with a certificate.
    async fn with(is_closed: bool) -> Self {
        let clock = Clock::simulated(machinery::clock::parse_rfc3339("2026-11-24T00:00:00Z").unwrap());
        let store = Store::open(MemoryEngine::new(), clock.clone()).await.unwrap();
        let options = registry::Options::default();
        let registry = Registry::open(store, clock.clone(), Random::seeded(1), options).await.unwrap();
        let server = Server::builder(registry, clock.clone()).build();
        let manager = Manager::new(engine::ManagerOptions {
            client: Client::new(server.client_service(User::master("test")), "default"),
            clock: clock.clone(),
            random: Random::seeded(1),
            network: Arc::new(SimulatedNetwork::default()),
            metrics: metrics::Metrics::default(),
            settings: Default::default(),
        });
        let (random, now) = (manager.random(), clock.now());
        let authority =
            CertificateAuthority::generate("ca", KeyAlgorithm::default(), None, now, random).unwrap();
        let leaf = authority.issue(&Leaf::server("webhooks", vec!["webhooks".to_owned()]), now, random);
        let certificates = Arc::new(ServerCertificates::new(&leaf.unwrap()).unwrap());
        let pem = authority.certificate();
        let clients = ClientCertificates::Optional(pem.to_owned());
        let config = server_config(certificates, &clients, &["http/1.1"], &clock).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(pki::certificates(pem).unwrap().remove(0)).unwrap();
        let authorities = is_closed.then(|| Authorities::from_pem(pem).unwrap());
        let validity = if is_closed { CLIENT_VALID } else { chrono::Duration::days(1) };
        let leaf = Leaf::client("kube-apiserver", &[]).valid_for(validity);
        let own = authority.issue(&leaf, now, random).unwrap();
        let key = PrivateKeyDer::from_pem_slice(own.key.as_bytes()).unwrap();
        let client = ClientConfig::builder().with_root_certificates(roots);
        let client = client.with_client_auth_cert(pki::certificates(&own.certificate).unwrap(), key).unwrap();
        let site = Arc::new(Site::new(&manager, ClusterApiAdmission::default(), authorities).unwrap());
        Self {
            server: site.server(config, &manager),
            site,
            manager,
            connector: TlsConnector::from(Arc::new(client)),
        }
    }

    /// Opens a connection, before its TLS handshake.
    fn open(&self) -> DuplexStream {
        let (own, other) = tokio::io::duplex(16 * 1024);
        let server = self.server.clone();
        let nobody = SocketAddr::from(([127, 0, 0, 1], 1));
        let peer = Peer { address: nobody, local: nobody, certificates: Arc::default() };
        tokio::spawn(async move { server.connection(Box::new(other), peer).await });
        own
    }

    async fn connect(&self) -> TlsStream<DuplexStream> {
        self.connector.connect(ServerName::try_from("webhooks").unwrap(), self.open()).await.unwrap()
    }

    /// Begins a request, and returns its connection when the server has got everything.
    async fn begin(&self, path: &str, announced: usize, body: &[u8]) -> TlsStream<DuplexStream> {
        let mut stream = self.connect().await;
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: webhooks\r\nconnection: close\r\ncontent-length: {announced}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(body).await.unwrap();
        stream.flush().await.unwrap();
        stream
    }

    /// Asks with a body that is sent in chunks, without its size.
    async fn ask_in_chunks(&self, path: &str, bytes: usize) -> String {
        let (mut reads, mut writes) = tokio::io::split(self.connect().await);
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: webhooks\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n{bytes:x}\r\n"
        );
        let request = [head.as_bytes(), &vec![b'x'; bytes], b"\r\n0\r\n\r\n"].concat();
        let mut answer = Vec::new();
        let send = async {
            writes.write_all(&request).await?;
            writes.flush().await
        };
        // The server may end the connection before everything is sent.
        let (_, _) = tokio::join!(send, reads.read_to_end(&mut answer));
        String::from_utf8(answer).unwrap()
    }

    fn now(&self) -> Instant {
        self.manager.clock().monotonic()
    }

    /// Lets time pass. On a paused clock, everything that can happen before happens.
    async fn pass(&self, time: Duration) {
        self.manager.clock().sleep(time).await;
    }

    /// How often a limit was reached.
    fn reached(&self, limit: &str) -> usize {
        let name = format!("firstlight_limit_reached_total{{limit=\"{limit}\"}} ");
        let text = self.manager.all_metrics().text();
        text.lines().find_map(|line| line.strip_prefix(&name)).map_or(0, |count| count.parse().unwrap())
    }
}

/// Returns the rest of an answer, until its connection ends.
async fn rest(mut stream: TlsStream<DuplexStream>) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// Waits until the server ends a connection, on which it sends nothing.
async fn ended(mut stream: impl AsyncRead + Unpin) {
    assert!(matches!(stream.read(&mut [0]).await, Ok(0) | Err(_)));
}

/// A review of an object of this many bytes, which is converted.
fn conversion_review(bytes: usize) -> Vec<u8> {
    let group = "infrastructure.cluster.x-k8s.io";
    let object = json!({"apiVersion": format!("{group}/v1beta1"), "kind": "Metal3Machine", "spec": {},
        "metadata": {"name": "one", "namespace": "default", "annotations": {"long": "x".repeat(bytes)}}});
    let review = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {"uid": "u", "desiredAPIVersion": format!("{group}/v1beta2"), "objects": [object]}});
    review.to_string().into_bytes()
}

#[tokio::test(start_paused = true)]
async fn a_certificate_counts_at_each_request_while_it_is_valid() {
    let webhooks = Webhooks::with(true).await;
    let mut stream = webhooks.connect().await;
    for (path, code) in [("/rules", 400), ("/rules", 400), ("/rules", 401), ("/conversion", 400)] {
        let request = format!("POST {path} HTTP/1.1\r\nhost: webhooks\r\ncontent-length: 2\r\n\r\n{{}}");
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        let mut answer = [0; 1024];
        let read = stream.read(&mut answer).await.unwrap();
        let answer = String::from_utf8_lossy(&answer[..read]);
        assert!(answer.starts_with(&format!("HTTP/1.1 {code} ")), "{answer}");
        assert_eq!(answer.contains("not valid now"), code == 401, "{answer}");
        webhooks.pass(3 * SECOND).await;
    }
}

#[tokio::test(start_paused = true)]
async fn memory_is_reserved_until_an_answer_is_sent() {
    let webhooks = Webhooks::new().await;
    let (memory, review) = (webhooks.site.memory(), conversion_review(1 << 20));
    let all = memory.free();

    let reader = webhooks.begin("/conversion", review.len(), &review).await;
    let answer = rest(reader).await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("Success"), "{:.100}", answer);
    assert_eq!(memory.free(), all);

    let mut slow = webhooks.begin("/conversion", review.len(), &review).await;
    slow.read_exact(&mut [0]).await.unwrap();
    let begun = webhooks.now();
    while webhooks.now() - begun < WEBHOOK_STALLED - SECOND {
        webhooks.pass(SECOND).await;
        slow.read_exact(&mut [0; 16 * 1024]).await.unwrap();
    }
    assert_eq!((memory.free(), webhooks.reached("webhook_stalled")), (all - review.len(), 0));
    webhooks.pass(2 * SECOND).await;
    assert_eq!((memory.free(), webhooks.reached("webhook_stalled")), (all, 1));
}

#[tokio::test(start_paused = true)]
async fn uploads_that_send_nothing_delay_no_review() {
    let webhooks = Webhooks::new().await;
    let mut idle = Vec::new();
    for (path, most) in [("/rules", REVIEW_BYTES), ("/conversion", CONVERSION_BYTES)] {
        for _ in 0..REVIEWS_BYTES / most + 1 {
            idle.push(webhooks.begin(path, most, b"{").await);
        }
    }
    webhooks.pass(SECOND).await;
    let begun = webhooks.now();
    let review = conversion_review(1000);
    for (path, body, expected) in [
        ("/rules", &b"{}"[..], "the body is no AdmissionReview of admission.k8s.io/v1"),
        ("/conversion", &review, "\"status\":\"Success\""),
    ] {
        let answer = rest(webhooks.begin(path, body.len(), body).await).await;
        assert!(answer.contains(expected), "{answer}");
    }
    assert_eq!(webhooks.now(), begun);
    for upload in idle {
        let answer = rest(upload).await;
        assert!(answer.starts_with("HTTP/1.1 408 ") && answer.ends_with("no answer after 30s"), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_review_is_answered_in_time_or_refused() {
    let webhooks = Webhooks::new().await;
    let begun = webhooks.now();
    let mut slow = webhooks.begin("/rules", 2, b"{").await;
    let never = webhooks.begin("/rules", 2, b"{").await;
    webhooks.pass(REVIEW - SECOND).await;
    slow.write_all(b"}").await.unwrap();
    slow.flush().await.unwrap();
    let answer = rest(slow).await;
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("no AdmissionReview"), "{answer}");
    assert_eq!((webhooks.now() - begun, webhooks.reached("webhook_review")), (REVIEW - SECOND, 0));
    let answer = rest(never).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert_eq!((webhooks.now() - begun, webhooks.reached("webhook_review")), (REVIEW, 1));
}

#[tokio::test(start_paused = true)]
async fn connections_without_a_handshake_or_a_request_end() {
    let webhooks = Webhooks::new().await;
    let begun = webhooks.now();
    ended(webhooks.open()).await;
    assert_eq!(webhooks.now() - begun, TIMES.handshake.0);

    let begun = webhooks.now();
    ended(webhooks.connect().await).await;
    assert_eq!(webhooks.now() - begun, WEBHOOK_IDLE);

    let mut late = webhooks.connect().await;
    webhooks.pass(WEBHOOK_IDLE - SECOND).await;
    late.write_all(b"GET /rules HTTP/1.1\r\nconnection: close\r\n\r\n").await.unwrap();
    late.flush().await.unwrap();
    assert!(rest(late).await.starts_with("HTTP/1.1 405 "));
}

#[tokio::test(start_paused = true)]
async fn a_review_of_the_largest_size_is_read_and_a_larger_one_refused() {
    let webhooks = Webhooks::new().await;
    let largest = vec![b'x'; CONVERSION_BYTES];
    let answer = rest(webhooks.begin("/conversion", largest.len(), &largest).await).await;
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("the body is no JSON"), "{answer}");
    let answer = webhooks.ask_in_chunks("/rules", REVIEW_BYTES).await;
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("the body is no JSON"), "{answer}");
    assert_eq!(webhooks.reached("webhook_review_bytes"), 0);

    let answer = rest(webhooks.begin("/conversion", CONVERSION_BYTES + 1, b"").await).await;
    assert!(
        answer.starts_with("HTTP/1.1 413 ") && answer.ends_with("larger than 67108864 bytes"),
        "{answer}"
    );
    let answer = webhooks.ask_in_chunks("/rules", REVIEW_BYTES + 1).await;
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.ends_with("larger than 7340032 bytes"), "{answer}");
    assert_eq!(webhooks.reached("webhook_review_bytes"), 2);
}
