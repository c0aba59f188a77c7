//! Connections to a server, and requests as an attacker sends them: with any header, body or path.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bytes::{Bytes, BytesMut};
use http::{HeaderName, HeaderValue, Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use machinery::clock::Clock;
use pki::Identity;
use pki::kubeconfig::Kubeconfig;
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{PrivateKeyDer, ServerName};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Limit for a response. It only bounds the run; no check depends on it.
const PATIENCE: Duration = Duration::from_secs(120);

/// Address of a server, and the authority of its certificate.
#[derive(Clone)]
pub struct Endpoint {
    address: SocketAddr,
    authority: String,
}

impl Endpoint {
    /// Reads server and identity from a kubeconfig.
    pub fn of(kubeconfig: &str) -> Result<(Self, Identity)> {
        let kubeconfig = Kubeconfig::parse(kubeconfig)?;
        let address = kubeconfig.server.trim_start_matches("https://").parse().context("an address")?;
        let identity = kubeconfig.credentials.identity.context("a client certificate")?;
        Ok((Self { address, authority: kubeconfig.authority }, identity))
    }

    /// Returns the TLS settings of a client.
    pub fn tls(&self, identity: Option<&Identity>, protocol: &str) -> Result<Arc<ClientConfig>> {
        Ok(Arc::new(pki::tls::client_config(&self.authority, identity, &[protocol], &Clock::system())?))
    }

    /// Opens a TCP connection from the address 127.0.0.`from` of this machine.
    pub async fn socket(&self, from: u8) -> Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((Ipv4Addr::new(127, 0, 0, from), 0).into())?;
        let stream = socket.connect(self.address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// Opens a TLS connection.
    pub async fn connect(&self, tls: Arc<ClientConfig>, from: u8) -> Result<TlsStream<TcpStream>> {
        let name = ServerName::from(self.address.ip());
        Ok(TlsConnector::from(tls).connect(name, self.socket(from).await?).await?)
    }

    /// Returns a client with a token, or an anonymous one.
    pub fn caller(&self, token: Option<&str>) -> Result<Caller> {
        Ok(self.caller_with(self.tls(None, "http/1.1")?, token))
    }

    /// Returns a client with a certificate.
    pub fn certified(&self, identity: &Identity) -> Result<Caller> {
        Ok(self.caller_with(self.tls(Some(identity), "http/1.1")?, None))
    }

    /// Returns the TLS settings of a client that speaks only this version, and remembers its sessions.
    pub fn tls_of(
        &self,
        identity: &Identity,
        version: &'static SupportedProtocolVersion,
    ) -> Result<Arc<ClientConfig>> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(pki::certificates(&self.authority)?);
        let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes())?;
        let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(&[version])?
            .with_root_certificates(roots)
            .with_client_auth_cert(pki::certificates(&identity.certificate)?, key)?;
        Ok(Arc::new(config))
    }

    /// Returns a client over a connection that is open already.
    pub async fn caller_over(&self, tls: Arc<ClientConfig>, stream: TlsStream<TcpStream>) -> Result<Caller> {
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection.with_upgrades());
        Ok(Caller { sender: Some(sender), ..self.caller_with(tls, None) })
    }

    /// Returns a client with these TLS settings and a token, if there is one.
    pub fn caller_with(&self, tls: Arc<ClientConfig>, token: Option<&str>) -> Caller {
        Caller { endpoint: self.clone(), tls, token: token.map(str::to_owned), from: 1, sender: None }
    }
}

/// A request to be sent.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// The HTTP method.
    pub method: Method,
    /// Path and query, exactly as sent.
    pub target: String,
    /// Headers besides `Host` and the caller's own `Authorization`.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The request body.
    pub body: Bytes,
    /// How long to read a stream; `None` to read to its end.
    pub listen: Option<Duration>,
}

impl Ask {
    /// Creates a request without a body.
    pub fn new(method: Method, target: impl Into<String>) -> Self {
        Self { method, target: target.into(), ..Self::default() }
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Sets a body of this content type.
    pub fn body(mut self, content_type: &str, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self.header("content-type", content_type)
    }

    fn request(&self, token: Option<&str>) -> Result<Request<Full<Bytes>>> {
        let mut request = Request::builder().method(self.method.clone()).uri(self.target.as_str());
        let headers =
            request.headers_mut().with_context(|| format!("no request target: {:?}", self.target))?;
        headers.insert("host", HeaderValue::from_static("kubernetes"));
        if let Some(token) = token {
            headers.insert("authorization", HeaderValue::from_str(&format!("Bearer {token}"))?);
        }
        for (name, value) in &self.headers {
            headers.append(HeaderName::from_bytes(name.as_bytes())?, HeaderValue::from_bytes(value)?);
        }
        Ok(request.body(Full::new(self.body.clone()))?)
    }
}

/// A response.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub code: u16,
    /// The body, as far as it was read.
    pub body: Bytes,
}

impl Answer {
    /// Returns whether the status code is 2xx.
    pub fn is_done(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// Returns whether the body contains `text`.
    pub fn holds(&self, text: &str) -> bool {
        self.body.windows(text.len()).any(|part| part == text.as_bytes())
    }

    /// Returns the body as JSON; null if it is not JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Returns the beginning of the body, for a report.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).chars().take(300).collect()
    }
}

/// A client that sends one request after the other, over one connection while it lasts.
pub struct Caller {
    endpoint: Endpoint,
    tls: Arc<ClientConfig>,
    token: Option<String>,
    from: u8,
    sender: Option<SendRequest<Full<Bytes>>>,
}

impl Clone for Caller {
    /// Clones the identity; the clone opens its own connection.
    fn clone(&self) -> Self {
        let Self { endpoint, tls, token, from, sender: _ } = self;
        Self { endpoint: endpoint.clone(), tls: tls.clone(), token: token.clone(), from: *from, sender: None }
    }
}

impl Caller {
    /// Sends a request and returns the response. A connection that the server closed is reopened once.
    ///
    /// # Errors
    /// Fails if there is no response on a new connection either, or if the request cannot be encoded.
    pub async fn send(&mut self, ask: &Ask) -> Result<Answer> {
        let is_fresh = self.sender.is_none();
        match self.attempt(ask).await {
            Err(_) if !is_fresh => self.attempt(ask).await,
            outcome => outcome,
        }
        .with_context(|| format!("{} {:.200}", ask.method, ask.target))
    }

    /// Sends a request and returns the response. A connection that the server closed is not reopened.
    ///
    /// # Errors
    /// Fails if there is no response, or if the request cannot be encoded.
    pub async fn attempt(&mut self, ask: &Ask) -> Result<Answer> {
        let request = ask.request(self.token.as_deref())?;
        let outcome = tokio::time::timeout(PATIENCE, self.exchange(request, ask.listen)).await;
        match outcome.context("no answer").flatten() {
            Ok((answer, true)) => Ok(answer),
            Ok((answer, false)) => {
                self.sender = None;
                Ok(answer)
            }
            Err(error) => {
                self.sender = None;
                Err(error)
            }
        }
    }

    /// Returns the response, and whether it was read to its end.
    async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
        listen: Option<Duration>,
    ) -> Result<(Answer, bool)> {
        if self.sender.as_ref().is_none_or(SendRequest::is_closed) {
            let stream = self.endpoint.connect(self.tls.clone(), self.from).await?;
            let (sender, connection) = handshake(TokioIo::new(stream)).await?;
            tokio::spawn(connection.with_upgrades());
            self.sender = Some(sender);
        }
        let sender = self.sender.as_mut().context("connected above")?;
        sender.ready().await?;
        let response = sender.send_request(request).await?;
        let (head, mut stream) = response.into_parts();
        let mut body = BytesMut::new();
        let read = async {
            while let Some(frame) = stream.frame().await {
                if let Ok(data) = frame?.into_data() {
                    body.extend_from_slice(&data);
                }
            }
            anyhow::Ok(())
        };
        let is_whole = match listen {
            None => read.await.map(|()| true)?,
            Some(limit) => tokio::time::timeout(limit, read).await.is_ok_and(|read| read.is_ok()),
        };
        Ok((Answer { code: head.status.as_u16(), body: body.freeze() }, is_whole))
    }

    /// Returns the object or collection at `path`.
    pub async fn get(&mut self, path: &str) -> Result<serde_json::Value> {
        let answer = self.send(&Ask::new(Method::GET, path)).await?;
        ensure!(answer.code == 200, "GET {path}: {} {}", answer.code, answer.text());
        Ok(answer.json())
    }

    /// Creates an object and returns the response.
    pub async fn post(&mut self, path: &str, object: &serde_json::Value) -> Result<serde_json::Value> {
        let ask = Ask::new(Method::POST, path).body("application/json", object.to_string());
        let answer = self.send(&ask).await?;
        ensure!(answer.is_done(), "POST {path}: {} {}", answer.code, answer.text());
        Ok(answer.json())
    }
}
