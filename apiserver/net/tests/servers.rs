//! Servers for a handful of paths: their limits, and what they do with each request.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is not as it must be")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use machinery::clock::Clock;
use machinery::random::Random;
use metrics::{Limits, Metrics};
use net::server::{Patience, Peer, Server, Times, Waiting};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::net::{TcpListener, TcpStream};

use super::log::Log;

const HEAD: Duration = Duration::from_secs(20);
const STALLED: Duration = Duration::from_secs(10);
const TIMES: Times = Times {
    head: (HEAD, Some("head")),
    handshake: (Duration::from_secs(30), "handshake"),
    stalled: (Patience::All(STALLED), "stalled"),
};
const PLACES: usize = 2;
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";
const DEADLINE: Duration = Duration::from_secs(60);

fn server(router: Router, metrics: &Metrics) -> Server {
    Server::new(router, None, TIMES, Waiting::new(PLACES), Limits::of(metrics), &Random::seeded(1))
}

fn answering(text: impl Into<Vec<u8>>) -> Router {
    let text = text.into();
    Router::new().route("/", get(|| async { text }))
}

/// Begins a connection, which is served until it ends.
fn connect(server: &Server) -> (DuplexStream, impl Future<Output = ()> + use<>) {
    let (own, other) = tokio::io::duplex(1024);
    let nobody = SocketAddr::from(([127, 0, 0, 1], 1));
    let peer = Peer { address: nobody, local: nobody, certificates: Arc::default() };
    let server = server.clone();
    (own, async move { server.connection(Box::new(other), peer).await })
}

/// Sends a request, and returns the head and the body of its answer, whose connection ends.
async fn ask(server: &Server, request: &str) -> (String, String) {
    let (mut client, served) = connect(server);
    let request = format!("{request} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    let answer = async {
        client.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        answer
    };
    let (answer, ()) = tokio::time::timeout(DEADLINE, async { tokio::join!(answer, served) }).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

fn counted(metrics: &Metrics, limit: &str) -> bool {
    metrics.text().contains(&format!("firstlight_limit_reached_total{{limit=\"{limit}\"}} 1\n"))
}

fn clock() -> Clock {
    Clock::simulated(machinery::clock::parse_rfc3339("2026-11-24T00:00:00Z").unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_connection_ends_if_its_client_does_not_take_an_answer_in_time() {
    let (metrics, clock) = (Metrics::default(), clock());
    let (mut client, served) = connect(&server(answering(vec![b'x'; 1 << 20]), &metrics));
    let begun = clock.monotonic();
    client.write_all(REQUEST).await.unwrap();
    let slow = async {
        loop {
            clock.sleep(Duration::from_millis(300)).await;
            client.read_exact(&mut [0; 1024]).await.unwrap();
        }
    };
    tokio::select! {
        biased;
        () = served => {}
        () = slow => {}
    }
    assert_eq!(clock.monotonic() - begun, STALLED);
    assert!(counted(&metrics, "stalled"), "{}", metrics.text());
}

#[tokio::test(start_paused = true)]
async fn a_connection_ends_if_the_head_of_a_request_does_not_come_in_time() {
    let (metrics, clock) = (Metrics::default(), clock());
    let (mut client, served) = connect(&server(answering("."), &metrics));
    let begun = clock.monotonic();
    client.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
    served.await;
    assert_eq!(clock.monotonic() - begun, HEAD);
    assert!(counted(&metrics, "head"), "{}", metrics.text());
}

#[tokio::test]
async fn a_request_has_an_id_and_a_panic_ends_only_it() {
    async fn fails() -> &'static str {
        panic!("a fault of the test")
    }
    let metrics = Metrics::default();
    let router = answering(".").route("/fails", get(fails));
    let server = server(router, &metrics);
    let chosen = "x-request-id: of-the-client";
    let ids = [
        (format!("\r\n{chosen}"), true),
        (String::new(), false),
        (format!("\r\nx-request-id: {}", "a".repeat(net::limits::REQUEST_ID_BYTES + 1)), false),
    ];
    for (header, is_taken_over) in ids {
        let (mut client, served) = connect(&server);
        let request = format!("GET /fails HTTP/1.1\r\nhost: a\r\nconnection: close{header}\r\n\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        served.await;
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
        assert_eq!(answer.contains(chosen), is_taken_over, "{answer}");
        let id = answer.lines().find_map(|line| line.strip_prefix("x-request-id: ")).unwrap();
        assert!(!id.is_empty() && id.len() <= net::limits::REQUEST_ID_BYTES, "{id}");
    }
    let (head, body) = ask(&server, "GET /").await;
    assert!(head.starts_with("HTTP/1.1 200 ") && body == ".", "{head}");
}

/// A path may hold a token, and firmware begins it with two slashes.
#[tokio::test]
async fn the_span_of_a_request_has_the_pattern_of_its_path() {
    let log = Log::of_this_thread();
    let router = Router::new().route("/files/{token}", get(|| async { "." }));
    let (head, _) = ask(&server(router, &Metrics::default()), "GET //files/secret").await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let written = log.written();
    assert!(written.contains("path=\"/files/{token}\"") && written.contains("code=200"), "{written}");
    assert!(!written.contains("secret"), "{written}");
}

/// Reads an answer with the text `.`.
async fn answered(client: &mut TcpStream) {
    let mut answer = Vec::new();
    let answer = async {
        while !answer.ends_with(b"\r\n\r\n.") {
            answer.push(client.read_u8().await.unwrap());
        }
    };
    tokio::time::timeout(DEADLINE, answer).await.unwrap();
}

#[tokio::test]
async fn a_further_connection_waits_until_one_ends() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counts = count.clone();
    let router = Router::new().route(
        "/",
        get(move || async move {
            counts.fetch_add(1, Ordering::Relaxed);
            "."
        }),
    );
    let server = tokio::spawn(server(router, &Metrics::default()).serve(listener));
    let mut clients = Vec::new();
    for _ in 0..=PLACES {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(REQUEST).await.unwrap();
        clients.push(client);
    }
    let mut further = clients.pop().unwrap();
    for client in &mut clients {
        answered(client).await;
    }
    for client in &mut clients {
        client.write_all(REQUEST).await.unwrap();
        answered(client).await;
    }
    assert_eq!(count.load(Ordering::Relaxed), 2 * PLACES);
    clients.pop();
    answered(&mut further).await;
    assert_eq!(count.load(Ordering::Relaxed), 2 * PLACES + 1);
    server.abort();
}
