//! A small HTTP/1.1 server for the endpoints of `firstlight controllers`, with limits on connections and on the time of a handshake.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use crate::options::Address;

/// The limits of a server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Maximum number of simultaneous connections.
    pub(crate) connections: usize,
    /// Maximum time until the head of a request is complete, and so also the time for which a connection may be idle.
    pub(crate) head: Duration,
    /// Maximum time of a TLS handshake.
    pub(crate) handshake: Duration,
}

/// Listens on `address`, the value of `flag`. Returns `None` if the endpoint is disabled.
///
/// # Errors
/// The process cannot listen on the address.
pub(crate) async fn bind(address: Option<&Address>, flag: &str) -> Result<Option<TcpListener>> {
    let Some(address) = address else { return Ok(None) };
    for candidate in address.candidates() {
        match TcpListener::bind(candidate).await {
            Ok(listener) => return Ok(Some(listener)),
            // The host may have no IPv6; the next candidate is the unspecified IPv4 address.
            Err(_) if candidate.is_ipv6() && address.candidates().len() > 1 => {}
            Err(error) => return Err(error).with_context(|| format!("{flag}: cannot listen on {candidate}")),
        }
    }
    Ok(None)
}

/// Serves until the future is dropped. `answer` answers each request.
pub(crate) async fn serve<A, F>(listener: TcpListener, tls: Option<TlsAcceptor>, limits: Limits, answer: A)
where
    A: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Response<Full<Bytes>>> + Send + 'static,
{
    let seats = Arc::new(Semaphore::new(limits.connections));
    loop {
        let Ok(seat) = seats.clone().acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => {
                // Without it an answer may wait for the client's delayed acknowledgement. An error means that the connection has ended.
                let _ = stream.set_nodelay(true);
                stream
            }
            Err(error) => {
                tracing::debug!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (tls, answer) = (tls.clone(), answer.clone());
        tokio::spawn(async move {
            match tls {
                None => connection(stream, limits, answer).await,
                Some(tls) => {
                    if let Ok(Ok(stream)) = tokio::time::timeout(limits.handshake, tls.accept(stream)).await {
                        connection(stream, limits, answer).await;
                    }
                }
            }
            drop(seat);
        });
    }
}

async fn connection<A, F>(stream: impl AsyncRead + AsyncWrite + Unpin, limits: Limits, answer: A)
where
    A: Fn(Request<Incoming>) -> F,
    F: Future<Output = Response<Full<Bytes>>>,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let answer = answer(request);
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limits.head);
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "a connection ended");
    }
}

/// Returns an answer with a text.
pub(crate) fn text(status: StatusCode, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::from(text.into()));
    *answer.status_mut() = status;
    let media = HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, media);
    answer
}
