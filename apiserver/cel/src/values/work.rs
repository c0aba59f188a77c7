//! What an evaluation really does: values copied and compared, texts made. cel-go's costs leave much of that out: adding two lists
//! costs as much as adding two numbers, and values that hold another one twice, again and again, are cheap to make and endless to walk.
//!
//! The count belongs to the thread, for an evaluation never leaves it. Walks over values go through [`super::value::Val::items`] and
//! its like, which have nothing more to give once it is used up, so that every walk ends.

use std::cell::Cell;

use crate::limits::MAX_CEL_CALL_WORK;

/// Bytes of text that count as one value.
const TEXT: usize = 16;
/// Work of one state of a pattern.
const STATE: u64 = 50;
/// Work that costs one of cel-go's units.
const PER_COST: u64 = 10;
/// Work that no further cost is taken for: what small values need.
const FREE: u64 = 100_000;

thread_local! {
    static DONE: Cell<u64> = const { Cell::new(0) };
}

/// Begins an evaluation.
pub(crate) fn begin() {
    DONE.set(0);
}

/// Counts `values` values.
pub(crate) fn count(values: usize) {
    DONE.set(DONE.get().saturating_add(values as u64));
}

/// Counts `bytes` bytes of text.
pub(crate) fn text(bytes: usize) {
    count(bytes / TEXT);
}

/// Counts the compilation of a pattern, whose states are more work than values are. False when the evaluation may do no more.
pub(crate) fn pattern(pattern: &str) -> bool {
    count(usize::try_from(machinery::pattern::size(pattern).saturating_mul(STATE)).unwrap_or(usize::MAX));
    !is_exceeded()
}

/// Whether the evaluation has done more than it may.
pub(crate) fn is_exceeded() -> bool {
    DONE.get() > MAX_CEL_CALL_WORK
}

/// The work so far as CEL cost, for functions whose cost in cel-go is lower than the work that they do.
pub(crate) fn cost() -> u64 {
    if DONE.get() > FREE { DONE.get() / PER_COST } else { 0 }
}
