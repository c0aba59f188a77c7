//! A client of one of the two servers: retries requests, and reads no more of an answer than any server of Cluster API sends.

mod lists;
mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use chrono::{DateTime, Utc};
use futures::stream::{self, StreamExt, TryStreamExt};
use http::{Method, Request, Response};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use machinery::clock::Clock;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::limits;

pub use lists::Page;
pub use watch::Change;

/// A server that objects move from or to.
#[derive(Clone)]
pub struct Server {
    role: &'static str,
    client: Client,
    clock: Clock,
    requests: Arc<AtomicU64>,
    has_answered: Arc<AtomicBool>,
    /// The seconds by which the server's clock is ahead of this machine's, according to its answers.
    skew: Arc<Mutex<Option<i64>>>,
}

/// Media types of the patches in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchKind {
    /// JSON Merge Patch (RFC 7386).
    Merge,
    /// JSON Patch (RFC 6902).
    Json,
}

const JSON: &str = "application/json";

/// The parts of a request other than its path.
struct Call<'a> {
    method: Method,
    accept: Option<&'static str>,
    media_type: Option<&'static str>,
    body: Option<&'a Value>,
}

impl<'a> Call<'a> {
    fn read() -> Self {
        Self { method: Method::GET, accept: None, media_type: None, body: None }
    }

    fn write(method: Method, media_type: &'static str, body: &'a Value) -> Self {
        Self { method, accept: None, media_type: Some(media_type), body: Some(body) }
    }
}

impl Server {
    /// Creates the access to the server of `client`. Errors call it by its `role`: `source` or `target`.
    pub fn new(role: &'static str, client: Client, clock: Clock) -> Self {
        Self {
            role,
            client,
            clock,
            requests: Arc::default(),
            has_answered: Arc::default(),
            skew: Arc::default(),
        }
    }

    /// Returns the role of the server: `source` or `target`.
    pub fn role(&self) -> &'static str {
        self.role
    }

    /// Returns the clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Returns the number of requests that were sent so far.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Returns the seconds by which the server's clock is ahead of this machine's; `None` if its answers have no date.
    pub fn skew(&self) -> Option<i64> {
        *self.skew.lock()
    }

    /// Returns the identity of this server: the UID of its namespace kube-system, which lives as long as its data.
    ///
    /// # Errors
    /// The errors of [`Server::get`].
    pub async fn identity(&self) -> Result<String> {
        let namespace: Value =
            self.get("get Namespace kube-system", "/api/v1/namespaces/kube-system").await?;
        Ok(namespace["metadata"]["uid"].as_str().unwrap_or_default().to_owned())
    }

    /// Reads `path`.
    ///
    /// # Errors
    /// The server refuses the request or cannot be reached.
    pub async fn get<T: for<'de> Deserialize<'de>>(&self, what: &str, path: &str) -> Result<T> {
        self.send(what, path, Call::read()).await
    }

    /// Reads `path`; `None` if nothing is there.
    ///
    /// # Errors
    /// The errors of [`Server::get`], except for 404.
    pub async fn find(&self, what: &str, path: &str) -> Result<Option<Value>> {
        match self.get(what, path).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Creates an object. If an earlier answer was lost, the repeated request returns `AlreadyExists`.
    ///
    /// # Errors
    /// The errors of [`Server::get`].
    pub async fn create(&self, what: &str, path: &str, object: &Value) -> Result<Value> {
        self.send(what, path, Call::write(Method::POST, JSON, object)).await
    }

    /// Replaces an object, which must still have the resource version that `object` states.
    ///
    /// # Errors
    /// The errors of [`Server::get`].
    pub async fn replace(&self, what: &str, path: &str, object: &Value) -> Result<Value> {
        self.send(what, path, Call::write(Method::PUT, JSON, object)).await
    }

    /// Patches an object.
    ///
    /// # Errors
    /// The errors of [`Server::get`].
    pub async fn patch(&self, what: &str, path: &str, kind: PatchKind, patch: &Value) -> Result<Value> {
        let media_type = match kind {
            PatchKind::Merge => "application/merge-patch+json",
            PatchKind::Json => "application/json-patch+json",
        };
        self.send(what, path, Call::write(Method::PATCH, media_type, patch)).await
    }

    /// Changes an object by a merge patch. If it is not there any more, this is not an error.
    ///
    /// # Errors
    /// The errors of [`Server::get`], except for 404.
    pub async fn merge_if_there(&self, what: &str, path: &str, patch: &Value) -> Result<()> {
        match self.patch(what, path, PatchKind::Merge, patch).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    /// Deletes the object or objects at `path`. If nothing is there any more, this is not an error; the answer is `None` then.
    ///
    /// # Errors
    /// The errors of [`Server::get`].
    pub async fn delete(&self, what: &str, path: &str, options: &Value) -> Result<Option<Value>> {
        match self.send(what, path, Call::write(Method::DELETE, JSON, options)).await {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn send<T: for<'de> Deserialize<'de>>(&self, what: &str, path: &str, call: Call<'_>) -> Result<T> {
        self.parse(what, &self.text(what, path, call).await?)
    }

    fn parse<T: for<'de> Deserialize<'de>>(&self, what: &str, text: &[u8]) -> Result<T> {
        serde_json::from_slice(text).map_err(|source| self.unreadable(what, source))
    }

    fn unreadable(&self, what: &str, source: serde_json::Error) -> Error {
        Error::Answer { server: self.role, what: what.to_owned(), source }
    }

    fn too_large(&self, what: &str, limit: usize) -> Error {
        Error::TooLarge { server: self.role, what: what.to_owned(), limit }
    }

    async fn text(&self, what: &str, path: &str, call: Call<'_>) -> Result<Vec<u8>> {
        let body = call.body.map(serde_json::to_vec).transpose();
        let body = body.map_err(|source| self.unreadable(what, source))?.unwrap_or_default();
        let mut pause = limits::RETRY_PAUSE;
        let mut attempt = 0;
        loop {
            let mut request = Request::builder().method(call.method.clone()).uri(path);
            if let Some(media_type) = call.media_type {
                request = request.header(http::header::CONTENT_TYPE, media_type);
            }
            if let Some(accept) = call.accept {
                request = request.header(http::header::ACCEPT, accept);
            }
            let request = request
                .body(body.clone())
                .map_err(|error| self.failed(what, kube::Error::HttpError(error)))?;
            match self.once(request).await {
                Ok(Some(text)) => return Ok(text),
                Ok(None) => return Err(self.too_large(what, limits::ANSWER)),
                Err(error) if attempt < self.retries() && is_passing(&error) => {
                    tracing::debug!(server = self.role, what, %error, "trying again");
                }
                Err(error) => return Err(self.failed(what, error)),
            }
            self.clock.sleep(pause).await;
            attempt += 1;
            pause *= 2;
        }
    }

    fn retries(&self) -> u32 {
        if self.has_answered.load(Ordering::Relaxed) { limits::RETRIES } else { limits::RETRIES_AT_FIRST }
    }

    /// Sends a request once; `None` if the answer is too large.
    async fn once(&self, request: Request<Vec<u8>>) -> Result<Option<Vec<u8>>, kube::Error> {
        read(self.ask(request).await?.into_body(), limits::ANSWER).await
    }

    /// Sends a request once. A refusal by the server is an error.
    async fn ask(&self, request: Request<Vec<u8>>) -> Result<Response<Body>, kube::Error> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let answer = self.client.send(request.map(Body::from)).await?;
        self.has_answered.store(true, Ordering::Relaxed);
        let date = answer.headers().get(http::header::DATE).and_then(|date| date.to_str().ok());
        if let Some(date) = date.and_then(|date| DateTime::parse_from_rfc2822(date).ok()) {
            let ahead = date.with_timezone(&Utc) - self.clock.now();
            *self.skew.lock() = Some(ahead.num_seconds());
        }
        let status = answer.status();
        if !status.is_client_error() && !status.is_server_error() {
            return Ok(answer);
        }
        let text = read(answer.into_body(), limits::REFUSAL).await?.unwrap_or_default();
        let refused = serde_json::from_slice::<kube::core::Status>(&text).unwrap_or_else(|_| {
            let words = String::from_utf8_lossy(&text);
            kube::core::Status::failure(words.trim(), "").with_code(status.as_u16())
        });
        Err(kube::Error::Api(refused.boxed()))
    }

    fn failed(&self, what: &str, source: kube::Error) -> Error {
        let has_answered = self.has_answered.load(Ordering::Relaxed);
        Error::Server { server: self.role, what: what.to_owned(), cause: Box::new(source), has_answered }
    }
}

/// Awaits all of `work`, [`limits::IN_FLIGHT`] at a time. The results have no order.
///
/// # Errors
/// The first error ends all of it.
pub fn at_once<T, F: Future<Output = Result<T>>>(
    work: impl IntoIterator<Item = F>,
) -> impl Future<Output = Result<Vec<T>>> {
    let work: Vec<F> = work.into_iter().collect();
    stream::iter(work).buffer_unordered(limits::IN_FLIGHT).try_collect()
}

/// Reads a body; `None` if it has more than `limit` bytes.
async fn read(mut body: Body, limit: usize) -> Result<Option<Vec<u8>>, kube::Error> {
    let mut text = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        if text.len() + data.len() > limit {
            return Ok(None);
        }
        text.extend_from_slice(&data);
    }
    Ok(Some(text))
}

/// Returns whether the same request may succeed soon.
fn is_passing(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => matches!(status.code, 429 | 500 | 502 | 503 | 504),
        kube::Error::Service(_) | kube::Error::HyperError(_) => true,
        _ => false,
    }
}
