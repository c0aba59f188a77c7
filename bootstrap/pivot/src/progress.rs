//! How far a pivot is, for whoever watches.

/// The phases, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub enum Phase {
    /// Reading the source.
    Read,
    /// Looking for what stands in the way.
    Preflight,
    /// Pausing the source.
    Pause,
    /// Creating at the target.
    Copy,
    /// Reading back and comparing.
    Verify,
    /// Marking the source, unpausing the target.
    HandOver,
    /// Deleting at the source.
    Delete,
    /// Undoing.
    RollBack,
}

/// Takes note of progress.
pub trait Progress: Send + Sync {
    /// `done` of `total` objects are through this phase.
    fn at(&self, phase: Phase, done: usize, total: usize);
}

/// Nobody watches.
pub struct Silent;

impl Progress for Silent {
    fn at(&self, _: Phase, _: usize, _: usize) {}
}
