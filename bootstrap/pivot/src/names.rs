//! Labels, annotations and names that a pivot reads and writes.

/// On every CustomResourceDefinition that clusterctl installed; only their objects are looked at.
pub const CLUSTERCTL: &str = "clusterctl.cluster.x-k8s.io";
/// On a CustomResourceDefinition or an object: it moves.
pub const MOVE: &str = "clusterctl.cluster.x-k8s.io/move";
/// On a CustomResourceDefinition or an object: it moves, and so does everything that it owns.
pub const MOVE_HIERARCHY: &str = "clusterctl.cluster.x-k8s.io/move-hierarchy";
/// A provider holds an object back until it is ready to move.
pub const BLOCK_MOVE: &str = "clusterctl.cluster.x-k8s.io/block-move";
/// Tells admission webhooks of the source that an object is deleted because it has moved.
pub const DELETE_FOR_MOVE: &str = "clusterctl.cluster.x-k8s.io/delete-for-move";
/// On every CustomResourceDefinition that clusterctl installed: the provider that it belongs to.
pub const PROVIDER: &str = "cluster.x-k8s.io/provider";
/// The cluster that an object belongs to.
pub const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
/// Pauses the object that carries it.
pub const PAUSED: &str = "cluster.x-k8s.io/paused";
/// On a Cluster of the source that is about to move: its providers make ready what they have to hand over.
pub const MOVING: &str = "firstlight.dev/moving";
/// On an object whose provider has something to hand over that stands in no object yet: `needed`, until it is [`HAND_OVER_READY`].
pub const HAND_OVER: &str = "firstlight.dev/hand-over";
/// All that the provider has to hand over stands in objects.
pub const HAND_OVER_READY: &str = "ready";
/// On a source object: the server that has taken it over.
pub const MOVED_TO: &str = "firstlight.dev/moved-to";
/// On source objects that are about to be deleted: the batch, so that one request deletes exactly these.
pub const BATCH: &str = "firstlight.dev/pivot-batch";
/// Who writes where no manager of the source can be named instead.
pub const FIELD_MANAGER: &str = "firstlight-pivot";
/// The group of the Cluster and its like.
pub const CLUSTER_GROUP: &str = "cluster.x-k8s.io";
/// The group of ClusterResourceSets.
pub const ADDONS_GROUP: &str = "addons.cluster.x-k8s.io";
/// The group of clusterctl's inventory.
pub const INVENTORY_GROUP: &str = "clusterctl.cluster.x-k8s.io";

/// What a pivot, and providers that answer it, write on objects of the source. None of it arrives.
pub const OF_THE_PIVOT: &[&str] = &[MOVING, HAND_OVER, MOVED_TO, DELETE_FOR_MOVE, BATCH];
