//! Limits of calls to webhooks.

use std::time::Duration;

/// The largest answer of a webhook, bytes: a converted page of a list.
pub const ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// Idle connections to webhooks are closed after this long.
pub const IDLE: Duration = Duration::from_secs(30);

/// Webhooks to which connections are kept; one more, and all idle ones are closed.
pub const KEPT_CLIENTS: usize = 128;
