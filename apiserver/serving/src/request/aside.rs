//! Runs expensive work where it does not delay other requests: in a blocking section of the runtime.
//!
//! In a single-threaded runtime, as in the simulation, the work runs in place, so that the same seed gives
//! the same history.

use registry::aside::has_threads;
use registry::limits::ASIDE_FROM_BYTES;

/// Runs `work`, which processes `bytes` bytes, in a blocking section if it is large.
pub(crate) fn aside<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes >= ASIDE_FROM_BYTES && has_threads() { tokio::task::block_in_place(work) } else { work() }
}
