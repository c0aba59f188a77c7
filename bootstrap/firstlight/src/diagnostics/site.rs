//! The HTTP servers of metrics and health checks, with limits on connections and on the time of a handshake.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::Manager;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use super::authorization::Authorizer;

/// Maximum number of simultaneous connections, enough for a few scrapers and probes.
const CONNECTIONS: usize = 32;
/// Maximum time of a TLS handshake, and of the head of a request.
const PATIENCE: Duration = Duration::from_secs(10);

/// The endpoints that one address serves.
pub(super) enum Site {
    /// `/healthz` and `/readyz`.
    Health(Manager),
    /// `/metrics`.
    Metrics {
        /// The metrics of the process.
        metrics: metrics::Metrics,
        /// Authorizes requests. `None` allows every request.
        authorizer: Option<Box<Authorizer>>,
    },
}

/// Serves `site` until the future is dropped.
pub(super) async fn serve(listener: TcpListener, tls: Option<TlsAcceptor>, site: Arc<Site>) {
    let seats = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(seat) = seats.clone().acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::debug!(%error, "a connection for diagnostics could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (tls, site) = (tls.clone(), site.clone());
        tokio::spawn(async move {
            match tls {
                None => connection(stream, site).await,
                Some(tls) => {
                    if let Ok(Ok(stream)) = tokio::time::timeout(PATIENCE, tls.accept(stream)).await {
                        connection(stream, site).await;
                    }
                }
            }
            drop(seat);
        });
    }
}

async fn connection(stream: impl AsyncRead + AsyncWrite + Unpin, site: Arc<Site>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let site = site.clone();
        async move { Ok::<_, Infallible>(site.answer(&request).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "a connection for diagnostics ended");
    }
}

impl Site {
    async fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let path = request.uri().path();
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return text(StatusCode::METHOD_NOT_ALLOWED, "405 method not allowed\n");
        }
        match self {
            Self::Health(_) if is(path, "/healthz") => text(StatusCode::OK, "ok"),
            Self::Health(manager) if is(path, "/readyz") => {
                if manager.is_synced() {
                    text(StatusCode::OK, "ok")
                } else {
                    let why = "[-]informer-sync failed: not all caches are synced\nreadyz check failed\n";
                    text(StatusCode::INTERNAL_SERVER_ERROR, why)
                }
            }
            Self::Metrics { metrics, authorizer } if path == "/metrics" => {
                if let Some(authorizer) = authorizer
                    && let Err(refusal) = authorizer.check(request.headers(), path).await
                {
                    return text(refusal, refusal.canonical_reason().unwrap_or_default());
                }
                let mut answer = Response::new(Full::from(metrics.text()));
                let media = HeaderValue::from_static(metrics::CONTENT_TYPE);
                answer.headers_mut().insert(CONTENT_TYPE, media);
                answer
            }
            _ => text(StatusCode::NOT_FOUND, "404 page not found\n"),
        }
    }
}

/// Returns whether `path` is `check` or below it, for example `/readyz/ping` for `/readyz`.
fn is(path: &str, check: &str) -> bool {
    path.strip_prefix(check).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn text(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::from(text));
    *answer.status_mut() = status;
    let media = HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, media);
    answer
}
