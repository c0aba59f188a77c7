//! The time until which the deletion of a Cluster can be undone.

use chrono::{DateTime, Utc};
use schemas::cluster::Cluster;
use schemas::deletion_grace;

use crate::time;

/// The reason of the condition `Deleting` of a Cluster whose deletion can be undone.
pub const REASON: &str = "WaitingForDeletionGracePeriod";

/// Returns the time before which nothing of a Cluster may be deleted; `None` if it is not being deleted, or nothing holds its deletion.
///
/// # Errors
/// A sentence: the annotation cannot be read, and holds the deletion until it is corrected or removed. Admission lets no such value in, but it
/// may be absent in another's cluster.
pub fn end(cluster: &Cluster) -> Option<Result<DateTime<Utc>, String>> {
    let deleted = cluster.metadata.deletion_timestamp.as_ref().map(time::utc)?;
    let value = deletion_grace::value(cluster)?;
    let period = deletion_grace::parse(value)
        .map_err(|why| format!("annotation {}: {value:?} {why}", deletion_grace::ANNOTATION));
    // A period has at most 30 days, so the sum exists.
    Some(period.map(|period| deleted + period))
}
