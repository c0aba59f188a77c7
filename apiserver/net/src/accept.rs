//! How servers accept connections, with and without TLS.

use std::fmt::Debug;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The pause after a failed `accept`, whose usual reason is the limit of open files.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Returns the next connection and its client's address. `failed` is called before each pause after which it is tried again.
pub async fn accept(listener: &TcpListener, failed: impl Fn()) -> (TcpStream, SocketAddr) {
    let mut was_refused = false;
    loop {
        match listener.accept().await {
            Ok((stream, address)) => {
                // Without `TCP_NODELAY` an answer may wait for the client's delayed acknowledgement. An error means that the connection has
                // ended.
                let _ = stream.set_nodelay(true);
                return (stream, address);
            }
            Err(error) => {
                if !std::mem::replace(&mut was_refused, true) {
                    tracing::warn!(%error, "cannot accept a connection");
                }
                failed();
                sleep(ACCEPT_AGAIN).await;
            }
        }
    }
}

/// Secures a connection of this client by TLS. Without a handshake there is nothing; `late` is called if it takes longer than `time`.
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
