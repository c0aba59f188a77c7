//! All limits.

use std::time::Duration;

/// The number of claims of a pool that get or return their address at the same time.
pub const CLAIMS_AT_ONCE: usize = 8;
/// The number of claims of a pool that one reconcile serves. The next one follows at once.
pub const CLAIMS_IN_A_RECONCILE: usize = 500;
/// The time until the next reconcile if claims are left.
pub const NEXT_CLAIMS: Duration = Duration::from_millis(1);
/// The number of errors that a reconcile reports; those of its other claims are in their conditions.
pub const ERRORS_REPORTED: usize = 10;
