//! The memory of reviews: the bytes of all reviews that are read or answered at the same time are limited.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, spawn_blocking};

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
    /// Runs what may take long where it delays no other request. The memory is reserved until `work` ends, even if nobody waits for it any
    /// more.
    ///
    /// # Errors
    /// `work` panics, which ends only this request.
    pub(super) async fn blocking<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<(T, Self), JoinError> {
        spawn_blocking(move || (work(), self)).await
    }

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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn memory_of_work_is_reserved_until_the_work_ends() {
        let memory = Memory::new(10);
        let reservation = memory.reserve(4).await.unwrap();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let work = reservation.blocking(move || ended.recv());
        assert!(tokio::time::timeout(Duration::ZERO, work).await.is_err(), "nobody waits any more");
        assert_eq!(memory.free(), 6);
        end.send(()).unwrap();
        let all = tokio::time::timeout(Duration::from_secs(60), memory.reserve(10));
        assert!(all.await.is_ok());
    }

    #[tokio::test]
    async fn memory_of_work_that_panics_is_free() {
        let memory = Memory::new(10);
        let reservation = memory.reserve(4).await.unwrap();
        assert!(reservation.blocking(|| panic!("as it must")).await.is_err());
        assert_eq!(memory.free(), 10);
    }
}
