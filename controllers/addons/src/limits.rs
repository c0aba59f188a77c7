//! The limits of this crate. The depth of a document and the expansion of its aliases are limited by `machinery::limits`.

use std::time::Duration;

/// Maximum size of the values of one Secret or ConfigMap in bytes. Kubernetes accepts objects of about 1 MiB, and this program of 3 MiB.
pub const MAX_RESOURCE_BYTES: usize = 3 * 1024 * 1024;
/// Maximum number of objects in one Secret or ConfigMap.
pub const MAX_RESOURCE_OBJECTS: usize = 2000;
/// Maximum cost of all objects of one Secret or ConfigMap: the bytes of their texts, and [`VALUE_COST`] for each of their values. Aliases of
/// YAML can make an object much larger than its text.
pub const MAX_RESOURCE_COST: usize = 32 * 1024 * 1024;
/// Cost of a value besides its text.
pub const VALUE_COST: usize = 16;
/// Number of Clusters of one ClusterResourceSet that are worked on at the same time. Each has its own connection, and a dead one occupies
/// one place until its client gives up. The first request without an answer ends the work on that cluster until the next attempt.
pub const CLUSTERS_AT_ONCE: usize = 16;
/// Time limit of all work on one workload cluster in one reconcile.
pub const CLUSTER_TIMEOUT: Duration = Duration::from_secs(60);
/// Time limit of one reconcile of a ClusterResourceSet, which may work on hundreds of clusters.
pub const RECONCILE: Duration = Duration::from_secs(15 * 60);
/// Number of failures that a condition lists.
pub const FAILURES_NAMED: usize = 5;
/// Maximum size of the reason of one failure in a condition, in bytes.
pub const MAX_REASON: usize = 400;
