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
pub(super) struct Memory {
    shared: Arc<Semaphore>,
    /// The part for one review that gets no more from the shared part.
    kept: Arc<Semaphore>,
}

impl Memory {
    /// Creates a memory of `all` bytes, of which the size of the `largest` review is kept for one that would have to wait.
    pub(super) fn new(all: usize, largest: usize) -> Self {
        Self {
            shared: Arc::new(Semaphore::new(all.saturating_sub(largest))),
            kept: Arc::new(Semaphore::new(1)),
        }
    }

    /// Returns a reservation without memory.
    pub(super) fn reservation(&self) -> Reservation {
        Reservation { memory: self.clone(), shared: None, kept: None }
    }

    /// Returns how many shared bytes are free.
    #[cfg(test)]
    pub(super) fn free(&self) -> usize {
        self.shared.available_permits()
    }
}

/// The memory of one review, which is free again when this is dropped.
pub(super) struct Reservation {
    memory: Memory,
    shared: Option<OwnedSemaphorePermit>,
    kept: Option<OwnedSemaphorePermit>,
}

impl Reservation {
    /// Reserves further bytes, and waits until they are free.
    ///
    /// # Errors
    /// Never.
    pub(super) async fn add(&mut self, bytes: usize) -> Result<(), AcquireError> {
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

    const DEADLINE: Duration = Duration::from_secs(60);

    async fn reserved(memory: &Memory, bytes: usize) -> Reservation {
        let mut reservation = memory.reservation();
        reservation.add(bytes).await.unwrap();
        reservation
    }

    async fn waits(future: impl Future) -> bool {
        tokio::time::timeout(Duration::ZERO, future).await.is_err()
    }

    #[tokio::test]
    async fn memory_is_limited_and_shared() {
        let memory = Memory::new(30, 10);
        let first = reserved(&memory, 8).await;
        let second = reserved(&memory, 12).await;
        assert_eq!(memory.free(), 0);
        let last = reserved(&memory, 1).await;
        assert!(waits(reserved(&memory, 1)).await);
        drop(last);
        let last = reserved(&memory, 10).await;
        drop(first);
        assert!(waits(reserved(&memory, 9)).await, "the kept part is in use");
        let third = reserved(&memory, 8).await;
        drop((second, third, last));
        assert_eq!((memory.free(), memory.kept.available_permits()), (20, 1));
    }

    /// Together they need more than there is. Without the kept part each would wait for another one.
    #[tokio::test]
    async fn reviews_of_which_a_part_has_arrived_all_come_to_an_end() {
        let memory = Memory::new(20, 10);
        let review = async || {
            let mut reservation = memory.reservation();
            for _ in 0..10 {
                reservation.add(1).await.unwrap();
                tokio::task::yield_now().await;
            }
        };
        let reviews = futures::future::join_all((0..10).map(|_| review()));
        tokio::time::timeout(DEADLINE, reviews).await.unwrap();
        assert_eq!(memory.free(), 10);
    }

    #[tokio::test]
    async fn memory_of_work_is_reserved_until_the_work_ends() {
        let memory = Memory::new(20, 10);
        let reservation = reserved(&memory, 4).await;
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let work = reservation.blocking(move || ended.recv());
        assert!(waits(work).await);
        assert_eq!(memory.free(), 6, "nobody waits for it any more");
        end.send(()).unwrap();
        let free = async {
            while memory.free() < 10 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(DEADLINE, free).await.unwrap();
    }

    #[tokio::test]
    async fn memory_of_work_that_panics_is_free() {
        let memory = Memory::new(20, 10);
        let reservation = reserved(&memory, 4).await;
        assert!(reservation.blocking(|| panic!("as it must")).await.is_err());
        assert_eq!(memory.free(), 10);
    }
}
