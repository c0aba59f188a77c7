//! Runs expensive work where it does not delay other requests: in a blocking section of the runtime, limited
//! in number, with fair queuing by user.
//!
//! In a single-threaded runtime, as in the simulation, the work runs in place, so that the same seed gives
//! the same history.

use std::future::Future;

use machinery::status::Status;
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::flows::too_many;
use crate::limits;
use crate::server::Shared;

fn has_threads() -> bool {
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

impl Shared {
    /// Runs `work` for this user, which processes `bytes` bytes, within [`limits::REQUEST`].
    ///
    /// # Errors
    /// Returns the error of `work`; 429 if too many large requests wait; 504 if the work takes too long.
    pub(crate) async fn aside<T>(
        &self,
        user: &str,
        bytes: usize,
        work: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, Status> {
        if bytes < limits::ASIDE_FROM_BYTES || !has_threads() {
            return work.await;
        }
        let seat = self.large.enter(user).await;
        let _seat = seat.map_err(|_| {
            self.metrics.limit("large_requests");
            too_many()
        })?;
        let work = tokio::time::timeout(limits::REQUEST, work);
        let done = tokio::task::block_in_place(|| Handle::current().block_on(work));
        done.map_err(|_| self.late("the request took too long"))?
    }
}
