//! The grace period of a Cluster's deletion: nothing of the Cluster is deleted before it has passed, so that the deletion can be undone.
//!
//! The annotation is the whole state. No client can add or lengthen it while the Cluster is being deleted, and the Cluster's controller
//! removes it, in a write that fails if the Cluster has changed, before anything is deleted. So whoever finds it knows that the tear-down
//! has not begun.

use std::time::Duration;

use machinery::duration;

use crate::cluster::Cluster;

/// Annotation of a Cluster: how long its deletion can be undone, as a duration such as `10m`.
pub const ANNOTATION: &str = "firstlight.dev/deletion-grace-period";
/// The longest period: 30 days.
pub const LONGEST: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Reads a value of [`ANNOTATION`].
///
/// # Errors
/// A sentence: what a value must be.
pub fn parse(value: &str) -> Result<Duration, String> {
    let period = duration::parse(value).filter(|period| !period.is_zero() && *period <= LONGEST);
    period.ok_or_else(|| {
        format!("must be a duration of at most {} hours, such as 10m or 1h30m", LONGEST.as_secs() / 3600)
    })
}

/// Returns the value of [`ANNOTATION`].
pub fn value(cluster: &Cluster) -> Option<&str> {
    cluster.metadata.annotations.as_ref()?.get(ANNOTATION).map(String::as_str)
}

/// Returns whether the Cluster is being deleted, and nothing of it may be deleted yet.
pub fn holds(cluster: &Cluster) -> bool {
    cluster.metadata.deletion_timestamp.is_some() && value(cluster).is_some()
}

/// Returns whether the Cluster is being deleted, and its objects with it.
pub fn is_torn_down(cluster: &Cluster) -> bool {
    cluster.metadata.deletion_timestamp.is_some() && value(cluster).is_none()
}
