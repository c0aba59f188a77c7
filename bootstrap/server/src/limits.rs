//! Limits of the webhooks of `firstlight controllers`, which anybody in the network of the cluster's Pods may call.

use std::time::Duration;

/// The largest AdmissionReview in bytes, as in controller-runtime: two objects of the largest size that an API server accepts.
pub const REVIEW_BYTES: usize = 7 * 1024 * 1024;

/// The largest ConversionReview in bytes. An API server sends all objects of a list in one, and accepts an answer of this size.
pub const CONVERSION_BYTES: usize = 64 * 1024 * 1024;

/// The bytes of all reviews that are read or answered at the same time, as far as they have arrived. Further reviews wait.
pub const REVIEWS_BYTES: usize = 128 * 1024 * 1024;

/// The time for reading and answering a review, the same as the time after which an API server gives up a conversion.
pub const REVIEW: Duration = Duration::from_secs(30);

/// Simultaneous connections. An API server uses one for each write that it waits for.
pub const WEBHOOK_CONNECTIONS: usize = 256;

/// The time after which a connection without requests is closed. An API server closes it earlier, so that it never sends a request on a
/// connection that is being closed.
pub const WEBHOOK_IDLE: Duration = Duration::from_secs(120);

/// The time in which a client must accept an answer before its connection is closed, the same as [`REVIEW`]: an API server has given up.
pub const WEBHOOK_STALLED: Duration = Duration::from_secs(30);
