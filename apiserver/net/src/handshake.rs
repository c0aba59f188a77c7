//! HTTP over a stream for a client that opens its connections itself.

use hyper::body::Body;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};

use crate::stream::Stream;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Begins HTTP/1.1. The connection is a task that ends with the sender and the body of its last answer, or when another protocol takes the
/// stream over.
///
/// # Errors
/// Those of hyper, which has none at present: the first request finds out that the stream has ended.
pub async fn http1<B>(stream: impl Stream) -> hyper::Result<http1::SendRequest<B>>
where
    B: Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
{
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection.with_upgrades());
    Ok(sender)
}

/// Begins HTTP/2. The connection is a task that ends with the last sender and the body of the last answer.
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
