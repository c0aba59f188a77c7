//! The interface to the HTTPS client.

use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;

/// A POST request with JSON.
#[derive(Debug, Clone)]
pub struct Call {
    /// For example `https://host:port/path?timeout=10s`. The certificate of the server must be valid for its host.
    pub url: String,
    /// The authorities to trust, in PEM. If empty, those of the machine are trusted.
    pub authority: Vec<u8>,
    /// Limit for the whole call.
    pub timeout: Duration,
    /// The JSON.
    pub body: Bytes,
}

/// An answer with any status code.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The HTTP status code.
    pub code: u16,
    /// The body, of at most [`ANSWER_BYTES`](crate::limits::ANSWER_BYTES).
    pub body: Bytes,
}

/// The HTTPS client. It follows no redirect.
pub trait Caller: Send + Sync + 'static {
    /// Makes one call within its time.
    ///
    /// # Errors
    /// Why there is no answer: no connection, no trust, no answer in time, or one that is too long.
    fn post(&self, call: Call) -> BoxFuture<'_, Result<Reply, String>>;
}
