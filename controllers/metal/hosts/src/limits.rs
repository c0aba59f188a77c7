//! All limits and intervals.

use std::time::Duration;

/// Limit for a reconcile that talks to a BMC or makes a boot image. Many BMCs take minutes for a series of requests.
pub const RECONCILE: Duration = Duration::from_secs(15 * 60);
/// The time from power-on within which the agent of a machine must enrol. Servers with much memory need ten minutes.
pub const BOOT: Duration = Duration::from_secs(20 * 60);
/// An agent that has been silent for this long is gone.
pub const SILENCE: Duration = Duration::from_secs(45);
/// The time within which an agent must restart its machine; afterwards the BMC does it.
pub const RESTART: Duration = Duration::from_secs(90);
/// The interval at which the power state of an idle host is read.
pub const POWER_POLL: Duration = Duration::from_secs(60);
/// The time after power-on for which the BMC may still report the machine as off.
pub const POWER_ON: Duration = Duration::from_secs(30);
/// The interval at which the power state is read while it should change.
pub const POWER_CHANGE: Duration = Duration::from_secs(2);
/// The interval at which a missing Secret is looked up, in addition to its events.
pub const SECRET_RETRY: Duration = Duration::from_secs(10);
/// The interval at which firmware settings and versions are read.
pub const FIRMWARE_POLL: Duration = Duration::from_secs(15 * 60);
/// The interval at which firmware settings and versions are read while they should change.
pub const FIRMWARE_CHANGE: Duration = Duration::from_secs(60);
/// The interval at which the state of a firmware update is read.
pub const TASK_POLL: Duration = Duration::from_secs(15);
/// The time within which a firmware update must finish.
pub const UPDATE: Duration = Duration::from_secs(60 * 60);
/// The interval at which a failed operation is retried at a BMC.
pub const BMC_RETRY: Duration = Duration::from_secs(60);
/// The largest number of clients of BMCs that are kept with their sessions.
pub const BMC_CLIENTS: usize = 2048;
/// A client of a BMC that was not used for this long is closed, at the latest after twice this time.
pub const BMC_IDLE: Duration = Duration::from_secs(5 * 60);
/// The time for closing the sessions at BMCs when the process ends.
pub const BMC_CLOSE: Duration = Duration::from_secs(2);
/// The largest number of hosts whose machines boot at the same time for inspection, provisioning or deprovisioning.
pub const BUSY_HOSTS: usize = 20;
/// The number of failures after which a host is deleted without being cleaned or switched off.
pub const DELETE_ATTEMPTS: i64 = 3;

/// Returns the pause after the `count`th failure in a row: two, four … minutes, at most 512.
pub fn back_off(count: i64) -> Duration {
    Duration::from_secs(60 << count.clamp(0, 9))
}

/// Returns the pause after the `count`th failure of a BMC that has never answered: five, ten, twenty … seconds, at most a quarter of an
/// hour. Frequent attempts are harmless, and BMCs are often configured before they are plugged in.
pub fn first_contact(count: i64) -> Duration {
    const LONGEST: Duration = Duration::from_secs(15 * 60);
    Duration::from_secs(5 << (count - 1).clamp(0, 8)).min(LONGEST)
}
