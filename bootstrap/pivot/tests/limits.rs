//! What a hostile server may send.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use chrono::{TimeZone, Utc};
use futures::{StreamExt, stream};
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::StreamBody;
use kube::Client;
use kube::client::Body;
use machinery::clock::Clock;
use pivot::{Error, Server, limits};

/// The bytes of one frame of an answer.
const FRAME: usize = 1024 * 1024;
const PATH: &str = "/api/v1/secrets";

/// Bytes that a server sends: a text, what is repeated without an end, or both.
#[derive(Clone)]
struct Answer {
    status: StatusCode,
    text: String,
    is_endless: bool,
}

impl Answer {
    fn whole(text: String) -> Self {
        Self { status: StatusCode::OK, text, is_endless: false }
    }

    fn endless(status: StatusCode) -> Self {
        Self { status, text: "{\"items\": [".to_owned(), is_endless: true }
    }
}

/// A server that answers each request by its path and query, and how many bytes were read from it.
fn server(answer: impl Fn(&str) -> Answer + Send + Clone + 'static) -> (Server, Arc<AtomicUsize>) {
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = sent.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let answer = answer(&request.uri().to_string());
        let counted = counted.clone();
        let rest = Bytes::from(vec![b' '; FRAME]);
        let rest = stream::repeat(rest).take(if answer.is_endless { usize::MAX } else { 0 });
        let frames = stream::iter([Bytes::from(answer.text)]).chain(rest).map(move |bytes| {
            counted.fetch_add(bytes.len(), Ordering::Relaxed);
            Ok::<_, Infallible>(Frame::data(bytes))
        });
        let response = Response::builder().status(answer.status).body(StreamBody::new(frames));
        async move { response }
    });
    let clock = Clock::simulated(Utc.with_ymd_and_hms(2026, 11, 29, 0, 0, 0).unwrap());
    (Server::new("target", Client::new(service, "default"), clock), sent)
}

fn query(path: &str, name: &str) -> Option<usize> {
    path.split(['?', '&']).find_map(|part| part.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_an_end_is_refused() {
    for status in [StatusCode::OK, StatusCode::FORBIDDEN, StatusCode::SERVICE_UNAVAILABLE] {
        let (server, sent) = server(move |_| Answer::endless(status));
        let attempts = [
            server.get::<serde_json::Value>("get Secret s", PATH).await.map(drop),
            server.list("list secrets", PATH).await.map(drop),
            server.list_metadata("list secrets", PATH).await.map(drop),
            server.page("list secrets", PATH, None).await.map(drop),
        ];
        for attempt in attempts {
            let error = attempt.unwrap_err();
            let is_limit = matches!(error, Error::TooLarge { limit: limits::ANSWER, .. });
            assert_eq!(is_limit, status.is_success(), "{error}");
        }
        // With a second attempt for each list, in smaller pages, and those after a 503.
        assert!(sent.load(Ordering::Relaxed) < 8 * (limits::ANSWER + FRAME));
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_without_a_line_ends() {
    let (server, sent) = server(|_| Answer::endless(StatusCode::OK));
    let mut changes = server.watch("watch secrets", PATH, None).await.unwrap();
    assert!(changes.next().await.is_none());
    assert!(sent.load(Ordering::Relaxed) <= limits::LINE + 2 * FRAME);
}

#[tokio::test(start_paused = true)]
async fn pages_without_an_end_are_refused() {
    let item = format!("\"{}\"", "a".repeat(32 * FRAME));
    let (server, _) = server(move |_| {
        Answer::whole(format!("{{\"metadata\": {{\"continue\": \"more\"}}, \"items\": [{item}]}}"))
    });
    let mut pages = 0;
    let mut last = None;
    let error = loop {
        match server.page("list secrets", PATH, last.as_ref()).await {
            Ok(page) => last = page,
            Err(error) => break error,
        }
        pages += 1;
    };
    assert!(matches!(error, Error::TooLarge { limit: limits::LIST, .. }), "{error}");
    assert_eq!(error.to_string(), "target: list secrets: the answer has more than 1024 MiB");
    assert_eq!(pages, limits::LIST / (32 * FRAME) - 1);
}

/// Secrets may be so large that a page of the usual number of them is too large.
#[tokio::test(start_paused = true)]
async fn a_list_of_large_objects_is_read_in_small_pages() {
    const OBJECTS: usize = 100;
    let (server, _) = server(|path| {
        let (first, limit) = (query(path, "continue").unwrap_or(0), query(path, "limit").unwrap());
        let end = OBJECTS.min(first + limit);
        let items: Vec<String> =
            (first..end).map(|number| format!("\"{}{number}\"", " ".repeat(FRAME))).collect();
        let next = if end < OBJECTS { end.to_string() } else { String::new() };
        Answer::whole(format!(
            "{{\"metadata\": {{\"continue\": \"{next}\"}}, \"items\": [{}]}}",
            items.join(",")
        ))
    });
    let items = server.list("list secrets", PATH).await.unwrap();
    let numbers = items.iter().map(|item| item.get().trim_matches(['"', ' ']).parse::<usize>().unwrap());
    assert!(numbers.eq(0..OBJECTS));
}
