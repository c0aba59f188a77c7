//! Limits for several pieces of work together, such as the rules of all values of one object.

use std::cell::Cell;
use std::thread::LocalKey;

/// What the work of a thread may still use up, or `None` without a limit.
pub type Left = Cell<Option<u64>>;

/// Runs `work` with the limit `most`; whoever uses something up takes it off `left`. Inside of work that is limited, the limit is the same one.
pub fn limited<T>(left: &'static LocalKey<Left>, most: u64, work: impl FnOnce() -> T) -> T {
    if left.get().is_some() {
        return work();
    }
    left.set(Some(most));
    // Also if the work panics: the thread goes on with other work.
    let _end = End(left);
    work()
}

struct End(&'static LocalKey<Left>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.set(None);
    }
}
