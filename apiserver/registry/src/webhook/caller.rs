//! The interface to the HTTP client that calls webhooks.

use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;

/// The error of a call that has timed out, with the message of Go's `context` package.
pub const DEADLINE: &str = "context deadline exceeded";

/// A call: a POST request with JSON.
#[derive(Debug, Clone)]
pub struct WebhookRequest {
    /// For example `https://host:port/path?timeout=10s`. The certificate of the server must be valid for its host.
    pub url: String,
    /// Host and port of the connection, if they differ from the URL.
    pub address: Option<(String, u16)>,
    /// CA certificates to trust, as PEM. If empty, the CA certificates of the system are trusted.
    pub ca_bundle: Vec<u8>,
    /// Timeout of the whole call.
    pub timeout: Duration,
    /// The request body, JSON.
    pub body: Bytes,
}

/// The response, with any status code.
#[derive(Debug, Clone)]
pub struct WebhookResponse {
    /// The HTTP status code.
    pub code: u16,
    /// The `Content-Type`; empty if absent.
    pub content_type: String,
    /// The body.
    pub body: Bytes,
}

/// The interface to the HTTP client for webhooks.
pub trait WebhookCaller: Send + Sync {
    /// Makes one call within its timeout.
    ///
    /// # Errors
    /// Why there is no response, with the message of Go's HTTP client but without the URL (`dial tcp 10.0.0.1:443:
    /// connect: connection refused`), or [`DEADLINE`] after the timeout.
    fn post(&self, request: WebhookRequest) -> BoxFuture<'_, Result<WebhookResponse, String>>;
}

/// A failed call: there is no connection, no response, or no success. Its message is that of client-go.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WebhookError(pub String);
