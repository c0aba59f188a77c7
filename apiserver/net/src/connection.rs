//! A connection to another machine.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::Connected;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// A connection to another machine, or to a proxy that carries it on.
#[derive(Debug)]
pub struct Connection {
    kind: Kind,
    /// Whether the proxy is to read requests, instead of carrying bytes.
    is_for_proxy: bool,
}

#[derive(Debug)]
enum Kind {
    Plain(TcpStream),
    Secured(Box<TlsStream<TcpStream>>),
}

impl Connection {
    pub(crate) fn plain(stream: TcpStream) -> Self {
        Self { kind: Kind::Plain(stream), is_for_proxy: false }
    }

    pub(crate) fn secured(stream: TlsStream<TcpStream>) -> Self {
        Self { kind: Kind::Secured(Box::new(stream)), is_for_proxy: false }
    }

    pub(crate) fn for_proxy(self) -> Self {
        Self { is_for_proxy: true, ..self }
    }
}

impl legacy::connect::Connection for Connection {
    fn connected(&self) -> Connected {
        Connected::new().proxy(self.is_for_proxy)
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.kind {
            Kind::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Kind::Secured(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.kind {
            Kind::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Kind::Secured(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.kind {
            Kind::Plain(stream) => Pin::new(stream).poll_flush(context),
            Kind::Secured(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.kind {
            Kind::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Kind::Secured(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
