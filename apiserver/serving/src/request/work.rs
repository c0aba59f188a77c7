//! Handling of large requests: a limited number at a time, with fair queuing by user.

use std::future::Future;

use machinery::status::Status;
use tokio::runtime::Handle;

use super::aside::has_threads;
use super::flows::too_many;
use crate::limits;
use crate::shared::Shared;

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
