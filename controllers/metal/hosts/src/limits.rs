//! Every limit and every period.

use std::time::Duration;

/// How long a machine may take from its power-on to the agent's first word. Servers with much memory need ten minutes.
pub const BOOT: Duration = Duration::from_secs(20 * 60);
/// An agent that said nothing for so long is not there any more.
pub const SILENCE: Duration = Duration::from_secs(45);
/// How long an agent may take to restart its machine before the BMC does it.
pub const RESTART: Duration = Duration::from_secs(90);
/// How often the power of a resting host is read.
pub const POWER_POLL: Duration = Duration::from_secs(60);
/// How long a machine that was switched on may still be off, as its BMC says.
pub const POWER_ON: Duration = Duration::from_secs(30);
/// How often the power is read while it should change.
pub const POWER_CHANGE: Duration = Duration::from_secs(2);
/// How often a missing Secret is looked for beside its events.
pub const SECRET_RETRY: Duration = Duration::from_secs(10);
/// How often settings and versions of firmware are read.
pub const FIRMWARE_POLL: Duration = Duration::from_secs(300);
/// How often they are read while they should change.
pub const FIRMWARE_CHANGE: Duration = Duration::from_secs(60);
/// How often the BMC is asked how an update fares.
pub const TASK_POLL: Duration = Duration::from_secs(15);
/// How long the installation of firmware may take.
pub const UPDATE: Duration = Duration::from_secs(60 * 60);
/// How often something is tried again at a BMC that did not do it.
pub const BMC_RETRY: Duration = Duration::from_secs(60);
/// Hosts that inspect, provision or deprovision at the same time.
pub const BUSY_HOSTS: usize = 20;
/// Failures after which a host that is being deleted goes without being cleaned or switched off.
pub const DELETE_ATTEMPTS: i64 = 3;

/// How long to wait after the `count`th failure in a row: two, four … minutes, at most 512.
pub fn back_off(count: i64) -> Duration {
    Duration::from_secs(60 << count.clamp(0, 9))
}

/// How long to wait after a BMC did not answer for the `count`th time, before it ever did: five, ten, twenty … seconds, at most a quarter of
/// an hour. Nothing is harmed by asking, and BMCs are often described before they are plugged in.
pub fn first_contact(count: i64) -> Duration {
    const LONGEST: Duration = Duration::from_secs(15 * 60);
    Duration::from_secs(5 << (count - 1).clamp(0, 8)).min(LONGEST)
}
