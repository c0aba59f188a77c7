//! Runs expensive work where it does not delay other requests: in a blocking section of the runtime.
//!
//! In a single-threaded runtime, as in the simulation, the work runs in place, so that the same seed gives
//! the same history.

use tokio::runtime::{Handle, RuntimeFlavor};

use crate::limits;

pub(crate) fn has_threads() -> bool {
    Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread)
}

/// Runs `work`, which processes `bytes` bytes, in a blocking section if it is large.
pub(crate) fn aside<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes >= limits::ASIDE_FROM_BYTES && has_threads() {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}
