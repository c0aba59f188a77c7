//! Runs work that takes long where it does not delay other tasks.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Runs `work` in a blocking section of the runtime. In a runtime with one thread, as in the simulation, it runs in place, so that the same seed gives the same history.
pub fn aside<T>(work: impl FnOnce() -> T) -> T {
    let has_threads =
        Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
    if has_threads { tokio::task::block_in_place(work) } else { work() }
}
