//! Reads responses as they arrive.

use std::time::Duration;

use http::Response as HttpResponse;
use http::header::{CONTENT_TYPE, WARNING};
use http_body_util::BodyExt as _;
use machinery::clock::Clock;
use serde_json::Value;
use serving::Body;

use crate::model::{Response, Watch};

const WATCH_DEFAULT_SECONDS: f64 = 2.0;

/// Returns a response with its body, or with the events that `watch` asks for.
pub async fn answer(answer: HttpResponse<Body>, watch: Option<&Watch>, clock: &Clock) -> Response {
    let (parts, body) = answer.into_parts();
    let content_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let mut out = Response {
        code: parts.status.as_u16(),
        content_type: content_type.unwrap_or_default().to_owned(),
        ..Response::default()
    };
    for header in parts.headers.get_all(WARNING) {
        out.warnings.extend(warnings(&String::from_utf8_lossy(header.as_bytes())));
    }
    match watch.filter(|_| out.code == 200) {
        Some(watch) => events(&mut out, body, watch, clock).await,
        None => match body.collect().await {
            Ok(body) => decode(&mut out, &body.to_bytes()),
            Err(never) => match never {},
        },
    }
    out
}

/// Returns the quoted texts of a `Warning` header.
pub fn warnings(header: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut current: Option<String> = None;
    let mut characters = header.chars();
    while let Some(character) = characters.next() {
        match (&mut current, character) {
            (None, '"') => current = Some(String::new()),
            (None, _) => {}
            (Some(_), '"') => found.extend(current.take()),
            (Some(text), '\\') => text.extend(characters.next()),
            (Some(text), other) => text.push(other),
        }
    }
    found
}

fn decode(out: &mut Response, body: &[u8]) {
    let parsed = match &out.content_type {
        _ if body.is_empty() => return,
        kind if kind.contains("json") => machinery::decode::own(body).ok(),
        kind if kind.contains("yaml") => machinery::decode::yaml(body).ok().map(|decoded| decoded.value),
        _ => None,
    };
    match parsed {
        Some(value) => out.body = value,
        None if body.starts_with(b"k8s\0") => out.text = "<protobuf>".into(),
        None if out.content_type.contains("protobuf") || out.content_type.contains("cbor") => {
            out.text = "<binary>".into();
        }
        None => out.text = String::from_utf8_lossy(body).into_owned(),
    }
}

/// Reads events, one per line, until there are enough, the time is over, or the stream ends.
async fn events(out: &mut Response, mut body: Body, watch: &Watch, clock: &Clock) {
    let seconds = if watch.seconds > 0.0 { watch.seconds } else { WATCH_DEFAULT_SECONDS };
    let deadline = clock.monotonic() + Duration::from_secs_f64(seconds);
    let mut unread = Vec::new();
    loop {
        while let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
            if watch.events > 0 && out.events.len() >= watch.events {
                return;
            }
            let line: Vec<u8> = unread.drain(..=end).collect();
            match serde_json::from_slice::<Value>(&line) {
                Ok(event) => out.events.push(event),
                Err(error) => return out.trouble.push(format!("watch stream: {error}")),
            }
        }
        if watch.events > 0 && out.events.len() >= watch.events {
            return;
        }
        let Ok(Some(Ok(frame))) = tokio::time::timeout_at(deadline, body.frame()).await else { return };
        unread.extend(frame.into_data().unwrap_or_default());
    }
}
