//! Accepts connections and passes their requests to a [`Server`].

use std::future::Future;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use access::certificate::{Authorities, ClientCertificate, InvalidCertificate};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use net::{Acceptor, accept_tls};
use parking_lot::RwLock;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::body::Body;
use super::coalesce::{Coalesced, Coalescer};
use super::connections::{Connection, Connections, Presence, Verdict};
use crate::limits;
use crate::request::handle;
use crate::server::Server;

/// The TLS configuration of a listener. It can be replaced while the listener serves, for renewed
/// certificates.
#[derive(Clone)]
pub struct Tls {
    config: Arc<RwLock<Arc<ServerConfig>>>,
    authorities: Arc<Authorities>,
}

impl Tls {
    /// Creates the TLS settings from `config`; the ALPN protocols are set here.
    pub fn new(config: ServerConfig) -> Self {
        Self { config: Arc::new(RwLock::new(with_protocols(config))), authorities: Arc::default() }
    }

    /// Lets no client certificate count longer than its authority, which is one of these.
    #[must_use]
    pub fn with_authorities(self, authorities: Authorities) -> Self {
        Self { authorities: Arc::new(authorities), ..self }
    }

    /// Uses `config` for new connections; existing ones keep their configuration.
    pub fn replace(&self, config: ServerConfig) {
        *self.config.write() = with_protocols(config);
    }

    /// Returns the configuration for the next connection.
    pub(crate) fn current(&self) -> Arc<ServerConfig> {
        self.config.read().clone()
    }
}

fn with_protocols(mut config: ServerConfig) -> Arc<ServerConfig> {
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Arc::new(config)
}

/// Serves connections, with or without TLS.
#[derive(Clone)]
pub struct Listener {
    server: Server,
    tls: Option<Tls>,
    /// Cancelled when connections must end after their current request.
    closing: CancellationToken,
    http: Arc<auto::Builder<TokioExecutor>>,
    connections: Connections,
}

/// Interval and time-out of HTTP/2 pings; a peer that does not answer is gone.
const PING_EVERY: Duration = Duration::from_secs(30);

impl Listener {
    /// Creates a listener for `server`. Without TLS every request is anonymous, unless the server's
    /// authenticator decides otherwise.
    pub fn new(server: Server, tls: Option<Tls>) -> Self {
        let mut http = auto::Builder::new(TokioExecutor::new());
        http.http1()
            .timer(TokioTimer::new())
            .header_read_timeout(limits::HEADERS)
            .max_buf_size(limits::HEADER_BYTES)
            .max_headers(limits::HEADER_COUNT);
        http.http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(limits::HTTP2_STREAMS)
            .max_header_list_size(limits::HEADER_LIST_BYTES)
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_EVERY);
        Self {
            server,
            tls,
            closing: CancellationToken::new(),
            http: Arc::new(http),
            connections: Connections::default(),
        }
    }

    /// Accepts connections until `shutdown` completes. Then watches end at once, and other requests in flight
    /// may take `limits::SHUTDOWN`.
    pub async fn serve(&self, tcp: TcpListener, shutdown: impl Future<Output = ()>) {
        let mut shutdown = pin!(shutdown);
        let mut tasks = JoinSet::new();
        // A connection that is closed makes room for another open file.
        let shed = || {
            if self.connections.shed() {
                self.reached("open_files");
            }
        };
        let mut acceptor = Acceptor::new(&tcp);
        loop {
            let (stream, peer) = tokio::select! {
                biased;
                () = &mut shutdown => break,
                accepted = acceptor.next(shed) => accepted,
                Some(_) = tasks.join_next() => continue,
            };
            let listener = self.clone();
            tasks.spawn(async move { listener.serve_peer(stream, Some(peer.ip())).await });
        }
        drop(tcp);
        self.close();
        let drained = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(limits::SHUTDOWN, drained).await.is_err() {
            self.server.services.metrics.limit("shutdown");
            tracing::warn!("requests in flight were cut off");
        }
    }

    /// Ends watches at once, and connections after their current request.
    pub fn close(&self) {
        self.server.stop();
        self.closing.cancel();
    }

    /// Serves one connection of any transport until either side closes it. At the limit, this or another
    /// connection is closed.
    pub async fn serve_stream<S>(&self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        self.serve_peer(stream, None).await;
    }

    /// Like [`Self::serve_stream`], for a connection from this address.
    async fn serve_peer<S>(&self, stream: S, peer: Option<IpAddr>)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let (connection, full) = self.connections.enter(peer, self.server.services.clock.monotonic());
        if let Some(limit) = full {
            self.reached(limit);
        }
        tokio::select! {
            biased;
            () = connection.ended() => tracing::debug!(?peer, "closed, since others need the place"),
            () = self.handshake(stream, &connection, peer) => {}
        }
    }

    async fn handshake<S>(&self, stream: S, connection: &Connection, peer: Option<IpAddr>)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let stream = Coalescer::new(stream, self.server.services.clock.clone());
        let coalescer = stream.handle();
        let Some(tls) = &self.tls else {
            return self.serve_http(stream, coalescer, connection, None).await;
        };
        let late = || self.reached("handshake");
        let handshake = accept_tls(stream, tls.current(), peer, limits::HANDSHAKE, late);
        if let Some(Some(stream)) = self.closing.run_until_cancelled(handshake).await {
            let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
            let chain = chain.iter().map(|certificate| &**certificate);
            let certificate = ClientCertificate::read(chain, &tls.authorities);
            self.serve_http(stream, coalescer, connection, certificate).await;
        }
    }

    /// Serves HTTP on `stream`, which writes to `coalescer`.
    async fn serve_http<S, G>(
        &self,
        stream: S,
        coalescer: Coalescer<G>,
        connection: &Connection,
        certificate: Option<ClientCertificate>,
    ) where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
        G: AsyncWrite + Unpin,
    {
        let (server, presence) = (self.server.clone(), connection.presence());
        if let Some(certificate) = certificate.as_ref().filter(|found| found.is_valid(&server.services.clock))
        {
            handle::signed_in(&server.services.metrics, &presence, &certificate.user);
        }
        let service = service_fn(move |request: Request<Incoming>| {
            answer(server.clone(), presence.clone(), certificate.clone(), request)
        });
        let http = self.http.serve_connection_with_upgrades(TokioIo::new(stream), service);
        let mut http = Coalesced::new(coalescer.handle(), http);
        let verdict = tokio::select! {
            biased;
            () = self.closing.cancelled() => Verdict::Idle,
            ended = &mut http => return self.note_end(ended),
            verdict = self.watch_over(connection, &coalescer) => verdict,
        };
        if verdict == Verdict::Stalled {
            return;
        }
        http.connection().graceful_shutdown();
        loop {
            let before = coalescer.sent();
            if let Ok(ended) = tokio::time::timeout(limits::QUIET, &mut http).await {
                return self.note_end(ended);
            }
            if !connection.is_answering() && coalescer.sent() - before < limits::QUIET_BYTES {
                return;
            }
        }
    }

    /// Waits until the connection must end, and returns the reason.
    async fn watch_over<G>(&self, connection: &Connection, coalescer: &Coalescer<G>) -> Verdict {
        let clock = &self.server.services.clock;
        loop {
            match connection.verdict(clock.monotonic(), coalescer.unsent()) {
                Verdict::Later(time) => clock.sleep(time).await,
                verdict => {
                    self.reached(if verdict == Verdict::Stalled { "stalled" } else { "idle" });
                    return verdict;
                }
            }
        }
    }

    fn note_end(&self, ended: Result<(), Box<dyn std::error::Error + Send + Sync>>) {
        let Err(error) = ended else { return };
        if let Some(error) = error.downcast_ref::<hyper::Error>() {
            if error.is_timeout() {
                self.reached("headers");
            } else if error.is_parse_too_large() {
                self.reached("header_bytes");
            }
        }
        tracing::debug!(%error, "connection");
    }

    fn reached(&self, limit: &'static str) {
        self.server.services.metrics.limit(limit);
    }
}

/// Answers one request of a connection, and records its progress in `presence`.
async fn answer(
    server: Server,
    presence: Presence,
    certificate: Option<ClientCertificate>,
    mut request: Request<Incoming>,
) -> Result<Response<Body>, std::convert::Infallible> {
    let clock = server.services.clock.clone();
    let answering = presence.clone().begin(clock.monotonic());
    let is_valid = certificate.as_ref().is_some_and(|certificate| certificate.is_valid(&clock));
    match certificate {
        Some(certificate) if is_valid => drop(request.extensions_mut().insert(certificate.user)),
        // The request may authenticate the connection by other means.
        invalid => {
            request.extensions_mut().insert(presence);
            if invalid.is_some() {
                request.extensions_mut().insert(InvalidCertificate);
            }
        }
    }
    let response = server.handle(request).await;
    let sending = answering.send(clock.monotonic());
    Ok(response.map(|body| body.noted(sending, clock)))
}
