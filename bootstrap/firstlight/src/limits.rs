//! Limits of the webhooks of `firstlight controllers`, which anybody in the network of the cluster's Pods may call, and of `firstlight plan`,
//! which ends whatever a server has and its controllers would do.

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

/// The most objects that are read of a server.
pub const PLAN_OBJECTS: usize = 100_000;

/// Lists that are read at the same time.
pub const PLAN_LISTS: usize = 8;

/// Objects that are stored in one step.
pub const PLAN_COMMIT: usize = 500;

/// The most machines in a pool of another provider.
pub const PLAN_POOL_MACHINES: usize = 10_000;

/// The most changes of objects that a plan plays. One machine's life has about fifty.
pub const PLAN_CHANGES: u64 = 1_000_000;

/// A plan ends if nothing happens for this long, in simulated time: whatever it waits for does not come.
pub const PLAN_QUIET: Duration = Duration::from_secs(2 * 3600);

/// The largest number of actions that are printed or returned; the others are counted.
pub const PLAN_ACTIONS: usize = 100_000;
