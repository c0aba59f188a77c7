//! Labels, annotations and names that a pivot reads and writes.

pub use schemas::hand_over::{HAND_OVER, LISTENER, MOVED_TO, MOVING, PAUSED_BY};
pub use schemas::names::{CLUSTER_NAME, PAUSED};

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
/// The provider whose controllers each firstlight has, whether somebody uses them or not. Elsewhere it is only needed for objects that it
/// reconciles.
pub const ALWAYS_LISTED: &str = "infrastructure-docker";
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

/// The group of BareMetalHosts.
pub const METAL3_GROUP: &str = "metal3.io";
/// The group of the kinds with which this program boots machines.
pub const NETBOOT_GROUP: &str = "netboot.firstlight.dev";
/// The ConfigMap in which a server of this program names the providers whose controllers run in its process.
pub const BUILT_IN_PROVIDERS: &str = "/api/v1/namespaces/kube-system/configmaps/firstlight-providers";

/// Labels and annotations that a pivot, and providers that respond to it, write on objects of the source. The target's copies have none
/// of them, nor the name of what listens for a simulated cluster: nothing does there yet.
pub const OF_THE_PIVOT: &[&str] = &[MOVING, HAND_OVER, LISTENER, PAUSED_BY, MOVED_TO, DELETE_FOR_MOVE, BATCH];
