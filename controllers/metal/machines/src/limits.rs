//! The limits of this crate.

use std::time::Duration;

use chrono::TimeDelta;

/// Number of host names that a condition lists for one reason.
pub const HOSTS_NAMED: usize = 5;
/// Number of reasons that a condition lists.
pub const REASONS_NAMED: usize = 10;
/// A machine without a host looks again after this time, so that its condition says why hosts do not fit now. A host that becomes
/// available is reported by an event before.
pub const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// The time after which a remediation that says nothing else is repeated, or gives up.
pub const REMEDIATION_TIMEOUT: TimeDelta = TimeDelta::seconds(600);
/// The number of times that a remediation that says nothing else is repeated.
pub const REMEDIATION_RETRIES: i32 = 1;
/// The interval at which a remediation looks whether the Pods of a Node are gone.
pub const DRAIN_POLL: Duration = Duration::from_secs(5);
/// A machine whose host runs its image, and that has neither reported nor become a Node for this long, is silent.
pub const SILENCE: Duration = Duration::from_secs(15 * 60);
/// The number of claims of a pool that get or return their address at the same time.
pub const CLAIMS_AT_ONCE: usize = 8;
/// The shortest time between two writes of a pool's status, for each address in it. The status lists all addresses, so that writing it
/// after each allocation would take a time that grows with the square of their number.
pub const STATUS_INTERVAL: Duration = Duration::from_millis(1);
