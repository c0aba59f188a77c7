//! Connections that the server closes: too many unauthenticated ones, idle ones, stalled ones, and all at the end
//! of the server.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use serving::testing::limits;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use crate::serving::http::connection::{Tested, http2 as client, request};

/// Lets all spawned tasks run until they wait.
async fn settle() {
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
}

/// Returns whether the server has closed the connection.
async fn is_closed(stream: &mut DuplexStream) -> bool {
    let mut byte = [0];
    let read = tokio::time::timeout(Duration::from_millis(1), stream.read(&mut byte)).await;
    matches!(read, Ok(Ok(0) | Err(_)))
}

async fn assert_limit(tested: &Tested, limit: &str) {
    let metrics = tested.metrics().await;
    assert!(metrics.contains(&format!("firstlight_limit_reached_total{{limit=\"{limit}\"}}")), "{metrics}");
}

#[tokio::test(start_paused = true)]
async fn strangers_below_at_and_above_the_limit() {
    let tested = Tested::new().await;
    let admin = tested.identity("admin", &["system:masters"]);
    let mut user = client(tested.connect_tls(Some(&admin), "h2").await.unwrap()).await;
    let mut held: Vec<DuplexStream> = (0..limits::STRANGERS).map(|_| tested.connect()).collect();
    settle().await;
    assert!(!is_closed(&mut held[0]).await, "all have a place");
    // One more client is accepted, and the longest idle connection is closed.
    let stranger = tested.connect_tls(None, "http/1.1").await;
    stranger.expect("a stranger gets in");
    settle().await;
    assert!(is_closed(&mut held[0]).await);
    assert!(!is_closed(&mut held[2]).await);
    tested.connect_tls(Some(&admin), "h2").await.expect("whoever signs in gets in");
    let answer = user.send_request(request("/api/v1/namespaces")).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK, "who is signed in stays");
    assert_limit(&tested, "strangers").await;
}

#[tokio::test(start_paused = true)]
async fn who_answers_pings_and_does_nothing_goes() {
    let tested = Tested::new().await;
    let admin = tested.identity("admin", &["system:masters"]);
    let (mut stranger, ended) = pinging(&tested, None).await;
    let (mut user, user_ended) = pinging(&tested, Some(&admin)).await;
    let started = tested.clock.monotonic();
    assert_eq!(stranger.send_request(request("/version")).await.unwrap().status(), StatusCode::OK);
    let path = "/api/v1/namespaces?watch=true&resourceVersion=0&fieldSelector=metadata.name=nobody";
    let watch = user.send_request(request(path)).await.unwrap();
    ended.await.unwrap();
    assert_eq!(started.elapsed().as_secs(), limits::STRANGER_IDLE.as_secs());
    // An open watch is not idle, even without events.
    tokio::time::sleep(limits::IDLE * 2).await;
    assert!(!user_ended.is_finished());
    drop(watch);
    let started = tested.clock.monotonic();
    user_ended.await.unwrap();
    assert!(started.elapsed() <= limits::IDLE + limits::STALLED * 2, "{:?}", started.elapsed());
    assert_limit(&tested, "idle").await;
}

/// Returns a client that answers pings, and the task that ends with its connection.
async fn pinging(
    tested: &Tested,
    identity: Option<&pki::Identity>,
) -> (http2::SendRequest<http_body_util::Empty<Bytes>>, tokio::task::JoinHandle<()>) {
    let stream = tested.connect_tls(identity, "h2").await.unwrap();
    let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    (sender, tokio::spawn(async move { drop(connection.await) }))
}

#[tokio::test(start_paused = true)]
async fn who_takes_nothing_goes() {
    let tested = Tested::new().await;
    let admin = tested.identity("admin", &["system:masters"]);
    // More data than all buffers on the way can hold.
    let mut writer = posting(&tested, &admin).await;
    for at in 0..8 {
        let object = json!({"metadata": {"name": format!("m{at}")}, "data": {"k": "x".repeat(500_000)}});
        let answer = post(&mut writer, object.to_string()).await;
        assert_eq!(answer, StatusCode::CREATED);
    }
    let mut stream = tested.connect_tls(Some(&admin), "http/1.1").await.unwrap();
    let text =
        "GET /api/v1/namespaces/default/configmaps?watch=true&resourceVersion=0 HTTP/1.1\r\nhost: x\r\n\r\n";
    stream.write_all(text.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
    let started = tested.clock.monotonic();
    // The client does not read; only time passes.
    tokio::time::sleep(limits::STALLED * 3).await;
    let mut rest = Vec::new();
    drop(stream.read_to_end(&mut rest).await);
    assert!(rest.len() < 8 * 500_000, "{}", rest.len());
    assert!(started.elapsed() < limits::STALLED * 4);
    assert_limit(&tested, "stalled").await;
}

type Posting = http1::SendRequest<http_body_util::Full<Bytes>>;

async fn posting(tested: &Tested, identity: &pki::Identity) -> Posting {
    let stream = tested.connect_tls(Some(identity), "http/1.1").await.unwrap();
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

async fn post(client: &mut Posting, body: String) -> StatusCode {
    let request = Request::post("/api/v1/namespaces/default/configmaps").header("host", "x");
    let request = request.header("content-type", "application/json").body(body.into_bytes().into()).unwrap();
    client.ready().await.unwrap();
    let answer = client.send_request(request).await.unwrap();
    let status = answer.status();
    answer.into_body().collect().await.unwrap();
    status
}

/// A body that begins and then sends nothing more.
struct Stuck(bool);

impl http_body::Body for Stuck {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Pending;
        }
        Poll::Ready(Some(Ok(http_body::Frame::data(Bytes::from_static(b"{")))))
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_waits_for_no_upload_and_no_handshake() {
    let tested = Tested::new().await;
    let admin = tested.identity("admin", &["system:masters"]);
    let stream = tested.connect_tls(Some(&admin), "http/1.1").await.unwrap();
    let (mut sender, connection) = http1::handshake::<_, Stuck>(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let upload = Request::post("/api/v1/namespaces/default/configmaps").header("host", "x");
    let upload = upload.header("content-type", "application/json").body(Stuck(false)).unwrap();
    let answer = tokio::spawn(async move { sender.send_request(upload).await.map(|answer| answer.status()) });
    let silent = tested.connect();
    settle().await;
    let started = tested.clock.monotonic();
    tested.listener.close();
    assert_eq!(answer.await.unwrap().unwrap(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(started.elapsed().as_secs(), limits::UPLOAD_AT_SHUTDOWN.as_secs());
    let mut silent = silent;
    assert!(is_closed(&mut silent).await, "a handshake that does not go on is given up");
}
