//! The memory of reviews: the bytes of all reviews that are read or answered at the same time are limited.
//!
//! Memory is reserved for what has arrived, not for what a client announces, so clients that send nothing have none. Reviews of which a part
//! has arrived wait for one another when no memory is free. One of them at a time may take all that it needs, from a part that is kept for the
//! largest review.
//!
//! Invariant: one of the reviews that have memory does not wait for more.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, spawn_blocking};

/// The memory for all reviews. Clones share it.
#[derive(Clone)]
pub struct Memory {
    shared: Arc<Semaphore>,
    /// The part for one review that gets no more from the shared part.
    kept: Arc<Semaphore>,
}

impl Memory {
    /// Creates a memory of `all` bytes, of which the size of the `largest` review is kept for one that would have to wait.
    pub fn new(all: usize, largest: usize) -> Self {
        Self {
            shared: Arc::new(Semaphore::new(all.saturating_sub(largest))),
            kept: Arc::new(Semaphore::new(1)),
        }
    }

    /// Returns a reservation without memory.
    pub fn reservation(&self) -> Reservation {
        Reservation { memory: self.clone(), shared: None, kept: None }
    }

    /// Returns how many bytes of the shared part are free.
    pub fn free(&self) -> usize {
        self.shared.available_permits()
    }

    /// Returns how many kept parts are free, of which there is one.
    pub fn free_kept(&self) -> usize {
        self.kept.available_permits()
    }
}

/// The memory of one review, which is free again when this is dropped.
pub struct Reservation {
    memory: Memory,
    shared: Option<OwnedSemaphorePermit>,
    kept: Option<OwnedSemaphorePermit>,
}

impl Reservation {
    /// Reserves further bytes, and waits until they are free.
    ///
    /// # Errors
    /// Never.
    pub async fn add(&mut self, bytes: usize) -> Result<(), AcquireError> {
        if self.kept.is_some() {
            return Ok(());
        }
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        tokio::select! {
            biased;
            more = self.memory.shared.clone().acquire_many_owned(bytes) => match &mut self.shared {
                Some(shared) => shared.merge(more?),
                none => *none = Some(more?),
            },
            kept = self.memory.kept.clone().acquire_owned() => self.kept = Some(kept?),
        }
        Ok(())
    }

    /// Runs what may take long where it delays no other request. The memory is reserved until `work` ends, even if nobody waits for it any
    /// more.
    ///
    /// # Errors
    /// `work` panics, which ends only this request.
    pub async fn blocking<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<(T, Self), JoinError> {
        spawn_blocking(move || (work(), self)).await
    }

    /// Returns an answer that keeps the memory. HTTP drops a body as soon as its bytes wait to be sent, but these bytes only when they are
    /// sent.
    pub fn answer(self, text: String) -> Bytes {
        Bytes::from_owner(Answer { text, _reservation: self })
    }
}

struct Answer {
    text: String,
    _reservation: Reservation,
}

impl AsRef<[u8]> for Answer {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}
