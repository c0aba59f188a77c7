//! Network access, replaceable in tests.

use std::io;

use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

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
