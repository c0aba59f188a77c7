//! Limits of `firstlight plan`, which ends whatever a server has and its controllers would do.

use std::time::Duration;

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

/// A plan ends if changes only repeat what was there before for this long, in simulated time, and there were so many of them.
pub const PLAN_STUCK: Duration = Duration::from_secs(5 * 60);
/// See [`PLAN_STUCK`].
pub const PLAN_REPEATED: u64 = 100;

/// The largest number of actions that are printed or returned; the others are counted.
pub const PLAN_ACTIONS: usize = 100_000;
