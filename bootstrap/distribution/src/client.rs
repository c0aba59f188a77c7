//! Sends requests to the endpoints of a registry in their order, with the credentials that each of them asks for.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, Uri, header};
use hyper::body::Incoming;
use machinery::clock::Clock;
use machinery::url::encode;
use net::Proxies;
use parking_lot::Mutex;
use serde::Deserialize;

use crate::body::{Body, Pace};
use crate::challenge::Challenge;
use crate::credentials::{Credentials, Login};
use crate::hosts::{Endpoint, Hosts};
use crate::limits;
use crate::retry::Failure;
use crate::transport::{Http, is_lasting, redirected};

/// A client of registries.
pub struct Client {
    hosts: Hosts,
    pub(crate) clock: Clock,
    pace: Pace,
    proxies: Arc<Proxies>,
    pub(crate) report: Report,
    clients: Mutex<HashMap<Vec<PathBuf>, Http>>,
}

/// Shows somebody a line about an attempt that failed and is repeated.
pub type Report = Arc<dyn Fn(&str) + Send + Sync>;

/// What is fetched of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Which manifest a tag means.
    Resolve,
    /// Content by its digest.
    Pull,
}

/// The requests to one repository. Tokens are kept as long as it.
pub struct Session<'a> {
    pub(crate) client: &'a Client,
    /// The registry and the path, for messages.
    pub(crate) repository: &'a str,
    path: &'a str,
    endpoints: Vec<Endpoint>,
    login: Option<&'a Login>,
    authorizations: Mutex<BTreeMap<String, HeaderValue>>,
}

/// The answer of a token service.
#[derive(Deserialize)]
struct Token {
    #[serde(default)]
    token: String,
    #[serde(default)]
    access_token: String,
}

impl Client {
    /// Returns a client with this configuration of registries, which reaches them through the proxies of this process's environment, and
    /// writes repeated attempts to the log.
    pub fn new(hosts: Hosts, clock: Clock) -> Self {
        let report: Report = Arc::new(|line| tracing::info!("{line}"));
        let (pace, proxies) = (Pace::default(), Proxies::of_process());
        Self { hosts, clock, pace, proxies, report, clients: Mutex::default() }
    }

    /// Returns a client that reaches registries through these proxies.
    #[must_use]
    pub fn with_proxies(self, proxies: Arc<Proxies>) -> Self {
        Self { proxies, ..self }
    }

    /// Returns a client that tells `report` about repeated attempts.
    #[must_use]
    pub fn with_report(self, report: Report) -> Self {
        Self { report, ..self }
    }

    /// Returns a client that gives up registries slower than this.
    pub fn with_pace(self, pace: Pace) -> Self {
        Self { pace, ..self }
    }

    /// Begins with the requests to a repository, for example `registry.example/team/image`.
    ///
    /// # Errors
    /// The configuration of the registry cannot be read.
    pub fn session<'a>(&'a self, repository: &'a str, credentials: &'a Credentials) -> Result<Session<'a>> {
        let (registry, path) = repository.split_once('/').context("the name has no registry")?;
        Ok(Session {
            client: self,
            repository,
            path,
            endpoints: self.hosts.endpoints(registry)?,
            login: credentials.find(repository),
            authorizations: Mutex::default(),
        })
    }

    fn http(&self, authorities: &[PathBuf]) -> Result<Http> {
        let mut clients = self.clients.lock();
        if let Some(known) = clients.get(authorities) {
            return Ok(known.clone());
        }
        let new = Http::new(authorities, self.proxies.clone())?;
        clients.insert(authorities.to_vec(), new.clone());
        Ok(new)
    }
}

impl Session<'_> {
    /// Gets a small document, and reads it whole. Silence and faults of a server are tried again.
    ///
    /// # Errors
    /// No endpoint has it, and the message has the answers of all; or it has more than `most` bytes.
    pub(crate) async fn read(
        &self,
        purpose: Purpose,
        path: &str,
        headers: &HeaderMap,
        most: u64,
    ) -> Result<(HeaderMap, Bytes)> {
        let read = async || {
            let answer = self.ask(purpose, path, headers).await?;
            let content = answer.body.whole(most).await?;
            Ok((answer.headers, content))
        };
        self.client.retried(read).await
    }

    /// Asks once for `path` of the repository: the first endpoint that has it answers.
    pub(crate) async fn ask(
        &self,
        purpose: Purpose,
        path: &str,
        headers: &HeaderMap,
    ) -> Result<Answer, Failure> {
        let (mut errors, mut is_passing) = (Vec::new(), false);
        let allowed = self.endpoints.iter().filter(|endpoint| match purpose {
            Purpose::Resolve => endpoint.resolves,
            Purpose::Pull => endpoint.pulls,
        });
        for endpoint in allowed {
            let url = self.url(endpoint, path);
            match self.once(endpoint, &url, headers).await {
                // One that is not satisfiable: the whole of a blob is there already.
                Ok(answer)
                    if answer.status().is_success()
                        || answer.status() == StatusCode::RANGE_NOT_SATISFIABLE =>
                {
                    let (head, body) = answer.into_parts();
                    let body = Body::new(url, body, self.client.pace);
                    return Ok(Answer { status: head.status, headers: head.headers, body });
                }
                Ok(answer) => {
                    let status = answer.status();
                    is_passing |= status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
                    let reason = self.reason(answer).await;
                    errors.push(anyhow!("{url}: {status}{reason}"));
                }
                Err(error) => {
                    is_passing |= !is_lasting(&error);
                    errors.push(error);
                }
            }
        }
        if errors.is_empty() {
            errors.push(anyhow!("no mirror of {} may be asked", self.repository));
        }
        let texts: Vec<String> = errors.iter().map(|error| format!("{error:#}")).collect();
        // The only one keeps its causes, by which a caller knows what to do.
        let only = if errors.len() == 1 { errors.pop() } else { None };
        let error = only.unwrap_or_else(|| anyhow!(texts.join("; ")));
        Err(if is_passing { Failure::Passing(error) } else { Failure::Lasting(error) })
    }

    fn url(&self, endpoint: &Endpoint, path: &str) -> String {
        let url = format!("{}/{}/{path}", endpoint.base, self.path);
        match &endpoint.mirrors {
            Some(registry) if url.contains('?') => format!("{url}&ns={registry}"),
            Some(registry) => format!("{url}?ns={registry}"),
            None => url,
        }
    }

    async fn once(&self, endpoint: &Endpoint, url: &str, sent: &HeaderMap) -> Result<Response<Incoming>> {
        let http = self.client.http(&endpoint.authorities)?;
        let known = self.known(&endpoint.base);
        let answer = http.get(url, sent, known.as_ref()).await?;
        if answer.status() != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        let mut headers = answer.headers().get_all(header::WWW_AUTHENTICATE).iter();
        let challenge = headers.find_map(|header| Challenge::parse(header.to_str().ok()?));
        let Some(challenge) = challenge else { return Ok(answer) };
        let Some(new) = self.authorization(&http, endpoint, challenge).await? else { return Ok(answer) };
        self.remember(&endpoint.base, &new);
        http.get(url, sent, Some(&new)).await
    }

    fn remember(&self, base: &str, authorization: &HeaderValue) {
        self.authorizations.lock().insert(base.to_owned(), authorization.clone());
    }

    fn known(&self, base: &str) -> Option<HeaderValue> {
        self.authorizations.lock().get(base).cloned()
    }

    /// Returns what the registry wants to see, if there is something to show. The credentials are those of the registry, and no mirror sees
    /// them.
    async fn authorization(
        &self,
        http: &Http,
        endpoint: &Endpoint,
        challenge: Challenge,
    ) -> Result<Option<HeaderValue>> {
        let login = self.login.filter(|_| endpoint.mirrors.is_none());
        match challenge {
            Challenge::Basic => login.map(basic).transpose(),
            Challenge::Bearer { realm, service, scope } => {
                let base: Uri = endpoint.base.parse()?;
                let realm = redirected(&base, &realm).context("the address of the token service")?;
                let scope = scope.unwrap_or_else(|| format!("repository:{}:pull", self.path));
                let mut url = format!("{realm}{}scope={}", separator(&realm), encode(&scope));
                if let Some(service) = service {
                    url.push_str(&format!("&service={}", encode(&service)));
                }
                let own = login.map(basic).transpose()?;
                let answer = http.get(&url, &HeaderMap::new(), own.as_ref()).await?;
                let status = answer.status();
                if !status.is_success() {
                    let reason = self.reason(answer).await;
                    bail!("{url}: {status}{reason}");
                }
                let text = self.small_body(answer).await?;
                let found: Token =
                    serde_json::from_slice(&text).context("the token service gave no token")?;
                let token = if found.token.is_empty() { found.access_token } else { found.token };
                Ok(Some(secret(&format!("Bearer {token}"))?))
            }
        }
    }

    /// What a registry says about a failure, with a colon in front.
    async fn reason(&self, answer: Response<Incoming>) -> String {
        let Ok(text) = self.small_body(answer).await else { return String::new() };
        let Ok(body) = serde_json::from_slice::<serde_json::Value>(&text) else { return String::new() };
        let message = body.pointer("/errors/0/message").and_then(serde_json::Value::as_str);
        message.map(|message| format!(": {message}")).unwrap_or_default()
    }

    async fn small_body(&self, answer: Response<Incoming>) -> Result<Bytes> {
        let body = Body::new(self.repository.to_owned(), answer.into_body(), self.client.pace);
        Ok(body.whole(limits::ANSWER).await?)
    }
}

/// An answer with content.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
}

fn separator(uri: &Uri) -> char {
    if uri.query().is_some() { '&' } else { '?' }
}

fn basic(login: &Login) -> Result<HeaderValue> {
    secret(&format!("Basic {}", STANDARD.encode(format!("{}:{}", login.user, login.password))))
}

fn secret(text: &str) -> Result<HeaderValue> {
    let mut value = HeaderValue::from_str(text).map_err(|_| anyhow!("the credentials cannot be sent"))?;
    value.set_sensitive(true);
    Ok(value)
}
