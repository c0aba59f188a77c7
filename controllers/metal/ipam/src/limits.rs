//! All limits and intervals.

use std::time::Duration;

/// The number of claims of a pool that get or return their address at the same time.
pub const CLAIMS_AT_ONCE: usize = 8;
/// The shortest time between two writes of a pool's status, for each address in it. The status lists all addresses, so that writing it
/// after each allocation would take a time that grows with the square of their number.
pub const STATUS_INTERVAL: Duration = Duration::from_millis(1);
