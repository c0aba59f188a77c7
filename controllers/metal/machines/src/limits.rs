//! The limits of this crate.

use std::time::Duration;

/// Number of host names that a condition lists for one reason.
pub const HOSTS_NAMED: usize = 5;
/// Number of reasons that a condition lists.
pub const REASONS_NAMED: usize = 10;
/// A machine without a host looks again after this time, so that its condition says why hosts do not fit now. A host that becomes
/// available is reported by an event before.
pub const LOOK_AGAIN: Duration = Duration::from_secs(30);
