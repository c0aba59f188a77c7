//! Every limit of connections and requests: below it, at it, above it.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ::access::User;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use machinery::clock::Clock;
use machinery::random::Random;
use registry::{Options, Registry};
use serving::testing::limits;
use serving::{Body, Server};
use store::Store;
use store::testing::Gate;
use tokio::io::AsyncWriteExt;

use crate::serving::http::connection::{Tested, http2, request};

#[tokio::test(start_paused = true)]
async fn slow_clients_are_shed() {
    let tested = Tested::new().await;
    // One client never begins the handshake, the other never sends a request.
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
async fn headers_below_at_and_above_their_limits() {
    let tested = Tested::new().await;
    // The head of a request may fill the buffer, but not exceed it by one byte.
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

/// Bytes that HPACK counts for a header field beyond its name and value (RFC 7541, section 4.1).
const FIELD_BYTES: usize = 32;

#[tokio::test(start_paused = true)]
async fn header_lists_of_http2_above_the_limit_are_refused() {
    let tested = Tested::new().await;
    for (bytes, code) in
        [(limits::HEADER_LIST_BYTES as usize - 1024, 200), (limits::HEADER_LIST_BYTES as usize, 431)]
    {
        let mut client = http2(tested.connect_tls(None, "h2").await.unwrap()).await;
        let mut request = request("/version");
        let value = "x".repeat(bytes - "fill".len() - FIELD_BYTES);
        request.headers_mut().insert("fill", value.parse().unwrap());
        let answer = client.send_request(request).await.unwrap();
        assert_eq!(answer.status().as_u16(), code, "{bytes} bytes");
    }
}

#[tokio::test(start_paused = true)]
async fn one_more_request_than_a_connection_may_have_waits() {
    let tested = Tested::new().await;
    let admin = tested.identity("admin", &["system:masters"]);
    let mut client = http2(tested.connect_tls(Some(&admin), "h2").await.unwrap()).await;
    // The server's settings arrive before its first response.
    client.send_request(request("/version")).await.unwrap();
    let path = "/api/v1/namespaces?watch=true&resourceVersion=0&fieldSelector=metadata.name=nobody";
    let mut watches = Vec::new();
    for _ in 0..limits::HTTP2_STREAMS {
        watches.push(client.send_request(request(path)).await.unwrap());
    }
    let mut one_more = Box::pin(client.send_request(request("/version")));
    let waited = tokio::time::timeout(Duration::from_secs(5), &mut one_more).await;
    assert!(waited.is_err(), "a request above the limit was answered");
    watches.pop();
    assert_eq!(one_more.await.unwrap().status(), StatusCode::OK);
}

/// A body that never ends and never sends a byte.
struct Endless;

impl http_body::Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }
}

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn post<B>(path: &str, body: B) -> Request<B> {
    let request = Request::post(path).header("content-type", "application/json");
    request.extension(User::master("admin")).body(body).unwrap()
}

async fn text(answer: Response<Body>) -> String {
    String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_is_given_up() {
    let clock = Clock::simulated("2026-11-21T00:00:00Z".parse().unwrap());
    let server = Server::builder(crate::serving::http::common::registry(&clock).await, clock.clone()).build();
    let started = clock.monotonic();
    let answer = server.handle(post(CONFIG_MAPS, Endless)).await;
    assert_eq!(answer.status(), StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(started.elapsed(), limits::BODY);
    let answer = text(answer).await;
    assert!(answer.contains("body did not arrive in time"), "{answer}");
    assert_limit(&server, "body").await;
}

#[tokio::test(start_paused = true)]
async fn a_request_that_the_disk_does_not_answer_is_given_up() {
    let clock = Clock::simulated("2026-11-21T00:00:00Z".parse().unwrap());
    let gate = Gate::default();
    gate.hold(|change| change.key.as_str().ends_with("/stuck"));
    let store = Store::open(gate.engine(), clock.clone()).await.unwrap();
    let registry = Registry::open(store, clock.clone(), Random::seeded(1), Options::default()).await.unwrap();
    let server = Arc::new(Server::builder(registry, clock.clone()).build());
    let stuck = br#"{"metadata":{"name":"stuck"}}"#;
    let asking = {
        let server = server.clone();
        tokio::spawn(
            async move { server.handle(post(CONFIG_MAPS, Full::<Bytes>::from(stuck.as_slice()))).await },
        )
    };
    tokio::task::yield_now().await;
    tokio::time::advance(limits::REQUEST).await;
    let answer = asking.await.unwrap();
    assert_eq!(answer.status(), StatusCode::GATEWAY_TIMEOUT);
    assert!(text(answer).await.contains("took too long"));
    assert_limit(&server, "request").await;
}

#[tokio::test(start_paused = true)]
async fn limits_of_parsers_are_counted() {
    let harness = crate::serving::http::common::Harness::new().await;
    let nested = |levels: usize| format!("{{\"data\":{}{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1));
    let aliases = |count: usize| format!("data:\n  a: &a x\n  b: [{}]\n", vec!["*a"; count].join(", "));
    let terms = |count: usize| (0..count).map(|at| format!("a{at}")).collect::<Vec<_>>().join(",");
    let operations = |count: usize| {
        let one = r#"{"op":"test","path":"/metadata/name","value":"default"}"#;
        format!("[{}]", vec![one; count].join(","))
    };
    let annotated = |bytes: usize| {
        format!(r#"{{"metadata":{{"name":"a","annotations":{{"a":"{}"}}}}}}"#, "x".repeat(bytes - 1))
    };
    let (json, yaml, patch) = ("application/json", "application/yaml", "application/json-patch+json");
    let dry = format!("{CONFIG_MAPS}?dryRun=All");
    let plain = r#"{"metadata":{"name":"a"}}"#.to_owned();
    let managed = |bytes: usize| format!("{dry}&fieldManager={}", "x".repeat(bytes));
    let selected = |count: usize| format!("{CONFIG_MAPS}?labelSelector={}", terms(count));
    let namespace = "/api/v1/namespaces/default?dryRun=All".to_owned();
    // For each limit, a request at the limit and one above it.
    let cases = [
        ("max_depth", "POST", json, [224, 225].map(|levels| (dry.clone(), nested(levels)))),
        ("max_yaml_aliases", "POST", yaml, [100, 101].map(|count| (dry.clone(), aliases(count)))),
        ("max_selector_terms", "GET", json, [1000, 1001].map(|count| (selected(count), String::new()))),
        (
            "max_json_patch_operations",
            "PATCH",
            patch,
            [10_000, 10_001].map(|count| (namespace.clone(), operations(count))),
        ),
        (
            "max_annotations_size",
            "POST",
            json,
            [256 << 10, (256 << 10) + 1].map(|bytes| (dry.clone(), annotated(bytes))),
        ),
        ("field_manager_bytes", "POST", json, [128, 129].map(|bytes| (managed(bytes), plain.clone()))),
    ];
    for (limit, method, media_type, [at, above]) in cases {
        let counted = format!("firstlight_limit_reached_total{{limit=\"{limit}\"}}");
        for ((path, body), is_counted) in [(at, false), (above, true)] {
            let answer = harness.call(method, &path, &[("content-type", media_type)], body.as_bytes()).await;
            let metrics = harness.get("/metrics").await.text();
            let lines = metrics.lines().filter(|line| line.starts_with(&counted));
            let expected = if is_counted { vec![format!("{counted} 1")] } else { Vec::new() };
            let (code, text) = (answer.code, answer.text());
            assert_eq!(lines.collect::<Vec<_>>(), expected, "{limit}: {code} {text:.300}");
        }
    }
}

async fn assert_limit(server: &Server, limit: &str) {
    let request = Request::get("/metrics").extension(User::master("admin")).body(Full::<Bytes>::default());
    let metrics = text(server.handle(request.unwrap()).await).await;
    assert!(metrics.contains(&format!("firstlight_limit_reached_total{{limit=\"{limit}\"}} 1")), "{metrics}");
}
