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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_reconcile_creates_more_than_the_limit() {
        let rows = [
            (3, 1, 2),
            (3, 3, 0),
            (3, 5, 0),
            (-1, 0, 0),
            (500, 0, 500),
            (501, 0, 500),
            (501, 1, 500),
            (i32::MAX, 0, 500),
        ];
        for (replicas, present, expected) in rows {
            assert_eq!(to_create(replicas, present), expected, "{replicas} {present}");
        }
    }
}
