//! Labels, annotations and names that a pivot reads and writes.

/// On every CustomResourceDefinition that clusterctl installed; a pivot looks only at objects of these.
pub const CLUSTERCTL: &str = "clusterctl.cluster.x-k8s.io";
/// On a CustomResourceDefinition or an object: the object moves, or all objects of the kind do.
pub const MOVE: &str = "clusterctl.cluster.x-k8s.io/move";
/// On a CustomResourceDefinition or an object: as [`MOVE`], together with everything that the object owns.
pub const MOVE_HIERARCHY: &str = "clusterctl.cluster.x-k8s.io/move-hierarchy";
/// A provider holds back an object that has this annotation until it is ready to move.
pub const BLOCK_MOVE: &str = "clusterctl.cluster.x-k8s.io/block-move";
/// Tells admission webhooks of the source that an object is deleted because it has moved.
pub const DELETE_FOR_MOVE: &str = "clusterctl.cluster.x-k8s.io/delete-for-move";
/// On every CustomResourceDefinition that clusterctl installed: the provider that it belongs to.
pub const PROVIDER: &str = "cluster.x-k8s.io/provider";
/// The cluster that an object belongs to.
pub const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
/// Pauses the object that carries it.
pub const PAUSED: &str = "cluster.x-k8s.io/paused";
/// On a Cluster of the source that is about to move: its providers prepare the data that they have to hand over.
pub const MOVING: &str = "firstlight.dev/moving";
/// On an object whose provider has to hand over data that is not in any object yet: `needed`, then [`HAND_OVER_READY`].
pub const HAND_OVER: &str = "firstlight.dev/hand-over";
/// Everything that the provider has to hand over is now in objects.
pub const HAND_OVER_READY: &str = "ready";
/// On an object that its provider has paused for the move, and that nobody at the target might resume: the annotation that pauses it. It
/// is removed at the target when the Clusters there are active.
pub const PAUSED_BY: &str = "firstlight.dev/paused-by";
/// On a source object: the server that it moved to.
pub const MOVED_TO: &str = "firstlight.dev/moved-to";
/// On source objects that are about to be deleted: the batch, so that one request deletes exactly these objects.
pub const BATCH: &str = "firstlight.dev/pivot-batch";
/// Field manager of writes for which the source has no manager to name instead.
pub const FIELD_MANAGER: &str = "firstlight-pivot";
/// The group of Clusters, Machines and the other core kinds of Cluster API.
pub const CLUSTER_GROUP: &str = "cluster.x-k8s.io";
/// The group of ClusterResourceSets.
pub const ADDONS_GROUP: &str = "addons.cluster.x-k8s.io";
/// The group of clusterctl's inventory.
pub const INVENTORY_GROUP: &str = "clusterctl.cluster.x-k8s.io";

/// Labels and annotations that a pivot, and providers that respond to it, write on objects of the source. The target's copies have none
/// of them.
pub const OF_THE_PIVOT: &[&str] = &[MOVING, HAND_OVER, PAUSED_BY, MOVED_TO, DELETE_FOR_MOVE, BATCH];
