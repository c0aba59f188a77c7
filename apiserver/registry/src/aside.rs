//! Work on many bytes, which must not delay the requests of others.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::{BoxFuture, Either};
use machinery::status::Status;
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::limits::ASIDE_FROM_BYTES;

/// The turns of those whose requests are large.
pub trait Turns: Send + Sync {
    /// Waits until it is this request's turn, and performs `work`.
    ///
    /// # Errors
    /// 429 if too much is waiting, 504 if the work takes too long.
    fn perform<'a>(&'a self, work: BoxFuture<'a, ()>) -> BoxFuture<'a, Result<(), Status>>;
}

/// How the large work of a request is performed: in turn with that of other users, or at once if nobody else has to wait for it.
#[derive(Clone, Default)]
pub struct Aside(Option<Arc<dyn Turns>>);

impl fmt::Debug for Aside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "in turn" } else { "at once" })
    }
}

impl Aside {
    /// Large work takes these turns.
    pub fn in_turn(turns: Arc<dyn Turns>) -> Self {
        Self(Some(turns))
    }

    /// Performs `work`, which looks through about `bytes` bytes. Large work is performed in a blocking section of the runtime, and small work
    /// in place. In a single-threaded runtime, as in the simulation, all work is performed in place, so that the same seed gives the same
    /// history.
    ///
    /// # Errors
    /// 429 if too much large work is waiting, 504 if it takes too long.
    pub fn perform<T: Send>(
        &self,
        bytes: usize,
        work: impl Future<Output = T> + Send,
    ) -> impl Future<Output = Result<T, Status>> + Send {
        if bytes < ASIDE_FROM_BYTES || !has_threads() || is_aside() {
            return Either::Left(work.map(Ok));
        }
        // On the heap, because a future has room for all that it may become, and most work is small.
        Either::Right(self.perform_large(Box::pin(work)))
    }

    async fn perform_large<T: Send>(
        &self,
        work: Pin<Box<impl Future<Output = T> + Send>>,
    ) -> Result<T, Status> {
        let Some(turns) = &self.0 else { return Ok(blocking(work)) };
        let mut done = None;
        let place = &mut done;
        turns.perform(Box::pin(async move { *place = Some(work.await) })).await?;
        done.ok_or_else(|| Status::internal("the work was given up"))
    }
}

/// Returns whether the runtime has other threads, which go on during a blocking section.
pub fn has_threads() -> bool {
    Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread)
}

thread_local! {
    static IS_ASIDE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Returns whether this thread is in a blocking section already, so that what it does delays nobody.
pub fn is_aside() -> bool {
    IS_ASIDE.get()
}

/// Performs `work` in a blocking section of a runtime with several threads.
pub fn blocking<T>(work: impl Future<Output = T>) -> T {
    /// Restores the mark, also after a panic.
    struct Mark(bool);
    impl Drop for Mark {
        fn drop(&mut self) {
            IS_ASIDE.set(self.0);
        }
    }
    let _mark = Mark(IS_ASIDE.replace(true));
    tokio::task::block_in_place(|| Handle::current().block_on(work))
}
