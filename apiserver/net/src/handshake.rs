//! HTTP over a stream for a client that opens its connections itself.

use hyper::body::Body;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};

use crate::stream::Stream;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Begins HTTP/1.1. A task runs the connection. It ends after the sender was dropped and the body of the last answer was read, or when the
/// stream is upgraded to another protocol.
///
/// # Errors
/// hyper refuses the stream. A stream that has ended is no error here: the first request fails.
pub async fn http1<B>(stream: impl Stream) -> hyper::Result<http1::SendRequest<B>>
where
    B: Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
{
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection.with_upgrades());
    Ok(sender)
}

/// Begins HTTP/2. A task runs the connection. It ends after the last sender was dropped and the body of the last answer was read.
///
/// # Errors
/// The stream ends before its first bytes are sent.
pub async fn http2<B>(stream: impl Stream) -> hyper::Result<http2::SendRequest<B>>
where
    B: Body<Data: Send, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}
