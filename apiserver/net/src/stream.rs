//! Byte streams of any transport.

use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::io::{AsyncRead, AsyncWrite};

/// A bidirectional byte stream.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Stream for T {}

/// A [`Stream`] of any type.
pub type BoxStream = Box<dyn Stream>;

impl Connection for BoxStream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}
