//! Limits of calls to webhooks.

use std::time::Duration;

/// The largest response of a webhook in bytes, for example a converted page of a list.
pub const ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// Idle connections to webhooks are closed after this time.
pub const IDLE: Duration = Duration::from_secs(30);

/// Number of webhooks with pooled connections; beyond that the connections of the one called longest ago are closed when they are idle.
pub const KEPT_CLIENTS: usize = 128;
