//! Takes connections and feeds their requests to a [`Server`].

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use access::{User, certificate};
use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use parking_lot::RwLock;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::gather::{Gather, Gathered};
use crate::limits;
use crate::server::Server;

/// The TLS configuration of a listener, which can be replaced while it serves (renewed certificates).
#[derive(Clone)]
pub struct Tls(Arc<RwLock<Arc<ServerConfig>>>);

impl Tls {
    /// TLS with this configuration. Which protocols are offered (ALPN) is set here.
    pub fn new(config: ServerConfig) -> Self {
        Self(Arc::new(RwLock::new(with_protocols(config))))
    }

    /// New connections use `config`; those that exist go on as they are.
    pub fn replace(&self, config: ServerConfig) {
        *self.0.write() = with_protocols(config);
    }

    /// The configuration for the next connection.
    pub fn current(&self) -> Arc<ServerConfig> {
        self.0.read().clone()
    }
}

fn with_protocols(mut config: ServerConfig) -> Arc<ServerConfig> {
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Arc::new(config)
}

/// Serves connections, with TLS or without.
#[derive(Clone)]
pub struct Listener {
    server: Server,
    tls: Option<Tls>,
    /// Cancelled when connections shall end after the request that they are at.
    closing: CancellationToken,
    http: Arc<auto::Builder<TokioExecutor>>,
    connections: Arc<Semaphore>,
}

/// How long to wait before the next try when the system refuses connections.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);
/// HTTP/2 peers that do not answer a ping for so long are gone.
const PING_EVERY: Duration = Duration::from_secs(30);

impl Listener {
    /// A listener for `server`. Without TLS every request is anonymous, unless the server's authenticator says otherwise.
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
            connections: Arc::new(Semaphore::new(limits::CONNECTIONS)),
        }
    }

    /// Accepts connections until `shutdown` is done. Then watches end at once, and other requests in flight may take
    /// [`limits::SHUTDOWN`].
    pub async fn serve(&self, tcp: TcpListener, shutdown: impl Future<Output = ()>) {
        let mut shutdown = pin!(shutdown);
        let mut tasks = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut shutdown => break,
                accepted = tcp.accept() => accepted,
                Some(_) = tasks.join_next() => continue,
            };
            match accepted {
                Ok((stream, _)) => {
                    // Without it small answers wait for the client's acknowledgement. An error means it is gone.
                    let _ = stream.set_nodelay(true);
                    let listener = self.clone();
                    tasks.spawn(async move { listener.serve_stream(stream).await });
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    self.server.shared.clock.sleep(ACCEPT_AGAIN).await;
                }
            }
        }
        drop(tcp);
        self.close();
        let drained = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(limits::SHUTDOWN, drained).await.is_err() {
            self.server.shared.metrics.limit("shutdown");
            tracing::warn!("requests in flight were cut off");
        }
    }

    /// Ends watches, and connections after the request that they are at.
    pub fn close(&self) {
        self.server.stop();
        self.closing.cancel();
    }

    /// Serves one connection, however it was made, until either side closes it. A connection above
    /// [`limits::CONNECTIONS`] is closed at once.
    pub async fn serve_stream<S>(&self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let Ok(_permit) = self.connections.try_acquire() else {
            self.server.shared.metrics.limit("connections");
            tracing::warn!("too many connections");
            return;
        };
        let stream = Gather::new(stream);
        let gather = stream.handle();
        let Some(tls) = &self.tls else {
            return self.serve_http(stream, gather, None).await;
        };
        let handshake = TlsAcceptor::from(tls.current()).accept(stream);
        match tokio::time::timeout(limits::HANDSHAKE, handshake).await {
            Err(_) => self.server.shared.metrics.limit("handshake"),
            Ok(Err(error)) => tracing::debug!(%error, "TLS handshake"),
            Ok(Ok(stream)) => {
                let certificates = stream.get_ref().1.peer_certificates();
                let user = certificates
                    .and_then(|certificates| certificates.first())
                    .and_then(|certificate| certificate::user(certificate));
                self.serve_http(stream, gather, user).await;
            }
        }
    }

    /// Serves HTTP on `stream`, which writes to `gather`.
    async fn serve_http<S, G>(&self, stream: S, gather: Gather<G>, user: Option<User>)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
        G: AsyncWrite + Unpin,
    {
        let server = self.server.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            let server = server.clone();
            if let Some(user) = &user {
                request.extensions_mut().insert(user.clone());
            }
            async move { Ok::<_, std::convert::Infallible>(server.handle(request).await) }
        });
        let connection = self.http.serve_connection_with_upgrades(TokioIo::new(stream), service);
        let mut connection = Gathered::new(gather, connection);
        let ended = tokio::select! {
            biased;
            () = self.closing.cancelled() => {
                connection.connection().graceful_shutdown();
                connection.await
            }
            ended = &mut connection => ended,
        };
        if let Err(error) = ended {
            if let Some(error) = error.downcast_ref::<hyper::Error>() {
                if error.is_timeout() {
                    self.server.shared.metrics.limit("headers");
                } else if error.is_parse_too_large() {
                    self.server.shared.metrics.limit("header_bytes");
                }
            }
            tracing::debug!(%error, "connection");
        }
    }
}
