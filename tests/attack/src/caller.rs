//! Connections to a server, and requests over them as an attacker writes them: any header, any body, any path.

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
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// How long an answer may take. Nothing is judged by it but that there is one.
const PATIENCE: Duration = Duration::from_secs(120);

/// Where a server listens, and how its certificate is known.
#[derive(Clone)]
pub struct Door {
    address: SocketAddr,
    authority: String,
}

impl Door {
    /// The server of a kubeconfig, with the identity that stands there.
    pub fn of(kubeconfig: &str) -> Result<(Self, Identity)> {
        let kubeconfig = Kubeconfig::parse(kubeconfig)?;
        let address = kubeconfig.server.trim_start_matches("https://").parse().context("an address")?;
        Ok((Self { address, authority: kubeconfig.authority }, kubeconfig.identity))
    }

    /// The settings of TLS with which somebody comes.
    pub fn tls(&self, identity: Option<&Identity>, protocol: &str) -> Result<Arc<ClientConfig>> {
        Ok(Arc::new(pki::tls::client_config(&self.authority, identity, &[protocol], &Clock::system())?))
    }

    /// A connection before any byte, from the address 127.0.0.`from` of this machine.
    pub async fn socket(&self, from: u8) -> Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((Ipv4Addr::new(127, 0, 0, from), 0).into())?;
        let stream = socket.connect(self.address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// A connection after the handshake.
    pub async fn connect(&self, tls: Arc<ClientConfig>, from: u8) -> Result<TlsStream<TcpStream>> {
        let name = ServerName::from(self.address.ip());
        Ok(TlsConnector::from(tls).connect(name, self.socket(from).await?).await?)
    }

    /// Somebody with a token, or nobody.
    pub fn caller(&self, token: Option<&str>) -> Result<Caller> {
        Ok(self.caller_with(self.tls(None, "http/1.1")?, token))
    }

    /// Somebody with a certificate.
    pub fn certified(&self, identity: &Identity) -> Result<Caller> {
        Ok(self.caller_with(self.tls(Some(identity), "http/1.1")?, None))
    }

    fn caller_with(&self, tls: Arc<ClientConfig>, token: Option<&str>) -> Caller {
        Caller { door: self.clone(), tls, token: token.map(str::to_owned), from: 1, sender: None }
    }
}

/// A request.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// The method.
    pub method: Method,
    /// Path and query, as they go over the wire.
    pub target: String,
    /// Headers beside `Host` and the caller's own `Authorization`.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body.
    pub body: Bytes,
    /// How long a stream is listened to; until its end where nothing is said.
    pub listen: Option<Duration>,
}

impl Ask {
    /// A request without a body.
    pub fn new(method: Method, target: impl Into<String>) -> Self {
        Self { method, target: target.into(), ..Self::default() }
    }

    /// With a header.
    pub fn header(mut self, name: &str, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// With a body of this type.
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

/// What came back.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub code: u16,
    /// The body, as far as it was listened to.
    pub body: Bytes,
}

impl Answer {
    /// Whether it was done.
    pub fn is_done(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// Whether the body holds `text`.
    pub fn holds(&self, text: &str) -> bool {
        self.body.windows(text.len()).any(|part| part == text.as_bytes())
    }

    /// The body as JSON; null where it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The beginning of the body, for a report.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).chars().take(300).collect()
    }
}

/// Somebody who asks, one request after the other over one connection while it lasts.
pub struct Caller {
    door: Door,
    tls: Arc<ClientConfig>,
    token: Option<String>,
    from: u8,
    sender: Option<SendRequest<Full<Bytes>>>,
}

impl Clone for Caller {
    /// The same identity over a connection of its own.
    fn clone(&self) -> Self {
        let Self { door, tls, token, from, sender: _ } = self;
        Self { door: door.clone(), tls: tls.clone(), token: token.clone(), from: *from, sender: None }
    }
}

impl Caller {
    /// The answer to a request. A connection that the server has ended is made again, once.
    ///
    /// # Errors
    /// Nobody answers, also not over a new connection, or the request can't be written.
    pub async fn send(&mut self, ask: &Ask) -> Result<Answer> {
        let is_fresh = self.sender.is_none();
        match self.attempt(ask).await {
            Err(_) if !is_fresh => self.attempt(ask).await,
            outcome => outcome,
        }
        .with_context(|| format!("{} {:.200}", ask.method, ask.target))
    }

    async fn attempt(&mut self, ask: &Ask) -> Result<Answer> {
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

    /// The answer, and whether it was read to its end.
    async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
        listen: Option<Duration>,
    ) -> Result<(Answer, bool)> {
        if self.sender.as_ref().is_none_or(SendRequest::is_closed) {
            let stream = self.door.connect(self.tls.clone(), self.from).await?;
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

    /// The object at `path`, or the collection.
    pub async fn get(&mut self, path: &str) -> Result<serde_json::Value> {
        let answer = self.send(&Ask::new(Method::GET, path)).await?;
        ensure!(answer.code == 200, "GET {path}: {} {}", answer.code, answer.text());
        Ok(answer.json())
    }

    /// Makes an object and gives back what was made.
    pub async fn post(&mut self, path: &str, object: &serde_json::Value) -> Result<serde_json::Value> {
        let ask = Ask::new(Method::POST, path).body("application/json", object.to_string());
        let answer = self.send(&ask).await?;
        ensure!(answer.is_done(), "POST {path}: {} {}", answer.code, answer.text());
        Ok(answer.json())
    }
}
