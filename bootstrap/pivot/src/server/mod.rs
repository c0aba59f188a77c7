//! A client of one of the two servers: retries requests, and reads lists page by page.

mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use chrono::{DateTime, Utc};
use http::{Method, Request, Response};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use machinery::clock::Clock;
use machinery::url::encode;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::limits;

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

/// The media type of a list with only the metadata of its objects.
const METADATA_ONLY: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

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

/// One page of a list.
#[derive(Deserialize)]
pub struct Page {
    /// The metadata of the list, with the position of the next page.
    #[serde(default)]
    metadata: PageMetadata,
    /// The objects; those of built-in kinds lack `apiVersion` and `kind`.
    #[serde(default)]
    pub items: Vec<Box<RawValue>>,
}

#[derive(Default, Deserialize)]
struct PageMetadata {
    #[serde(default, rename = "continue")]
    next: String,
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

    /// Returns the page that follows `page`, or the first page; `None` after the last page.
    ///
    /// # Errors
    /// The errors of [`Server::get`].
    pub async fn page(&self, what: &str, path: &str, page: Option<&Page>) -> Result<Option<Page>> {
        let separator = if path.contains('?') { '&' } else { '?' };
        let mut path = format!("{path}{separator}limit={}", limits::PAGE);
        if let Some(page) = page {
            if page.metadata.next.is_empty() {
                return Ok(None);
            }
            path.push_str("&continue=");
            path.push_str(&encode(&page.metadata.next));
        }
        self.get(what, &path).await.map(Some)
    }

    /// Returns all objects of a list that is known to be short.
    ///
    /// # Errors
    /// The errors of [`Server::get`].
    pub async fn list(&self, what: &str, path: &str) -> Result<Vec<Box<RawValue>>> {
        let mut items = Vec::new();
        let mut last: Option<Page> = None;
        while let Some(mut page) = self.page(what, path, last.as_ref()).await? {
            items.append(&mut page.items);
            last = Some(page);
        }
        Ok(items)
    }

    /// Returns the metadata of all objects of a list.
    ///
    /// # Errors
    /// The errors of [`Server::get`].
    pub async fn list_metadata(&self, what: &str, path: &str) -> Result<Vec<Value>> {
        let mut items = Vec::new();
        let mut next = String::new();
        loop {
            let separator = if path.contains('?') { '&' } else { '?' };
            let path = format!("{path}{separator}limit={}&continue={}", limits::PAGE, encode(&next));
            let call = Call { accept: Some(METADATA_ONLY), ..Call::read() };
            let mut page: Value = self.send(what, path.trim_end_matches("&continue="), call).await?;
            if let Some(found) = page["items"].as_array_mut() {
                items.append(found);
            }
            next = page["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
            if next.is_empty() {
                return Ok(items);
            }
        }
    }

    async fn send<T: for<'de> Deserialize<'de>>(&self, what: &str, path: &str, call: Call<'_>) -> Result<T> {
        let unreadable = |source| Error::Answer { server: self.role, what: what.to_owned(), source };
        let body = call.body.map(serde_json::to_vec).transpose().map_err(unreadable)?.unwrap_or_default();
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
                Ok(text) => return serde_json::from_slice(&text).map_err(unreadable),
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

    async fn once(&self, request: Request<Vec<u8>>) -> Result<Vec<u8>, kube::Error> {
        let answer = self.ask(request).await?;
        Ok(answer.into_body().collect().await?.to_bytes().into())
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
        let text = answer.into_body().collect().await?.to_bytes();
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

/// Returns whether the same request may succeed soon.
fn is_passing(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => matches!(status.code, 429 | 500 | 502 | 503 | 504),
        kube::Error::Service(_) | kube::Error::HyperError(_) => true,
        _ => false,
    }
}
