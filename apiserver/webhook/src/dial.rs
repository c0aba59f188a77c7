//! Network access, replaceable in tests.

use std::io;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// A bidirectional byte stream.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Stream for T {}

/// Opens connections to webhooks.
pub trait Dialer: Send + Sync + 'static {
    /// Opens a connection.
    ///
    /// # Errors
    /// The errors of TCP; [`io::ErrorKind::NotFound`] for an unknown host.
    fn dial<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Box<dyn Stream>>>;
}

/// Connects over TCP.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDialer;

impl Dialer for RealDialer {
    fn dial<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Box<dyn Stream>>> {
        async move {
            let unknown = |_| io::Error::from(io::ErrorKind::NotFound);
            let addresses: Vec<_> = tokio::net::lookup_host((host, port)).await.map_err(unknown)?.collect();
            let stream = TcpStream::connect(&addresses[..]).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn Stream>)
        }
        .boxed()
    }
}
