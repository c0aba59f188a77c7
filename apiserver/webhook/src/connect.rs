//! TLS connections to one webhook, for hyper's client.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use machinery::clock::Clock;
use net::{BoxStream, Dial, without_brackets};
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower_service::Service;

use crate::words;

/// Opens connections to one webhook.
#[derive(Clone)]
pub(crate) struct Connector {
    pub(crate) dial: Arc<dyn Dial>,
    pub(crate) clock: Clock,
    pub(crate) tls: TlsConnector,
    /// Host and port to dial.
    pub(crate) address: (String, u16),
}

/// The reason of a failed connection, in Go's words.
#[derive(Debug)]
pub(crate) struct ConnectError(pub(crate) String);

impl std::fmt::Display for ConnectError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConnectError {}

impl Service<Uri> for Connector {
    type Response = Secured;
    type Error = ConnectError;
    type Future = BoxFuture<'static, Result<Secured, ConnectError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connector = self.clone();
        async move { connector.connect(&uri).await.map_err(ConnectError) }.boxed()
    }
}

impl Connector {
    async fn connect(&self, uri: &Uri) -> Result<Secured, String> {
        let host = without_brackets(uri.host().unwrap_or_default());
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| format!("tls: {host:?} is no name of a server"))?;
        let (address, port) = &self.address;
        let dialed = self.dial.dial(address, *port).await;
        let stream = dialed.map_err(|error| words::dial(&error, address, *port))?;
        let stream = self.tls.connect(name, stream).await;
        stream
            .map(|stream| Secured(TokioIo::new(stream)))
            .map_err(|error| words::handshake(&error, &self.clock))
    }
}

/// A TLS connection that hyper's client can pool.
pub(crate) struct Secured(TokioIo<TlsStream<BoxStream>>);

impl Connection for Secured {
    fn connected(&self) -> Connected {
        let (_, session) = self.0.inner().get_ref();
        if session.alpn_protocol() == Some(b"h2") {
            Connected::new().negotiated_h2()
        } else {
            Connected::new()
        }
    }
}

impl Read for Secured {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl Write for Secured {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
