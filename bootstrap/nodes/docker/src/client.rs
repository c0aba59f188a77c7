//! HTTP over the socket of the daemon. Each call has a connection of its own, so that nothing remembers a daemon that has ended.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use bytes::Bytes;
use futures::TryStreamExt;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::AsyncRead;
use tokio::time::timeout;
use tokio_util::io::{ReaderStream, StreamReader};

use crate::api::{Info, Listed, Version};
use crate::limits;
use crate::socket::{self, Engine};

/// The oldest version of the API that has what is used here: the one of Docker 19.03.
const OLDEST: (u32, u32) = (1, 40);
/// The newest version whose documentation was read. A newer daemon is asked for this one.
const NEWEST: (u32, u32) = (1, 51);

type Body = UnsyncBoxBody<Bytes, io::Error>;

/// An answer that says no.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) status: StatusCode,
    message: String,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Refused {}

/// Returns whether an error is an answer with this status.
pub(crate) fn is_refused(error: &anyhow::Error, status: StatusCode) -> bool {
    error.downcast_ref::<Refused>().is_some_and(|refused| refused.status == status)
}

/// Makes a call's missing object `None`.
pub(crate) fn unless_missing<T>(result: Result<T>) -> Result<Option<T>> {
    unless_refused(result, &[StatusCode::NOT_FOUND])
}

/// Makes an answer with one of these statuses `None`.
pub(crate) fn unless_refused<T>(result: Result<T>, statuses: &[StatusCode]) -> Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if statuses.iter().any(|status| is_refused(&error, *status)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns a value as it is written in a query.
pub(crate) fn quoted(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// What is sent with a call.
pub(crate) enum Sent {
    Nothing,
    Json(Value),
    /// An archive that is read while it is sent.
    Archive(Box<dyn AsyncRead + Send + Unpin>),
    /// The user and the password of a registry, encoded.
    Login(String),
}

/// A daemon.
pub(crate) struct Client {
    socket: PathBuf,
    /// The engine that listens there, and the version of its API; `None` until it has answered, and after it was away.
    known: Mutex<Option<(Engine, String)>>,
    /// The engine that is expected there.
    engine: Engine,
}

impl Client {
    /// Opens the first of these sockets at which a daemon answers. `engine` is the one that is expected there.
    ///
    /// # Errors
    /// None does: the error has the reason of each, and what to do.
    pub(crate) async fn open(engine: Engine, sockets: &[PathBuf]) -> Result<Self> {
        let mut reasons = Vec::new();
        for socket in sockets {
            let client = Self { socket: socket.clone(), known: Mutex::default(), engine };
            match client.version().await {
                Ok(_) => return Ok(client),
                Err(error) => reasons.push(format!("{error:#}")),
            }
        }
        bail!(
            "{} does not answer: {}; install and start it, or name its socket in {}=unix:///…",
            engine.name(),
            reasons.join("; "),
            engine.variable()
        )
    }

    /// Returns the engine.
    pub(crate) fn engine(&self) -> Engine {
        self.known.lock().as_ref().map_or(self.engine, |(engine, _)| *engine)
    }

    /// Returns the version of the API that both sides know, which is in the path of each call.
    async fn version(&self) -> Result<String> {
        if let Some((_, version)) = self.known.lock().clone() {
            return Ok(version);
        }
        let request = self.request(Method::GET, "/version", Sent::Nothing)?;
        let answer = within(limits::CALL, self.exchange(request)).await?;
        let found: Version = parsed(&self.whole(answer).await?)?;
        let (engine, version) = (found.engine(), agree(&found)?);
        *self.known.lock() = Some((engine, version.clone()));
        Ok(version)
    }

    /// Makes a call and returns what it answers, which may be nothing.
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        sent: Sent,
        limit: Duration,
    ) -> Result<Bytes> {
        let called = async {
            let answer = self.open_call(method, path, sent).await?;
            self.whole(answer).await
        };
        within(limit, called).await.map_err(|error| self.named(error))
    }

    /// Makes a call and returns the object that it answers.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        parsed(&self.call(Method::GET, path, Sent::Nothing, limits::CALL).await?)
    }

    /// The same with an object that is sent.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        sent: Value,
        limit: Duration,
    ) -> Result<T> {
        parsed(&self.call(Method::POST, path, Sent::Json(sent), limit).await?)
    }

    /// Returns what the daemon says of itself and its machine.
    pub(crate) async fn info(&self) -> Result<Info> {
        self.get("/info").await
    }

    /// Returns the containers that a filter of Docker lets through, whether they run or not.
    pub(crate) async fn containers(&self, filter: &Value) -> Result<Vec<Listed>> {
        self.get(&format!("/containers/json?all=1&filters={}", quoted(&filter.to_string()))).await
    }

    /// Kills a container and removes it with its volumes. Nothing happens if there is none.
    pub(crate) async fn remove_container(&self, name: &str) -> Result<()> {
        let path = format!("/containers/{name}?force=1&v=1");
        let removed = self.call(Method::DELETE, &path, Sent::Nothing, limits::CONTAINER).await;
        unless_missing(removed).map(drop)
    }

    /// Makes a call whose answer is a stream. Only its beginning has a limit.
    pub(crate) async fn stream(
        &self,
        method: Method,
        path: &str,
        sent: Sent,
        limit: Duration,
    ) -> Result<Box<dyn AsyncRead + Send + Unpin>> {
        let opened = within(limit, self.open_call(method, path, sent)).await;
        let answer = opened.map_err(|error| self.named(error))?;
        let data = answer.into_body().into_data_stream().map_err(io::Error::other);
        Ok(Box::new(StreamReader::new(data)))
    }

    /// Makes a call after which the connection belongs to both sides, byte for byte.
    pub(crate) async fn upgrade(&self, path: &str, sent: Value) -> Result<TokioIo<Upgraded>> {
        let upgraded = async {
            let version = self.version().await?;
            let mut request = self.request(Method::POST, &format!("/v{version}{path}"), Sent::Json(sent))?;
            let headers = request.headers_mut();
            headers.insert(header::CONNECTION, header::HeaderValue::from_static("Upgrade"));
            headers.insert(header::UPGRADE, header::HeaderValue::from_static("tcp"));
            let answer = self.exchange(request).await?;
            ensure!(
                answer.status() == StatusCode::SWITCHING_PROTOCOLS,
                "the answer was {} instead of a stream",
                answer.status()
            );
            hyper::upgrade::on(answer).await.context("the connection ended")
        };
        let upgraded = within(limits::CALL, upgraded).await;
        upgraded.map(TokioIo::new).map_err(|error| self.named(error))
    }

    /// Says that an error is the daemon's, or that it was away.
    fn named(&self, error: anyhow::Error) -> anyhow::Error {
        let name = self.engine().name();
        match error.downcast::<Refused>() {
            Ok(refused) => {
                let message = format!("{name}: {}", refused.message);
                anyhow!(Refused { message, ..refused })
            }
            Err(error) => {
                // It may be another version when it is back.
                *self.known.lock() = None;
                error.context(format!("{name} at {} cannot be used", self.socket.display()))
            }
        }
    }

    async fn open_call(&self, method: Method, path: &str, sent: Sent) -> Result<Response<Incoming>> {
        let version = self.version().await?;
        let request = self.request(method, &format!("/v{version}{path}"), sent)?;
        self.exchange(request).await
    }

    fn request(&self, method: Method, path: &str, sent: Sent) -> Result<Request<Body>> {
        let request = Request::builder().method(method).uri(path).header(header::HOST, "localhost");
        let full =
            |bytes: Vec<u8>| Full::new(Bytes::from(bytes)).map_err(|never| match never {}).boxed_unsync();
        let request = match sent {
            Sent::Nothing => request.body(full(Vec::new())),
            Sent::Json(value) => request
                .header(header::CONTENT_TYPE, "application/json")
                .body(full(serde_json::to_vec(&value)?)),
            Sent::Login(login) => request.header("X-Registry-Auth", login).body(full(Vec::new())),
            Sent::Archive(archive) => {
                let parts = ReaderStream::with_capacity(archive, 256 << 10).map_ok(Frame::data);
                request
                    .header(header::CONTENT_TYPE, "application/x-tar")
                    .body(StreamBody::new(parts).boxed_unsync())
            }
        };
        request.context("the call cannot be written")
    }

    /// Sends a request and returns the answer, if that is no refusal.
    async fn exchange(&self, request: Request<Body>) -> Result<Response<Incoming>> {
        let stream = socket::connect(&self.socket, self.engine()).await?;
        let mut sender = net::http1(stream).await?;
        let answer = sender.send_request(request).await.context("the connection ended without an answer")?;
        let status = answer.status();
        if status.is_success()
            || [StatusCode::SWITCHING_PROTOCOLS, StatusCode::NOT_MODIFIED].contains(&status)
        {
            return Ok(answer);
        }
        let text = self.whole(answer).await?;
        let message = serde_json::from_slice::<Value>(&text).ok();
        let message = message.and_then(|value| Some(value["message"].as_str()?.trim().to_owned()));
        let message = message.unwrap_or_else(|| format!("the answer was {status}"));
        bail!(Refused { status, message })
    }

    async fn whole(&self, answer: Response<Incoming>) -> Result<Bytes> {
        let body = Limited::new(answer.into_body(), limits::ANSWER).collect().await;
        Ok(body.map_err(|error| anyhow!("the answer ended early: {error}"))?.to_bytes())
    }
}

async fn within<T>(limit: Duration, called: impl Future<Output = Result<T>>) -> Result<T> {
    let late = || format!("there was no answer within {} s: does it hang?", limit.as_secs());
    timeout(limit, called).await.with_context(late)?
}

fn parsed<T: DeserializeOwned>(text: &[u8]) -> Result<T> {
    serde_json::from_slice(text).context("the answer is none of Docker's Engine API")
}

fn agree(found: &Version) -> Result<String> {
    let parse = |text: &str| -> Option<(u32, u32)> {
        let (major, minor) = text.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    let name = found.engine().name();
    let offered = parse(&found.api_version)
        .with_context(|| format!("{name} says that the version of its API is {:?}", found.api_version))?;
    ensure!(
        offered >= OLDEST,
        "{name} {} has version {} of Docker's API, and at least 1.40 is needed (Docker 19.03, Podman 3): upgrade it",
        found.version,
        found.api_version
    );
    let accepted = parse(&found.min_api_version).unwrap_or(OLDEST);
    ensure!(
        accepted <= NEWEST,
        "{name} {} accepts only versions from {} on of Docker's API, and this program knows those up to 1.51: upgrade this program",
        found.version,
        found.min_api_version
    );
    let (major, minor) = offered.min(NEWEST);
    Ok(format!("{major}.{minor}"))
}
