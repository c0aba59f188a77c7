//! The memory of reviews.

use std::time::Duration;

use server::webhooks::server::reservation::{Memory, Reservation};

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
    assert_eq!((memory.free(), memory.free_kept()), (20, 1));
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
