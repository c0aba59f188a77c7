//! Runs simulations in parallel, each in its own thread.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

/// A long run says how far it has come each time that it has run this many numbers.
const PROGRESS: usize = 100;

/// Runs `one` for each number on as many threads as there are processors. Returns the failures.
#[expect(clippy::print_stdout, reason = "a run of an hour that is cut off has shown something, too")]
pub fn failures(numbers: Range<u64>, one: impl Fn(u64) -> Option<String> + Sync) -> Vec<String> {
    let next = AtomicU64::new(numbers.start);
    let (failures, done) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= numbers.end {
                        return;
                    }
                    if let Some(failure) = one(number) {
                        println!("{failure}");
                        failures.lock().push(failure);
                    }
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    if done.is_multiple_of(PROGRESS) {
                        let failed = failures.lock().len();
                        println!("{done} of {} done, {failed} failed", numbers.end - numbers.start);
                    }
                }
            });
        }
    });
    failures.into_inner()
}
