//! The actual work of an evaluation: values copied and compared, and text created. cel-go's cost does not cover much of
//! it. For example, adding two lists costs as much as adding two numbers, and values that contain another value twice,
//! repeatedly, are cheap to create and take exponential time to walk.
//!
//! The counter is thread-local, because an evaluation never leaves its thread. Walks over values go through
//! [`super::value::Val::items`] and similar methods, which return nothing once the limit is exceeded, so that every
//! walk ends.

use std::cell::Cell;

use crate::limits::MAX_CEL_CALL_WORK;

/// Number of bytes of text that count as one value.
const TEXT: usize = 16;
/// Work for one instruction of a regular expression.
const STATE: u64 = 50;
/// Work that corresponds to one of cel-go's cost units.
const PER_COST: u64 = 10;
/// Work without additional cost, which small values need.
const FREE: u64 = 100_000;

thread_local! {
    static DONE: Cell<u64> = const { Cell::new(0) };
}

/// Resets the counter at the beginning of an evaluation.
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

/// Counts the compilation of a pattern, by its size. Returns false if the evaluation has exceeded its limit.
pub(crate) fn pattern(tree: &machinery::pattern::Tree) -> bool {
    count(usize::try_from(tree.size().saturating_mul(STATE)).unwrap_or(usize::MAX));
    !is_exceeded()
}

/// Ends the evaluation, which has made a value that must not be walked.
pub(crate) fn exceed() {
    DONE.set(DONE.get().max(MAX_CEL_CALL_WORK + 1));
}

/// Returns whether the evaluation has exceeded its work limit.
pub(crate) fn is_exceeded() -> bool {
    DONE.get() > MAX_CEL_CALL_WORK
}

/// Returns the work so far as CEL cost, for functions whose cost in cel-go is lower than their work.
pub(crate) fn cost() -> u64 {
    if DONE.get() > FREE { DONE.get() / PER_COST } else { 0 }
}
