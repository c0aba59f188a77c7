//! The memory of reviews: the bytes of all reviews that are read or answered at the same time are limited.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// The memory for all reviews.
pub(super) struct Memory(Arc<Semaphore>);

impl Memory {
    /// Creates the memory with its size in bytes.
    pub(super) fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes)))
    }

    /// Reserves bytes, and waits until they are free.
    ///
    /// # Errors
    /// Never.
    pub(super) async fn reserve(&self, bytes: usize) -> Result<Reservation, AcquireError> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.0.clone().acquire_many_owned(bytes).await.map(Reservation)
    }

    /// Returns how many bytes are free.
    #[cfg(test)]
    pub(super) fn free(&self) -> usize {
        self.0.available_permits()
    }
}

/// The memory of one review, which is free again when this is dropped.
pub(super) struct Reservation(OwnedSemaphorePermit);

impl Reservation {
    /// Returns an answer that keeps the memory. HTTP drops a body as soon as its bytes wait to be sent, but these bytes only when they are
    /// sent.
    pub(super) fn answer(self, text: String) -> Bytes {
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
