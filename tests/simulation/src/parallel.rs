//! Runs worlds in parallel, each in its own thread.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// Runs `one` for each number on as many threads as there are processors. Returns the failures.
pub fn failures(numbers: Range<u64>, one: impl Fn(u64) -> Option<String> + Sync) -> Vec<String> {
    let next = AtomicU64::new(numbers.start);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= numbers.end {
                        return;
                    }
                    if let Some(failure) = one(number) {
                        failures.lock().push(failure);
                    }
                }
            });
        }
    });
    failures.into_inner()
}
