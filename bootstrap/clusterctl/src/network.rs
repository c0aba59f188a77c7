//! Access to the network: requests for repositories, templates and configuration files.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::Uri;
use http_body_util::{BodyExt, Empty, Limited};
use machinery::cause::first_cause;
use net::{Proxies, authorities};

use crate::{Context, Error, Result};

/// Maximum size of a file. Components of providers have a few megabytes.
pub const BODY_MAX: usize = 64 * 1024 * 1024;
/// Maximum number of redirects, as in Go's client.
pub const REDIRECTS_MAX: usize = 10;
/// Time limit of one request.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A GET request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The address.
    pub url: String,
    /// Value of the header `Accept`.
    pub accept: Option<&'static str>,
    /// A token that is sent as `Bearer`, but only to the host of [`Self::url`].
    pub token: Option<String>,
}

impl Request {
    /// A request without a token.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), accept: None, token: None }
    }
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status code.
    pub status: u16,
    /// Whether no more requests are allowed for now (GitHub's `X-RateLimit-Remaining: 0`).
    pub exhausted: bool,
    /// The body.
    pub body: Bytes,
}

/// Sends requests. Tests implement it themselves.
pub trait Network: Send + Sync {
    /// Sends a request and returns the answer; follows redirects.
    fn get(&self, request: Request) -> BoxFuture<'_, Result<Answer>>;
}

/// What somebody can do whose machine does not reach a repository.
const WAYS_OUT: &str = "name a local file; providers can also come from a bundle (--bundle) or a local folder (the url in clusterctl's configuration); behind a proxy, set HTTPS_PROXY";
/// What is added to an error of TLS whose authority is not known.
const INSPECTED: &str =
    "a proxy that inspects TLS has an authority of its own: name its file with SSL_CERT_FILE";

/// The real network, with TLS by rustls and this machine's certificate authorities.
pub struct Https(net::Client<Empty<Bytes>>);

impl Https {
    /// A client that trusts the certificate authorities of this machine, and connects through these proxies.
    ///
    /// # Errors
    /// Never, with the cryptography that is built in.
    pub fn new(proxies: Arc<Proxies>) -> Result<Self> {
        let client = net::Client::new(authorities::machine(), proxies);
        Ok(Self(client.map_err(|error| Error::Network(error.to_string()))?))
    }

    async fn follow(&self, request: Request) -> Result<Answer> {
        let failed = |reason: String| Error::Network(format!("Get {:?}: {reason}", request.url));
        let mut uri: Uri = request.url.parse().map_err(|error| failed(format!("not an address: {error}")))?;
        let first_host = uri.host().map(str::to_owned);
        for _ in 0..=REDIRECTS_MAX {
            let mut builder = http::Request::get(&uri).header("user-agent", "firstlight");
            if let Some(accept) = request.accept {
                builder = builder.header("accept", accept);
            }
            let same_host = uri.host().map(str::to_owned) == first_host;
            if let Some(token) = request.token.as_ref().filter(|_| same_host) {
                builder = builder.header("authorization", format!("Bearer {token}"));
            }
            let message = builder.body(Empty::new()).map_err(|error| failed(error.to_string()))?;
            let answer = self.0.request(message).await.map_err(|error| unanswered(&request.url, &error))?;
            let header = |name: &str| answer.headers().get(name).and_then(|value| value.to_str().ok());
            if let Some(target) = header("location").filter(|_| answer.status().is_redirection()) {
                uri = distribution::redirected(&uri, target).map_err(|error| failed(format!("{error:#}")))?;
                continue;
            }
            let (status, exhausted) =
                (answer.status().as_u16(), header("x-ratelimit-remaining") == Some("0"));
            let body = Limited::new(answer.into_body(), BODY_MAX).collect().await;
            let body = body.map_err(|error| failed(error.to_string()))?.to_bytes();
            return Ok(Answer { status, exhausted, body });
        }
        Err(failed(format!("stopped after {REDIRECTS_MAX} redirects")))
    }
}

/// The error of a request without an answer. What would fail again is an error of the request.
fn unanswered(url: &str, error: &net::Failure) -> Error {
    let failed = |reason: String| format!("Get {url:?}: {reason}");
    match net::refusal(error) {
        Some(reason @ net::Error::Unresolved { .. }) => Error::Invalid(failed(without_name(reason))),
        Some(reason) if reason.is_lasting() => Error::Invalid(failed(reason.to_string())),
        Some(reason) => Error::Network(failed(reason.to_string())),
        None => {
            let reason = first_cause(error);
            match reason.contains("UnknownIssuer") {
                true => Error::Invalid(failed(format!("{reason}; {INSPECTED}"))),
                false => Error::Network(failed(reason)),
            }
        }
    }
}

/// What to do without a name.
fn without_name(reason: &net::Error) -> String {
    format!("{reason}. Without a network: {WAYS_OUT}")
}

/// The error of a registry.
pub(crate) fn of_registry(error: &anyhow::Error) -> Error {
    match net::refusal(error.as_ref()) {
        Some(reason @ net::Error::Unresolved { .. }) => Error::Invalid(without_name(reason)),
        _ => Error::Network(format!("{error:#}")),
    }
}

impl Network for Https {
    fn get(&self, request: Request) -> BoxFuture<'_, Result<Answer>> {
        Box::pin(async move {
            let url = request.url.clone();
            let answer = tokio::time::timeout(REQUEST_TIMEOUT, self.follow(request)).await;
            answer
                .map_err(|_| Error::Network(format!("no answer in {REQUEST_TIMEOUT:?}")))
                .context(|| format!("Get {url:?}"))?
        })
    }
}
