//! Work that takes long is done where it holds nobody else up: on a thread of its own, by few at a time, each user in turn.
//!
//! Where a runtime has one thread, as in the simulation, it is done in place, so that the same seed gives the same history.

use std::future::Future;

use machinery::status::Status;
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::flows::too_many;
use crate::limits;
use crate::server::Shared;

fn has_threads() -> bool {
    Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread)
}

/// Does `work` with so many bytes.
pub(crate) fn aside<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes >= limits::ASIDE_FROM_BYTES && has_threads() {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}

impl Shared {
    /// Does `work` of this user with so many bytes, within [`limits::REQUEST`].
    ///
    /// # Errors
    /// Those of `work`; 429 where too much of the kind waits; 504 when it takes too long.
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
