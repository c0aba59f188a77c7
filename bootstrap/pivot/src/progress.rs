//! Reports the progress of a pivot.

/// The phases, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub enum Phase {
    /// Reading the source.
    Read,
    /// Looking for obstacles.
    Preflight,
    /// Pausing the source.
    Pause,
    /// Creating at the target.
    Copy,
    /// Reading the copies back and comparing them.
    Verify,
    /// Marking the source and unpausing the target.
    HandOver,
    /// Deleting at the source.
    Delete,
    /// Rolling the pivot back.
    RollBack,
}

/// Receives the progress.
pub trait Progress: Send + Sync {
    /// `done` of `total` objects have completed this phase.
    fn at(&self, phase: Phase, done: usize, total: usize);

    /// The providers of these objects hold them back with the annotation `annotation`.
    fn waits_for(&self, _objects: &[String], _annotation: &str) {}
}

/// Ignores the progress.
pub struct Silent;

impl Progress for Silent {
    fn at(&self, _: Phase, _: usize, _: usize) {}
}
