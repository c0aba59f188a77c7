//! HTTP/1.1 servers for a handful of paths: an [`axum::Router`] behind limits of connections and of time.
//!
//! The API server has a listener of its own (`serving`), because it coalesces the writes of watches and closes the connections of
//! one user for those of another.

mod impatient;
mod layers;
mod places;
mod sendfile;

use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use machinery::random::Random;
use metrics::Limits;
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tower::ServiceExt as _;

pub use impatient::{Impatient, Patience};
pub use layers::REQUEST_ID;
pub use places::{Place, Places, Waiting};
pub use sendfile::{FileRange, send_files};

use crate::accept::{Acceptor, accept_tls};
use crate::stream::BoxStream;
use sendfile::{FileSender, Kernel};

/// How long a client may take, and the names under which connections that take longer are counted.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// The time for the head of a request, and so also the time for which a connection may be idle, which is normal for some servers and
    /// then not counted.
    pub head: (Duration, Option<&'static str>),
    /// The time for a TLS handshake.
    pub handshake: (Duration, &'static str),
    /// The time in which a client accepts what is sent.
    pub stalled: (Patience, &'static str),
}

/// The two ends of a connection, an extension of each of its requests.
#[derive(Debug, Clone)]
pub struct Peer {
    /// The client's address.
    pub address: SocketAddr,
    /// The server's address.
    pub local: SocketAddr,
    /// The chain of certificates that the client has presented, its own first. It was verified when the connection began, as the TLS
    /// configuration says, and the connection may last longer than a certificate is valid.
    pub certificates: Arc<[CertificateDer<'static>]>,
}

/// A server; clones share its places.
#[derive(Clone)]
pub struct Server {
    router: Router,
    tls: Option<Arc<ServerConfig>>,
    times: Times,
    places: Arc<dyn Places>,
    reached: Limits,
}

impl Server {
    /// Creates a server. Each connection takes one of `places`; `reached` counts the limits that are reached. A request without an id
    /// gets one of `random`. Slashes at the beginning of a path count as one, because firmware joins a base address that ends with a
    /// slash and a path that begins with one.
    pub fn new(
        router: Router,
        tls: Option<Arc<ServerConfig>>,
        times: Times,
        places: impl Places,
        reached: Limits,
        random: &Random,
    ) -> Self {
        let router = layers::with_layers(router, random);
        Self { router, tls, times, places: Arc::new(places), reached }
    }

    /// Serves until the future is dropped, which also closes the connections.
    pub async fn serve(self, listener: TcpListener) {
        self.serve_until(listener, std::future::pending()).await;
    }

    /// Serves until `end`. When it returns, the tasks of all connections have ended.
    pub async fn serve_until(self, listener: TcpListener, end: impl Future<Output = ()>) {
        let (mut end, mut connections) = (pin!(end), JoinSet::new());
        let mut acceptor = Acceptor::new(&listener);
        loop {
            let (stream, address) = tokio::select! {
                biased;
                () = &mut end => break,
                Some(_) = connections.join_next() => continue,
                accepted = acceptor.next(|| ()) => accepted,
            };
            match self.places.take(address.ip()).await {
                Ok(place) => {
                    let server = self.clone();
                    connections.spawn(async move {
                        server.accepted(stream, address).await;
                        drop(place);
                    });
                }
                Err(limit) => {
                    self.reached.reached(limit);
                    tracing::debug!(%address, limit, "too many connections");
                }
            }
        }
        connections.shutdown().await;
    }

    async fn accepted(&self, stream: TcpStream, address: SocketAddr) {
        let Ok(local) = stream.local_addr() else { return };
        let peer = Peer { address, local, certificates: Arc::default() };
        if self.tls.is_some() {
            return self.connection(Box::new(stream), peer).await;
        }
        let (stream, kernel) = FileSender::new(stream);
        self.requests(self.impatient(Box::new(stream)), peer, Some(kernel)).await;
    }

    /// Serves one connection of any transport until it ends.
    pub async fn connection(&self, stream: BoxStream, mut peer: Peer) {
        let stream = self.impatient(stream);
        let Some(tls) = &self.tls else { return self.requests(stream, peer, None).await };
        let (time, limit) = self.times.handshake;
        let late = || self.reached.reached(limit);
        if let Some(stream) = accept_tls(stream, tls.clone(), peer.address, time, late).await {
            let (_, session) = stream.get_ref();
            peer.certificates = session.peer_certificates().unwrap_or_default().into();
            self.requests(Box::new(stream), peer, None).await;
        }
    }

    fn impatient(&self, stream: BoxStream) -> BoxStream {
        let (patience, limit) = self.times.stalled;
        Box::new(Impatient::new(stream, patience, self.reached.clone(), limit))
    }

    async fn requests(&self, stream: BoxStream, peer: Peer, kernel: Option<Kernel>) {
        let service = service_fn(|mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer.clone());
            if let Some(kernel) = &kernel {
                request.extensions_mut().insert(kernel.clone());
            }
            self.router.clone().oneshot(layers::with_one_slash(request))
        });
        let (time, limit) = self.times.head;
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(time)
            .serve_connection(TokioIo::new(stream), service);
        if let Err(error) = connection.await {
            // The only timeout of the connection is that of the head of a request.
            if let Some(limit) = limit.filter(|_| error.is_timeout()) {
                self.reached.reached(limit);
            }
            tracing::debug!(%error, "connection");
        }
    }
}
