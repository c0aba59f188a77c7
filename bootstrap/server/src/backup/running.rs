//! The part of a backup that runs in the server: a stream of its objects, and the check of its store.
//!
//! The stream contains every Secret. Only administrators, and users whose roles name the path, may read it.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use bytes::{Buf, Bytes};
use futures::future::BoxFuture;
use futures::{FutureExt, stream};
use http::Response;
use http_body_util::{BodyExt, Limited};
use kube::Client;
use machinery::clock::Clock;
use machinery::status::Status;
use serving::{Body, PathRequest};
use store::{Page, Prefix, Store, Stored};
use tokio::sync::mpsc;

use super::format::{Encoder, Header};

/// The path at which the server streams its objects.
pub const BACKUP_PATH: &str = "/backup";
/// The path at which the server checks its store.
pub const VERIFY_PATH: &str = "/verify";

/// The size of a piece of the stream in bytes.
const PIECE_BYTES: usize = 64 * 1024;
/// The largest number of pieces that wait to be written.
const PIECES_MAX: usize = 16;
/// The largest part of an error response that is read.
const ERROR_BYTES: usize = 64 * 1024;

/// Answers [`BACKUP_PATH`] with a backup of the current objects, without files. Later writes are not included.
pub fn backup_answer(
    store: Store,
    clock: Clock,
) -> impl Fn(PathRequest) -> BoxFuture<'static, Result<Response<Body>, Status>> + Send + Sync {
    move |_| {
        let snapshot = store.list(&Prefix::all(), &Page::default());
        let header = Header::of(&snapshot, &clock);
        let answer = Pieces::begin(&header, snapshot.items.into()).map(|pieces| {
            let mut response = Response::new(Body::stream(stream::iter(pieces)));
            let content_type = http::HeaderValue::from_static("application/octet-stream");
            response.headers_mut().insert(http::header::CONTENT_TYPE, content_type);
            response
        });
        let answer = answer.map_err(|error| Status::internal(error.to_string()));
        futures::future::ready(answer).boxed()
    }
}

/// Answers [`VERIFY_PATH`] with the result of the store's verification.
pub fn verify_answer(
    store: Store,
) -> impl Fn(PathRequest) -> BoxFuture<'static, Result<Response<Body>, Status>> + Send + Sync {
    move |_| {
        let store = store.clone();
        async move {
            let verified = store.verify().await.map_err(|error| Status::internal(error.to_string()))?;
            let text = serde_json::json!({
                "revision": verified.revision.0, "objects": verified.objects, "rows": verified.rows,
            });
            let mut response = Response::new(Body::from(text.to_string()));
            let content_type = http::HeaderValue::from_static("application/json");
            response.headers_mut().insert(http::header::CONTENT_TYPE, content_type);
            Ok(response)
        }
        .boxed()
    }
}

/// The pieces of the stream, which are made on demand.
struct Pieces {
    encoder: Option<Encoder>,
    ready: Vec<u8>,
    objects: VecDeque<Arc<Stored>>,
}

impl Pieces {
    fn begin(header: &Header, objects: VecDeque<Arc<Stored>>) -> serde_json::Result<Self> {
        let (encoder, ready) = Encoder::begin(header)?;
        Ok(Self { encoder: Some(encoder), ready, objects })
    }
}

impl Iterator for Pieces {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        while self.ready.len() < PIECE_BYTES
            && let Some(encoder) = &mut self.encoder
        {
            match self.objects.pop_front() {
                Some(object) => self.ready.extend(encoder.object(&object)),
                None => self.ready.extend(self.encoder.take()?.end()),
            }
        }
        (!self.ready.is_empty()).then(|| std::mem::take(&mut self.ready).into())
    }
}

/// Requests the stream of a running server. The result must be read on another thread.
pub(super) async fn fetch(client: &Client) -> Result<Fetched> {
    let mut body = get(client, BACKUP_PATH).await?.into_body();
    let (send, pieces) = mpsc::channel(PIECES_MAX);
    tokio::spawn(async move {
        while let Some(frame) = body.frame().await {
            let piece = match frame {
                Ok(frame) => frame.into_data().map_err(|_| io::Error::other("trailers")),
                Err(error) => Err(io::Error::other(error)),
            };
            // The reader was dropped.
            if send.send(piece).await.is_err() {
                break;
            }
        }
    });
    Ok(Fetched { pieces, current: Bytes::new() })
}

/// Returns the result of the running server's check of its store, as JSON.
pub(super) async fn verify(client: &Client) -> Result<serde_json::Value> {
    let body = get(client, VERIFY_PATH).await?.into_body();
    let bytes = Limited::new(body, ERROR_BYTES).collect().await;
    let bytes = bytes.map_err(|error| anyhow::anyhow!("the answer broke off: {error}"))?.to_bytes();
    Ok(serde_json::from_slice(&bytes)?)
}

async fn get(client: &Client, path: &str) -> Result<Response<kube::client::Body>> {
    let request = http::Request::get(path).body(kube::client::Body::empty())?;
    let response = client.send(request).await.context("the server does not answer")?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let body = Limited::new(response.into_body(), ERROR_BYTES).collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    let said = serde_json::from_slice::<serde_json::Value>(&body).unwrap_or_default();
    match said["message"].as_str() {
        Some(message) => bail!("{message}"),
        None => bail!("the running server has no {path} ({status}): stop it, then try again"),
    }
}

/// A reader of the bytes that the server sends.
pub(super) struct Fetched {
    pieces: mpsc::Receiver<io::Result<Bytes>>,
    current: Bytes,
}

impl Read for Fetched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            match self.pieces.blocking_recv() {
                Some(piece) => self.current = piece?,
                None => return Ok(0),
            }
        }
        let length = buffer.len().min(self.current.len());
        self.current.copy_to_slice(&mut buffer[..length]);
        Ok(length)
    }
}
