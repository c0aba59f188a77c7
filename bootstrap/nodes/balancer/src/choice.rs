//! The choice of a server for a connection. Everything here is pure.

use system_containers::balancer::Health;

/// What is known of a server when a connection comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Whether it answers.
    pub health: Health,
    /// Whether it gets connections only if no other server takes them.
    pub drain: bool,
    /// The number of its connections.
    pub connections: usize,
}

/// Returns the indices of servers in the order in which a connection is tried with them. The first one is that with the fewest connections of
/// those that are healthy; of several, each has its turn. One that drains comes after them. Last come those of which nothing good is known: a
/// server that takes a connection is better than none.
pub fn order(candidates: &[Candidate], turn: usize) -> Vec<usize> {
    let count = candidates.len().max(1);
    let mut all: Vec<usize> = (0..candidates.len()).collect();
    all.sort_by_key(|index| {
        let candidate = &candidates[*index];
        let is_unhealthy = candidate.health != Health::Healthy;
        let distance = (index + count - turn % count) % count;
        (is_unhealthy, candidate.drain, candidate.connections, distance)
    });
    all
}
