//! Handling of large requests.

use std::future::Future;

use machinery::status::Status;

use crate::shared::Shared;

impl Shared {
    /// Runs `work` for this user, which processes `bytes` bytes, within [`limits::REQUEST`].
    ///
    /// # Errors
    /// Returns the error of `work`; 429 if too many large requests wait; 504 if the work takes too long.
    pub(crate) async fn aside<T: Send>(
        &self,
        user: &str,
        bytes: usize,
        work: impl Future<Output = Result<T, Status>> + Send,
    ) -> Result<T, Status> {
        self.large.of_user(user).perform(bytes, work).await?
    }
}
