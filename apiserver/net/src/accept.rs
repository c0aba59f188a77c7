//! How servers accept connections, with and without TLS.

use std::fmt::Debug;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Sleep, sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The pause after a failed `accept`, whose usual reason is the limit of open files.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Accepts the connections of a listener.
pub struct Acceptor<'a> {
    listener: &'a TcpListener,
    /// Ends when it is tried again after a connection could not be accepted.
    pause: Option<Pin<Box<Sleep>>>,
    /// Whether the last attempt has failed.
    was_refused: bool,
}

impl<'a> Acceptor<'a> {
    /// Accepts the connections of `listener`.
    pub fn new(listener: &'a TcpListener) -> Self {
        Self { listener, pause: None, was_refused: false }
    }

    /// Returns the next connection and its client's address. `failed` is called before each pause after which it is tried again. A call
    /// that is cancelled loses no connection, and the next call waits for the rest of the pause.
    pub async fn next(&mut self, failed: impl Fn()) -> (TcpStream, SocketAddr) {
        loop {
            if let Some(pause) = &mut self.pause {
                pause.as_mut().await;
                self.pause = None;
            }
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    self.was_refused = false;
                    // Without `TCP_NODELAY` an answer may wait for the client's delayed acknowledgement. It fails if the client has
                    // closed the connection, which the first read finds out.
                    let _ = stream.set_nodelay(true);
                    return (stream, address);
                }
                Err(error) => {
                    self.pause = Some(Box::pin(sleep(ACCEPT_AGAIN)));
                    if !std::mem::replace(&mut self.was_refused, true) {
                        tracing::warn!(%error, "cannot accept a connection");
                    }
                    failed();
                }
            }
        }
    }
}

/// Secures a connection of this client by TLS. Returns `None` if the handshake fails or takes longer than `time`; in the second case `late` is called.
pub async fn accept_tls<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    config: Arc<ServerConfig>,
    client: impl Debug,
    time: Duration,
    late: impl FnOnce(),
) -> Option<TlsStream<S>> {
    match timeout(time, TlsAcceptor::from(config).accept(stream)).await {
        Ok(Ok(stream)) => return Some(stream),
        Ok(Err(error)) => tracing::debug!(?client, %error, "TLS handshake"),
        Err(_) => {
            tracing::debug!(?client, "the TLS handshake took too long");
            late();
        }
    }
    None
}
