//! Watch streams.

use std::time::Duration;

use crate::serving::http::common::{Harness, WIDGETS, widget};
use http_body_util::BodyExt;
use serde_json::Value;
use serving::Body;
use serving::testing::limits;

/// Reads events as they arrive.
struct Events {
    body: Body,
    text: Vec<u8>,
}

impl Events {
    async fn open(harness: &Harness, path: &str, accept: &str) -> Self {
        let response = harness.send("GET", path, &[("accept", accept)], b"").await;
        assert_eq!(response.status(), 200);
        Self { body: response.into_body(), text: Vec::new() }
    }

    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.text.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let frame = self.body.frame().await?.unwrap();
            self.text.extend_from_slice(&frame.into_data().unwrap());
        }
    }

    async fn expect(&mut self, kind: &str) -> Value {
        let event = self.next().await.unwrap_or_else(|| panic!("ended before {kind}"));
        assert_eq!(event["type"], kind, "{event}");
        event["object"].clone()
    }
}

#[tokio::test(start_paused = true)]
async fn changes_as_events() {
    let harness = Harness::with_widgets().await;
    harness.post(WIDGETS, &widget("a", 1)).await;
    let mut events = Events::open(&harness, &format!("{WIDGETS}?watch=1"), "*/*").await;
    assert_eq!(events.expect("ADDED").await["metadata"]["name"], "a");
    harness.post(WIDGETS, &widget("b", 1)).await;
    assert_eq!(events.expect("ADDED").await["metadata"]["name"], "b");
    harness.call("DELETE", &format!("{WIDGETS}/a"), &[], b"").await;
    assert_eq!(events.expect("DELETED").await["metadata"]["name"], "a");
}

#[tokio::test(start_paused = true)]
async fn initial_events_and_bookmarks() {
    let harness = Harness::with_widgets().await;
    harness.post(WIDGETS, &widget("a", 1)).await;
    let query =
        "watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    let path = format!("{WIDGETS}?{query}&timeoutSeconds=100");
    let mut events = Events::open(&harness, &path, "*/*").await;
    events.expect("ADDED").await;
    let end = events.expect("BOOKMARK").await;
    assert_eq!(end["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    let started = harness.clock.monotonic();
    events.expect("BOOKMARK").await;
    assert_eq!(started.elapsed().as_secs(), limits::BOOKMARK_EVERY.as_secs());
    // No bookmark comes at the end.
    assert_eq!(events.next().await, None);
    assert_eq!(started.elapsed(), Duration::from_secs(100));
}

#[tokio::test(start_paused = true)]
async fn a_start_in_the_future() {
    let revision =
        |object: &Value| object["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap();
    let harness = Harness::with_widgets().await;
    let start = revision(&harness.post(WIDGETS, &widget("a", 1)).await.json()) + 1;
    let mut events =
        Events::open(&harness, &format!("{WIDGETS}?watch=1&resourceVersion={start}"), "*/*").await;
    let b = harness.post(WIDGETS, &widget("b", 1)).await.json();
    let c = harness.post(WIDGETS, &widget("c", 1)).await.json();
    let wanted = if revision(&b) > start { b } else { c };
    assert_eq!(events.expect("ADDED").await["metadata"]["name"], wanted["metadata"]["name"]);

    let query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let path = format!("{WIDGETS}?{query}&resourceVersion={}", start + 100);
    let mut events = Events::open(&harness, &path, "*/*").await;
    assert_eq!(events.expect("ERROR").await["code"], 504);
    assert_eq!(events.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn tables_describe_their_columns_once() {
    let harness = Harness::with_widgets().await;
    harness.post(WIDGETS, &widget("a", 1)).await;
    harness.post(WIDGETS, &widget("b", 2)).await;
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let mut events = Events::open(&harness, &format!("{WIDGETS}?watch=1"), accept).await;
    assert!(events.expect("ADDED").await["columnDefinitions"].is_array());
    let second = events.expect("ADDED").await;
    assert!(second["columnDefinitions"].is_null());
    assert_eq!(second["rows"][0]["cells"], serde_json::json!(["b", 2]));
}

#[tokio::test(start_paused = true)]
async fn a_stopping_server_ends_watches() {
    let harness = Harness::with_widgets().await;
    let mut events = Events::open(&harness, &format!("{WIDGETS}?watch=1"), "*/*").await;
    assert_eq!(harness.get("/readyz").await.code, 200);
    harness.server.stop();
    assert_eq!(events.next().await, None);
    assert_eq!(harness.get("/readyz").await.code, 500);
}

#[tokio::test(start_paused = true)]
async fn a_watch_without_a_limit_ends_too() {
    let harness = Harness::with_widgets().await;
    let started = harness.clock.monotonic();
    let mut events = Events::open(&harness, &format!("{WIDGETS}?watch=1"), "*/*").await;
    assert_eq!(events.next().await, None);
    assert_eq!(started.elapsed().as_secs(), limits::WATCH.as_secs());
}
