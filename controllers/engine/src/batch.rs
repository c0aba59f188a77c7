//! How many objects one reconcile creates.

/// The number of objects that one reconcile creates at most. Somebody may ask for two billion replicas, and a plan for all of them would
/// fill the memory.
pub const CREATED_AT_ONCE: usize = 500;

/// Returns how many objects a reconcile creates if `replicas` are wanted and `present` exist. If more are missing, the events of the created
/// objects cause the next reconcile.
pub fn to_create(replicas: i32, present: usize) -> usize {
    let wanted = usize::try_from(replicas).unwrap_or(0);
    wanted.saturating_sub(present).min(CREATED_AT_ONCE)
}
