//! Accepts connections, with or without TLS, and passes their requests to a [`Site`].

use std::net::SocketAddr;
use std::sync::Arc;

use http::Request;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use machinery::clock::Clock;
use metal_boot::shares::Shares;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::counted::Counted;
use super::impatient::{Impatient, Patience};
use super::kernel::{FileSender, Kernel};
use super::peer::{Certificate, Peer};
use super::site::Site;
use crate::metadata::tree::without_token;
use crate::metrics::Metrics;
use crate::{limits, media};

/// The pause after a failed `accept`.
const ACCEPT_AGAIN: std::time::Duration = std::time::Duration::from_millis(100);

/// Serves a site on any number of listening sockets.
#[derive(Clone)]
pub struct Listener {
    site: Arc<Site>,
    tls: Option<Arc<ServerConfig>>,
    connections: Arc<Shares>,
    clock: Clock,
    metrics: Metrics,
}

impl Listener {
    /// Creates a listener, with TLS if `tls` is given. It counts in `metrics`.
    pub fn new(site: Arc<Site>, tls: Option<Arc<ServerConfig>>, clock: Clock, metrics: Metrics) -> Self {
        let connections = Shares::new(
            (limits::CONNECTIONS, "netboot_connections"),
            (limits::CONNECTIONS_OF_ONE, "netboot_connections_of_one"),
            (limits::CONNECTIONS_OF_STRANGERS, "netboot_connections_of_strangers"),
        );
        Self { site, tls, connections, clock, metrics }
    }

    /// Accepts connections until `shutdown`, which also closes open connections: clients can ask for boot files and images again.
    pub fn run(self, tcp: TcpListener, tasks: &TaskTracker, shutdown: &CancellationToken) {
        let (inner, shutdown) = (tasks.clone(), shutdown.clone());
        tasks.spawn(async move {
            loop {
                let accepted = tokio::select! {
                    biased;
                    () = shutdown.cancelled() => return,
                    accepted = tcp.accept() => accepted,
                };
                let (stream, address) = match accepted {
                    Ok(accepted) => accepted,
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept a connection");
                        let pause = self.clock.sleep(ACCEPT_AGAIN);
                        match shutdown.run_until_cancelled(pause).await {
                            Some(()) => continue,
                            None => return,
                        }
                    }
                };
                let Ok(local) = stream.local_addr() else { continue };
                // Without `TCP_NODELAY` small responses wait for the client's acknowledgement. An error means that the client has
                // disconnected.
                let _ = stream.set_nodelay(true);
                let listener = self.clone();
                let connection = async move { listener.connection(stream, address, local).await };
                inner.spawn(shutdown.clone().run_until_cancelled_owned(connection));
            }
        });
    }

    async fn connection(&self, stream: tokio::net::TcpStream, address: SocketAddr, local: SocketAddr) {
        let _place = match self.connections.take(address.ip(), self.site.is_known(address.ip())) {
            Ok(place) => place,
            Err(limit) => {
                self.metrics.limit(limit);
                tracing::debug!(%address, limit, "too many connections");
                return;
            }
        };
        let Some(tls) = &self.tls else {
            let (stream, kernel) = FileSender::new(stream);
            let stream = self.impatient(stream);
            return self.requests(stream, Peer { address, local, certificate: None }, Some(kernel)).await;
        };
        let handshake = TlsAcceptor::from(tls.clone()).accept(self.impatient(stream));
        match tokio::time::timeout(limits::HANDSHAKE, handshake).await {
            Err(_) => {
                self.metrics.limit("netboot_handshake");
                tracing::debug!(%address, "the TLS handshake took too long");
            }
            Ok(Err(error)) => tracing::debug!(%address, %error, "TLS handshake"),
            Ok(Ok(stream)) => {
                let shown = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
                let certificate = shown.and_then(|certificate| Certificate::read(certificate));
                self.requests(stream, Peer { address, local, certificate }, None).await;
            }
        }
    }

    fn impatient<S>(&self, stream: S) -> Impatient<S> {
        Impatient::new(stream, Patience::Some(limits::STALLED), self.metrics.limits(), "netboot_stalled")
    }

    async fn requests<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(
        &self,
        stream: S,
        peer: Peer,
        kernel: Option<Kernel>,
    ) {
        let service = service_fn(|request: Request<Incoming>| {
            let (peer, kernel) = (&peer, &kernel);
            async move {
                let (method, path) = (request.method().clone(), shown(request.uri().path()));
                let service = service(request.uri().path());
                let mut response = self.site.answer(request, peer).await;
                if let (Some(kernel), Some(range)) = (kernel, response.extensions_mut().remove()) {
                    response = response.map(|_| kernel.body(range).boxed());
                }
                let status = response.status().as_u16();
                tracing::debug!(client = %peer.address, %method, path, status, "HTTP");
                let sent = self.metrics.request(service, status);
                Ok::<_, std::convert::Infallible>(response.map(|body| Counted::new(body, sent)))
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits::HANDSHAKE)
            .serve_connection(TokioIo::new(stream), service);
        if let Err(error) = connection.await {
            // The only timeout of the connection is that of the head of a request.
            if error.is_timeout() {
                self.metrics.limit("netboot_handshake");
            }
            tracing::debug!(%error, "connection");
        }
    }
}

/// Returns the service that answers requests for `path`, as a label of the metrics. All other paths are those of metadata.
fn service(path: &str) -> &'static str {
    const PREFIXES: [(&str, &str); 6] = [
        ("/agent/v1/", "agent"),
        ("/boot/script/", "script"),
        (media::FOLDER, "media"),
        ("/boot/", "boot"),
        ("/images/", "images"),
        ("/v2/", "registry"),
    ];
    let found = PREFIXES.iter().find(|(prefix, _)| path.starts_with(prefix));
    match path {
        "/healthz" => "healthz",
        _ => found.map_or("metadata", |(_, service)| service),
    }
}

/// Returns a path for the log, without tokens and other secret parts.
fn shown(path: &str) -> String {
    let path = without_token(path).1;
    let public = if path.starts_with(media::FOLDER) { path.rsplit_once('/') } else { None };
    public.map_or_else(|| path.to_owned(), |(folder, _)| format!("{folder}/…"))
}

#[cfg(test)]
mod tests {
    use super::{service, shown};

    #[test]
    fn each_path_has_its_service() {
        for (path, expected) in [
            ("/agent/v1/enrol", "agent"),
            ("/boot/script/52-54-00-00-00-01.ipxe", "script"),
            ("/boot/media/metal/host-0/1234.iso", "media"),
            ("/boot/uki/x86_64.efi", "boot"),
            ("/images/a.raw", "images"),
            ("/v2/pause/manifests/3.10", "registry"),
            ("/healthz", "healthz"),
            ("/nocloud/user-data", "metadata"),
            ("/made-up", "metadata"),
        ] {
            assert_eq!(service(path), expected, "{path}");
        }
    }

    #[test]
    fn the_secret_part_of_a_path_is_not_shown() {
        assert_eq!(shown("/boot/media/metal/host-0/1234.iso"), "/boot/media/metal/host-0/…");
        assert_eq!(shown("/metadata/1234/nocloud/user-data"), "/nocloud/user-data");
        assert_eq!(shown("/boot/script/52-54-00-00-00-01.ipxe"), "/boot/script/52-54-00-00-00-01.ipxe");
    }
}
