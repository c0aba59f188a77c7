//! A small registry for tests, on a free port of this machine: what it has is put into it, it may want a password, and it has faults.

mod content;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bundle::Digest;
use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{Interval, interval};

pub use content::{config, files, image, layout};

/// A registry. Dropping it ends it.
pub struct Registry {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    task: JoinHandle<()>,
}

/// What a registry has and does.
#[derive(Default)]
pub struct State {
    /// The tags with the manifests' digests, as `repository:tag`.
    pub tags: BTreeMap<String, Digest>,
    /// All manifests and blobs; manifests have a media type.
    pub content: BTreeMap<Digest, (Option<String>, Bytes)>,
    /// The password that it wants of the user `user`; a token service gives a token for it.
    pub password: Option<String>,
    /// How many answers with blobs are cut off in the middle.
    pub cut_off: usize,
    /// The blobs and manifests of which a byte comes in each hundredth of a second.
    pub drips: BTreeSet<Digest>,
    /// How many answers are 503.
    pub unavailable: usize,
    /// The registry to which requests for blobs are redirected.
    pub blobs_at: Option<String>,
    /// The requests so far: the path, and the range if there is one.
    pub asked: Vec<String>,
    /// How many of them had credentials.
    pub authorized: usize,
}

/// Answers up to this number of bytes are not cut off.
const SMALL: usize = 1000;
const TOKEN: &str = "token-of-the-test";

impl Registry {
    /// Starts a registry without content.
    ///
    /// # Errors
    /// There is no free port.
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = state.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let shared = shared.clone();
                tokio::spawn(async move {
                    let answered = service_fn(move |request| {
                        let answer = answer(&mut shared.lock(), address, &request);
                        async move { Ok::<_, Infallible>(answer) }
                    });
                    let server = hyper::server::conn::http1::Builder::new();
                    // A client that goes away is no fault of the test.
                    server.serve_connection(TokioIo::new(stream), answered).await.ok();
                });
            }
        });
        Ok(Self { address, state, task })
    }

    /// Returns the name of the registry, as it stands before the names of images.
    pub fn name(&self) -> String {
        self.address.to_string()
    }

    /// Changes what it has or does, or looks at it.
    pub fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock())
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl State {
    /// Adds a blob, and returns its digest.
    pub fn blob(&mut self, content: impl Into<Bytes>) -> Digest {
        let content = content.into();
        let digest = Digest::of(&content);
        self.content.insert(digest, (None, content));
        digest
    }

    /// Adds a manifest or an index under `repository:tag`, and returns its digest.
    pub fn manifest(&mut self, name: &str, media_type: &str, content: impl Into<Bytes>) -> Digest {
        let content = content.into();
        let digest = Digest::of(&content);
        self.content.insert(digest, (Some(media_type.to_owned()), content));
        self.tags.insert(name.to_owned(), digest);
        digest
    }

    /// How many requests had this text in their paths.
    pub fn count(&self, text: &str) -> usize {
        self.asked.iter().filter(|path| path.contains(text)).count()
    }
}

type Answer = Response<Content>;

/// The content of an answer. Its length is not known, so that it may be shorter than announced: a connection that was cut off. Before its end
/// there is a pause, in which the server sends what it has.
struct Content {
    bytes: Option<Bytes>,
    was_sent: bool,
    drips: Option<Interval>,
}

impl Content {
    fn new(bytes: Bytes) -> Self {
        Self { bytes: Some(bytes), was_sent: false, drips: None }
    }

    /// The same content, a byte in each hundredth of a second if `drips`.
    fn slow(bytes: Bytes, drips: bool) -> Self {
        Self { drips: drips.then(|| interval(Duration::from_millis(10))), ..Self::new(bytes) }
    }
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(drips) = &mut self.drips
            && drips.poll_tick(context).is_pending()
        {
            return Poll::Pending;
        }
        match self.bytes.take() {
            Some(mut bytes) if self.drips.is_some() && bytes.len() > 1 => {
                let first = bytes.split_to(1);
                self.bytes = Some(bytes);
                Poll::Ready(Some(Ok(Frame::data(first))))
            }
            Some(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
            None if self.was_sent => Poll::Ready(None),
            None => {
                self.was_sent = true;
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

fn answer(state: &mut State, address: SocketAddr, request: &Request<Incoming>) -> Answer {
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (path, range) = (request.uri().path(), header(header::RANGE));
    state.asked.push(format!("{} {range}", request.uri()).trim_end().to_owned());
    let authorization = header(header::AUTHORIZATION);
    state.authorized += usize::from(!authorization.is_empty());
    if let Some(password) = &state.password {
        let basic = format!("Basic {}", STANDARD.encode(format!("user:{password}")));
        if path == "/token" {
            return match authorization == basic {
                true => text(StatusCode::OK, json!({"token": TOKEN}).to_string()),
                false => failure(StatusCode::UNAUTHORIZED, "wrong password"),
            };
        }
        if authorization != format!("Bearer {TOKEN}") {
            let mut refused = failure(StatusCode::UNAUTHORIZED, "authentication required");
            let challenge = format!("Bearer realm=\"http://{address}/token\",service=\"test\"");
            if let Ok(value) = challenge.parse() {
                refused.headers_mut().insert(header::WWW_AUTHENTICATE, value);
            }
            return refused;
        }
    }
    if state.unavailable > 0 {
        state.unavailable -= 1;
        return failure(StatusCode::SERVICE_UNAVAILABLE, "later");
    }
    let path = path.trim_start_matches("/v2/");
    if let Some(repository) = path.strip_suffix("/tags/list") {
        let prefix = format!("{repository}:");
        let tags: Vec<&str> = state.tags.keys().filter_map(|name| name.strip_prefix(&prefix)).collect();
        return text(StatusCode::OK, json!({"name": repository, "tags": tags}).to_string());
    }
    if let Some((repository, reference)) = path.split_once("/manifests/") {
        let digest = reference.parse().ok();
        let digest = digest.or_else(|| state.tags.get(&format!("{repository}:{reference}")).copied());
        let drips = digest.is_some_and(|digest| state.drips.contains(&digest));
        return match digest.and_then(|digest| state.content.get(&digest)) {
            Some((Some(media_type), content)) => typed(media_type, content, drips),
            _ => failure(StatusCode::NOT_FOUND, "manifest unknown"),
        };
    }
    if let Some(other) = &state.blobs_at {
        let mut redirected = text(StatusCode::TEMPORARY_REDIRECT, String::new());
        if let Ok(value) = format!("http://{other}/v2/{path}").parse() {
            redirected.headers_mut().insert(header::LOCATION, value);
        }
        return redirected;
    }
    let digest = path.split_once("/blobs/").and_then(|(_, digest)| digest.parse::<Digest>().ok());
    match digest.and_then(|digest| state.content.get(&digest).cloned()) {
        Some((_, content)) => {
            let drips = digest.is_some_and(|digest| state.drips.contains(&digest));
            blob(state, &content, range, drips)
        }
        None => failure(StatusCode::NOT_FOUND, "blob unknown"),
    }
}

fn blob(state: &mut State, content: &Bytes, range: &str, drips: bool) -> Answer {
    let offset = range.strip_prefix("bytes=").and_then(|range| range.split_once('-')?.0.parse().ok());
    let offset = offset.unwrap_or(0).min(content.len());
    let mut body = content.slice(offset..);
    let announced = body.len();
    if state.cut_off > 0 && announced > SMALL {
        state.cut_off -= 1;
        body.truncate(announced / 2);
    }
    let mut answer = Response::new(Content::slow(body, drips));
    if offset > 0 {
        *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    answer.headers_mut().insert(header::CONTENT_LENGTH, announced.into());
    answer
}

fn typed(media_type: &str, content: &Bytes, drips: bool) -> Answer {
    let mut answer = Response::new(Content::slow(content.clone(), drips));
    if let Ok(value) = media_type.parse() {
        answer.headers_mut().insert(header::CONTENT_TYPE, value);
    }
    answer
}

fn failure(status: StatusCode, message: &str) -> Answer {
    text(status, json!({"errors": [{"code": "TEST", "message": message}]}).to_string())
}

fn text(status: StatusCode, text: String) -> Answer {
    let mut answer = Response::new(Content::new(Bytes::from(text)));
    *answer.status_mut() = status;
    answer
}
