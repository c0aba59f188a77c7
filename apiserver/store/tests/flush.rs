//! Writes of a runtime that stops.

#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::sync::Arc;
use std::time::Duration;

use store::Batch;
use store::Memory;
use store::testing::commit_blocking;

#[test]
fn a_write_that_a_stopping_runtime_does_not_begin_is_not_a_failure() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (stopped, running) = (runtime(), runtime());
    let handle = stopped.handle().clone();
    stopped.shutdown_background();
    let write = async {
        let _context = handle.enter();
        commit_blocking(Arc::new(Memory::new()), Batch::default()).await
    };
    let outcome = running.block_on(async { tokio::time::timeout(Duration::from_millis(10), write).await });
    assert!(outcome.is_err(), "the write has an answer");
}
