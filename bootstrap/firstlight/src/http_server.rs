//! A small HTTP/1.1 server for the endpoints of `firstlight controllers`, with limits on connections, and on the time
//! of a handshake and of an answer that its client does not take.

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
use metal_provisioning::http::impatient::{Impatient, Patience};
use rustls::pki_types::CertificateDer;
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
    /// Maximum time in which a client accepts an answer.
    pub(crate) stalled: Duration,
    /// The name under which connections are counted that reach `stalled`.
    pub(crate) stalled_name: &'static str,
}

/// An extension of requests whose client has presented a certificate: its chain, which was verified when the connection began. The connection
/// may last longer than the certificate is valid.
#[derive(Debug, Clone)]
pub(crate) struct ClientChain(pub(crate) Arc<[CertificateDer<'static>]>);

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

/// Serves until the future is dropped. `answer` answers each request, and `reached` counts the connections that stall.
pub(crate) async fn serve<A, F>(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    limits: Limits,
    reached: metrics::Limits,
    answer: A,
) where
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
        let (tls, reached, answer) = (tls.clone(), reached.clone(), answer.clone());
        tokio::spawn(async move {
            connection(stream, tls, limits, reached, answer).await;
            drop(seat);
        });
    }
}

/// Serves one connection until it ends.
pub(crate) async fn connection<A, F>(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    tls: Option<TlsAcceptor>,
    limits: Limits,
    reached: metrics::Limits,
    answer: A,
) where
    A: Fn(Request<Incoming>) -> F,
    F: Future<Output = Response<Full<Bytes>>>,
{
    let patience = Patience::All(limits.stalled);
    let stream = Impatient::new(stream, patience, reached, limits.stalled_name);
    match tls {
        None => requests(stream, limits, None, answer).await,
        Some(tls) => {
            if let Ok(Ok(stream)) = tokio::time::timeout(limits.handshake, tls.accept(stream)).await {
                let (_, session) = stream.get_ref();
                let chain = session.peer_certificates().map(|chain| ClientChain(chain.into()));
                requests(stream, limits, chain, answer).await;
            }
        }
    }
}

async fn requests<A, F>(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    limits: Limits,
    chain: Option<ClientChain>,
    answer: A,
) where
    A: Fn(Request<Incoming>) -> F,
    F: Future<Output = Response<Full<Bytes>>>,
{
    let service = service_fn(move |mut request: Request<Incoming>| {
        if let Some(chain) = &chain {
            request.extensions_mut().insert(chain.clone());
        }
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use machinery::clock::Clock;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
    use tokio::net::TcpStream;

    use super::*;

    const LIMITS: Limits = Limits {
        connections: 2,
        head: Duration::from_secs(20),
        handshake: Duration::from_secs(30),
        stalled: Duration::from_secs(10),
        stalled_name: "stalled",
    };
    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";

    const DEADLINE: Duration = Duration::from_secs(60);

    fn clock() -> Clock {
        Clock::simulated(machinery::clock::parse_rfc3339("2026-11-24T00:00:00Z").unwrap())
    }

    /// Begins a connection whose requests are answered with a mebibyte.
    fn connect(metrics: &metrics::Metrics) -> (DuplexStream, impl Future<Output = ()>) {
        let (own, other) = tokio::io::duplex(1024);
        let reached = metrics::Limits::of(metrics);
        let answer = |_| async { text(StatusCode::OK, vec![b'x'; 1 << 20]) };
        (own, connection(other, None, LIMITS, reached, answer))
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_ends_if_its_client_does_not_take_an_answer_in_time() {
        let (metrics, clock) = (metrics::Metrics::default(), clock());
        let (mut client, served) = connect(&metrics);
        let begun = clock.monotonic();
        client.write_all(REQUEST).await.unwrap();
        let slow = async {
            loop {
                clock.sleep(Duration::from_millis(300)).await;
                client.read_exact(&mut [0; 1024]).await.unwrap();
            }
        };
        tokio::select! {
            biased;
            () = served => {}
            () = slow => {}
        }
        assert_eq!(clock.monotonic() - begun, LIMITS.stalled);
        let counted = "firstlight_limit_reached_total{limit=\"stalled\"} 1\n";
        assert!(metrics.text().contains(counted), "{}", metrics.text());
    }

    /// Reads an answer with the text `.`.
    async fn answered(client: &mut TcpStream) {
        let mut answer = Vec::new();
        let answer = async {
            while !answer.ends_with(b"\r\n\r\n.") {
                answer.push(client.read_u8().await.unwrap());
            }
        };
        tokio::time::timeout(DEADLINE, answer).await.unwrap();
    }

    #[tokio::test]
    async fn a_further_connection_waits_until_one_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let counts = count.clone();
        let answer = move |_| {
            counts.fetch_add(1, Ordering::Relaxed);
            async { text(StatusCode::OK, ".") }
        };
        let server = tokio::spawn(serve(listener, None, LIMITS, metrics::Limits::default(), answer));
        let mut clients = Vec::new();
        for _ in 0..=LIMITS.connections {
            let mut client = TcpStream::connect(address).await.unwrap();
            client.write_all(REQUEST).await.unwrap();
            clients.push(client);
        }
        let mut further = clients.pop().unwrap();
        for client in &mut clients {
            answered(client).await;
        }
        for client in &mut clients {
            client.write_all(REQUEST).await.unwrap();
            answered(client).await;
        }
        assert_eq!(count.load(Ordering::Relaxed), 2 * LIMITS.connections);
        clients.pop();
        answered(&mut further).await;
        assert_eq!(count.load(Ordering::Relaxed), 2 * LIMITS.connections + 1);
        server.abort();
    }
}
