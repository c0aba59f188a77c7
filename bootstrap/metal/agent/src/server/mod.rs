//! The agent's client of the server.

pub mod trust;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use agent_protocol::{Challenge, ConfigDrive, Endorsement, Enrolled, Enrolment, Instruction, Report};
use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{Method, Request, StatusCode};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use trust::{Identity, authorities, client_config, image_client_config};

/// The largest answer that the agent reads, in bytes. A configuration drive holds at most 64 MiB.
const ANSWER_BYTES_MAX: usize = 96 << 20;
/// The timeout of a request that is answered at once.
const ANSWER_TIME: Duration = Duration::from_secs(20);
/// The timeout of a request that the server holds for 30 s if there is nothing new.
const LONG_ANSWER_TIME: Duration = Duration::from_secs(60);
/// The timeout of establishing a connection.
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// The HTTP client of the agent.
pub type Https = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// Returns an HTTP client that uses the local address `from`, if it is given.
pub fn https(config: ClientConfig, from: Option<IpAddr>) -> Https {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(CONNECT_TIME));
    connector.set_keepalive(Some(Duration::from_secs(15)));
    connector.set_local_address(from);
    let connector = hyper_rustls::HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_or_http()
        .enable_http1()
        .wrap_connector(connector);
    Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(connector)
}

/// The server at one of its URLs.
#[derive(Clone)]
pub struct Server {
    base: String,
    client: Https,
}

/// The reason why a request failed.
#[derive(Debug)]
pub enum Refusal {
    /// The server does not know this machine: the agent must enrol again.
    Unknown,
    /// Any other error.
    Other(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

impl Server {
    /// Returns the server at `base` (`https://ADDRESS:PORT`), which is asked from the address `from` with this machine's certificate.
    pub fn new(base: &str, config: &Arc<ClientConfig>, from: Option<IpAddr>) -> Self {
        Self { base: base.trim_end_matches('/').to_owned(), client: https(ClientConfig::clone(config), from) }
    }

    /// Returns the URL of the server.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Enrols this machine.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses the machine; the message contains the server's answer.
    pub async fn enrol(&self, enrolment: &Enrolment) -> Result<Enrolled> {
        let answer = self.ask(Method::POST, "/agent/v1/enrol", Some(enrolment), ANSWER_TIME).await;
        match answer {
            Ok((_, body)) => serde_json::from_slice(&body)
                .with_context(|| format!("{}: an answer to the enrolment that is none", self.base)),
            Err(Refusal::Unknown) => bail!("{} refuses this machine's certificate", self.base),
            Err(Refusal::Other(error)) => Err(error),
        }
    }

    /// Requests a challenge for the TPM with this endorsement key.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses the key.
    pub async fn challenge(&self, key: &Endorsement) -> Result<Challenge> {
        match self.ask(Method::POST, "/agent/v1/challenge", Some(key), ANSWER_TIME).await {
            Ok((_, body)) => serde_json::from_slice(&body)
                .with_context(|| format!("{}: an answer that is no challenge", self.base)),
            Err(Refusal::Unknown) => bail!("{} refuses this machine's certificate", self.base),
            Err(Refusal::Other(error)) => Err(error),
        }
    }

    /// Returns the instruction after `after`; `None` if there is none yet.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses the request.
    pub async fn instruction(&self, after: Option<&str>) -> Result<Option<Instruction>, Refusal> {
        let plain = |c: &char| c.is_ascii_alphanumeric() || "-._~".contains(*c);
        let query: String = after.unwrap_or_default().chars().filter(plain).collect();
        self.get(&format!("/agent/v1/instruction?after={query}"), LONG_ANSWER_TIME).await
    }

    /// Returns the files of the configuration drive; `None` if the host has none.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses the request.
    pub async fn config_drive(&self) -> Result<Option<ConfigDrive>, Refusal> {
        self.get("/agent/v1/config-drive", ANSWER_TIME).await
    }

    /// Sends a report.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses the report.
    pub async fn report(&self, report: &Report) -> Result<(), Refusal> {
        self.ask(Method::POST, "/agent/v1/report", Some(report), ANSWER_TIME).await.map(|_| ())
    }

    async fn get<T: DeserializeOwned>(&self, path: &str, time: Duration) -> Result<Option<T>, Refusal> {
        let (status, body) = match self.ask(Method::GET, path, None::<&()>, time).await {
            Ok(answer) => answer,
            Err(refusal) => return Err(refusal),
        };
        if matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_FOUND) {
            return Ok(None);
        }
        let read = serde_json::from_slice(&body)
            .with_context(|| format!("{}{path}: an answer that is no JSON of this version", self.base))?;
        Ok(Some(read))
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
        time: Duration,
    ) -> Result<(StatusCode, Bytes), Refusal> {
        let place = format!("{}{}", self.base, path.split('?').next().unwrap_or_default());
        let body = body.map(serde_json::to_vec).transpose()?.unwrap_or_default();
        let request = Request::builder()
            .method(method.clone())
            .uri(format!("{}{path}", self.base))
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body)))?;
        let answer = async {
            let response =
                self.client.request(request).await.with_context(|| format!("{place} cannot be reached"))?;
            let status = response.status();
            let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
            let body = body.map_err(|error| anyhow::anyhow!("{place}: the answer broke off: {error}"))?;
            anyhow::Ok((status, body.to_bytes()))
        };
        let answer = tokio::time::timeout(time, answer).await;
        let (status, body) =
            answer.with_context(|| format!("{place}: no answer in {} s", time.as_secs()))??;
        match status {
            StatusCode::UNAUTHORIZED => Err(Refusal::Unknown),
            StatusCode::NOT_FOUND if method == Method::GET => Ok((status, body)),
            status if status.is_success() => Ok((status, body)),
            status => {
                let said: String =
                    String::from_utf8_lossy(&body).chars().filter(|c| !c.is_control()).take(300).collect();
                Err(Refusal::Other(anyhow::anyhow!("{place}: {status}: {said}")))
            }
        }
    }
}
