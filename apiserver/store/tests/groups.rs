//! Group commit, with an engine whose commits a test releases one by one.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, mpsc};

use bytes::Bytes;
use machinery::clock::Clock;
use store::*;

/// An engine that reports the size of each batch and waits for its release.
struct Gate {
    inner: Memory,
    begun: mpsc::Sender<usize>,
    through: Mutex<mpsc::Receiver<()>>,
}

impl Engine for Gate {
    fn load(&self) -> Result<Loaded, EngineError> {
        self.inner.load()
    }

    fn commit(&self, batch: &Batch) -> Result<(), EngineError> {
        self.begun.send(batch.changes.len()).unwrap();
        self.through.lock().unwrap().recv().unwrap();
        self.inner.commit(batch)
    }

    fn read(&self, revisions: &BTreeSet<Revision>) -> Result<Vec<Change>, EngineError> {
        self.inner.read(revisions)
    }

    fn name(&self) -> String {
        "gate".to_owned()
    }

    fn blocking(&self) -> bool {
        true
    }
}

struct Gated {
    store: Store,
    begun: Arc<Mutex<mpsc::Receiver<usize>>>,
    through: mpsc::Sender<()>,
}

impl Gated {
    async fn new() -> Self {
        Self::with(HistoryLimits::default()).await
    }

    async fn with(limits: HistoryLimits) -> Self {
        let (begun, begun_receiver) = mpsc::channel();
        let (through, through_receiver) = mpsc::channel();
        let gate = Gate { inner: Memory::new(), begun, through: Mutex::new(through_receiver) };
        let store = Store::open_with(gate, Clock::system(), limits).await.unwrap();
        Self { store, begun: Arc::new(Mutex::new(begun_receiver)), through }
    }

    /// Waits until the next batch has reached the engine, and returns its size.
    async fn batch(&self) -> usize {
        let begun = self.begun.clone();
        tokio::task::spawn_blocking(move || begun.lock().unwrap().recv().unwrap()).await.unwrap()
    }

    /// Starts a commit and returns when it is staged.
    async fn start(
        &self,
        operation: Operation,
    ) -> tokio::task::JoinHandle<Result<Vec<Arc<Event>>, CommitError>> {
        let store = self.store.clone();
        let task = tokio::spawn(async move { store.commit(vec![operation]).await });
        // The runtime has one thread, and staging precedes the first await, so the task has run after this yield.
        tokio::task::yield_now().await;
        task
    }
}

fn key(number: usize) -> Key {
    Key::new("", "configmaps", Some("default"), &format!("n-{number}")).unwrap()
}

fn create(number: usize) -> Operation {
    Operation::create(key(number), |_| Bytes::from_static(b"{}"))
}

#[tokio::test]
async fn what_comes_during_a_flush_shares_the_next_up_to_the_limit() {
    let gated = Gated::new().await;
    let first = gated.start(create(0)).await;
    assert_eq!(gated.batch().await, 1);
    let mut waiting = Vec::new();
    for number in 1..=limits::BATCH_OPERATIONS_MAX + 1 {
        waiting.push(gated.start(create(number)).await);
    }
    gated.through.send(()).unwrap();
    first.await.unwrap().unwrap();
    assert_eq!(gated.store.object_count(), 1, "nothing is visible before its own batch");
    assert_eq!(gated.batch().await, limits::BATCH_OPERATIONS_MAX);
    gated.through.send(()).unwrap();
    assert_eq!(gated.batch().await, 1);
    gated.through.send(()).unwrap();
    for task in waiting {
        task.await.unwrap().unwrap();
    }
    assert_eq!(gated.store.object_count(), limits::BATCH_OPERATIONS_MAX + 2);
}

#[tokio::test]
async fn a_refusal_is_not_heard_before_its_reason_can_be_read() {
    let gated = Gated::new().await;
    let first = gated.start(create(0)).await;
    assert_eq!(gated.batch().await, 1);
    let refused = gated.start(create(0)).await;
    let built_upon = gated.start(Operation::update(key(0), Revision(2), |_| Bytes::from_static(b"[]"))).await;
    assert!(!refused.is_finished());
    assert_eq!((gated.store.get(&key(0)), gated.store.revision()), (None, Revision(1)));
    gated.through.send(()).unwrap();
    assert!(first.await.unwrap().is_ok());
    assert_eq!(gated.batch().await, 1);
    gated.through.send(()).unwrap();
    assert!(matches!(refused.await.unwrap(), Err(CommitError::AlreadyExists { .. })));
    assert_eq!(built_upon.await.unwrap().unwrap()[0].revision(), Revision(3));
}

#[tokio::test]
async fn refusals_alone_leave_revision_and_history_as_they_are() {
    // All events may be trimmed at once.
    let gated = Gated::with(HistoryLimits { bytes: 0, ..HistoryLimits::default() }).await;
    let store = gated.store.clone();
    let first = gated.start(create(1)).await;
    assert_eq!(gated.batch().await, 1);
    let refused = gated.start(create(1)).await;
    gated.through.send(()).unwrap();
    let revision = first.await.unwrap().unwrap()[0].revision();
    assert!(matches!(refused.await.unwrap(), Err(CommitError::AlreadyExists { .. })));
    assert_eq!(store.revision(), revision);
    assert_eq!(store.list(&Prefix::all(), &Page::default()).revision, revision);
    let next = gated.start(create(2)).await;
    gated.batch().await;
    gated.through.send(()).unwrap();
    assert!(next.await.unwrap().unwrap()[0].revision() > revision);
}

#[tokio::test]
async fn what_has_begun_can_be_waited_for_although_its_callers_have_gone() {
    let gated = Gated::new().await;
    for number in 0..2 {
        gated.start(create(number)).await.abort();
    }
    let store = gated.store.clone();
    let waiting = tokio::spawn(async move {
        store.settled().await;
        store.object_count()
    });
    assert_eq!(gated.batch().await, 1);
    gated.through.send(()).unwrap();
    assert_eq!(gated.batch().await, 1);
    assert!(!waiting.is_finished());
    gated.through.send(()).unwrap();
    assert_eq!(waiting.await.unwrap(), 2);
}
