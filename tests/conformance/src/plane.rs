//! The server under test, called without sockets.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use access::{Rbac, Tokens, User};
use anyhow::{Context as _, Result, anyhow};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, USER_AGENT};
use http::{HeaderName, HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, Full};
use machinery::clock::Clock;
use machinery::random::Random;
use registry::Registry;
use serde_json::Value;
use serving::{Body, Server};
use store::{Memory, Store};

use crate::model::Impersonate;
use crate::substitute::{self, Values};

/// The user agent. Its first part is the default field manager, which the recordings contain.
const AGENT: &str = "apireplay/1";

/// Limit for a response other than a watch.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// Start of the paused clock; any time that no request names.
const EPOCH: &str = "2026-01-01T00:00:00Z";

/// A server with built-in kinds only, and with RBAC.
#[derive(Clone)]
pub struct Plane {
    server: Server,
    /// The server's clock.
    pub clock: Clock,
    /// The server's source of random numbers.
    pub random: Random,
}

/// A request with its placeholders replaced.
#[derive(Debug, Default)]
pub struct Ask<'a> {
    /// The HTTP method.
    pub method: &'a str,
    /// Path and query.
    pub target: String,
    /// Headers that replace the default ones; an empty `Content-Type` or `Accept` removes it, `Authorization:
    /// none` sends no identity.
    pub headers: BTreeMap<String, String>,
    /// The request body.
    pub body: Option<Bytes>,
}

impl<'a> Ask<'a> {
    /// Creates a GET request.
    pub fn get(target: impl Into<String>) -> Self {
        Self { method: "GET", target: target.into(), ..Self::default() }
    }

    /// Creates a POST request with a JSON body.
    pub fn post(target: impl Into<String>, body: &Value) -> Self {
        Self { method: "POST", target: target.into(), body: Some(body.to_string().into()), ..Self::default() }
    }
}

impl Plane {
    /// Starts a server under tokio's clock, which must be paused.
    ///
    /// # Errors
    /// Fails if the registry cannot be opened.
    pub async fn start(seed: u64) -> Result<Self> {
        let epoch = machinery::clock::parse_rfc3339(EPOCH).context("the epoch is no time")?;
        let (clock, random) = (Clock::simulated(epoch), Random::seeded(seed));
        let store = Store::open(Memory::default(), clock.clone()).await?;
        let rbac = Rbac::new(store.clone());
        let tokens =
            Tokens::new(store.clone(), clock.clone(), random.clone(), pki::TokenKeys::generate(&random)?);
        let options =
            registry::Options { admission: vec![Arc::new(rbac.clone())], ..registry::Options::default() };
        let registry = Registry::open(store, clock.clone(), random.clone(), options).await;
        let registry = registry.map_err(|error| anyhow!("cannot open the registry: {error}"))?;
        let server = Server::builder(registry, clock.clone()).authorizer(rbac).tokens(tokens).build();
        Ok(Self { server, clock, random })
    }

    /// Sends a request as an administrator, or as the user of `impersonate`.
    ///
    /// # Errors
    /// Fails if the request is not valid HTTP, or there is no response in time.
    pub async fn send(
        &self,
        ask: Ask<'_>,
        impersonate: Option<&Impersonate>,
        values: &Values,
    ) -> Result<Response<Body>> {
        let mut request = Request::builder()
            .method(ask.method)
            .uri(escape_target(&ask.target))
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, AGENT)
            .body(Full::new(ask.body.clone().unwrap_or_default()))?;
        let headers = request.headers_mut();
        if let Some(body) = &ask.body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            headers.insert(CONTENT_LENGTH, body.len().into());
        }
        for (name, value) in &ask.headers {
            let name: HeaderName = name.parse()?;
            if value.is_empty() && [CONTENT_TYPE, ACCEPT].contains(&name) {
                headers.remove(name);
            } else {
                headers.insert(name, HeaderValue::from_str(value)?);
            }
        }
        if headers.get(AUTHORIZATION).is_some_and(|value| value == "none") {
            headers.remove(AUTHORIZATION);
        } else if !headers.contains_key(AUTHORIZATION) {
            request.extensions_mut().insert(User::master("conformance"));
        }
        add_impersonation(request.headers_mut(), impersonate, values)?;
        let answer = tokio::time::timeout(ANSWER_MAX, self.server.handle(request));
        answer.await.context("no answer in a minute")
    }

    /// Sends a request and parses the JSON of its response (null if empty).
    ///
    /// # Errors
    /// The errors of [`Plane::send`].
    pub async fn json(&self, ask: Ask<'_>) -> Result<(u16, Value)> {
        let answer = self.send(ask, None, &Values::new()).await?;
        let code = answer.status().as_u16();
        let body = answer.into_body().collect().await?.to_bytes();
        Ok((code, serde_json::from_slice(&body).unwrap_or_default()))
    }
}

fn add_impersonation(
    headers: &mut http::HeaderMap,
    impersonate: Option<&Impersonate>,
    values: &Values,
) -> Result<()> {
    let Some(impersonate) = impersonate else { return Ok(()) };
    let one = |text: &str| HeaderValue::from_str(&substitute::text(text, values));
    if !impersonate.user.is_empty() {
        headers.insert("impersonate-user", one(&impersonate.user)?);
    }
    if !impersonate.uid.is_empty() {
        headers.insert("impersonate-uid", one(&impersonate.uid)?);
    }
    for group in &impersonate.groups {
        headers.append("impersonate-group", one(group)?);
    }
    Ok(())
}

/// Escapes characters that are not allowed in a request line.
fn escape_target(target: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte);
    escape(target, plain)
}

/// Escapes a query parameter like a form.
pub fn escape_parameter(text: &str) -> String {
    escape(text, |byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte))
}

fn escape(text: &str, plain: impl Fn(u8) -> bool) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if plain(byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
