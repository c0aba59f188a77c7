//! What Machines and MachinePools share about their Nodes: how a Node is found, and the names of what is set on it.

use std::sync::Arc;

use engine::Objects;
use k8s_openapi::api::core::v1::Node;

/// Annotation with the namespace of the Node's Cluster.
pub const CLUSTER_NAMESPACE: &str = "cluster.x-k8s.io/cluster-namespace";
/// Annotation with the kind of the Machine's controller, or `MachinePool`.
pub const OWNER_KIND: &str = "cluster.x-k8s.io/owner-kind";
/// Annotation with the name of that object.
pub const OWNER_NAME: &str = "cluster.x-k8s.io/owner-name";
/// Label of Nodes whose machines may be interrupted by their provider.
pub const INTERRUPTIBLE: &str = "cluster.x-k8s.io/interruptible";
/// Taint of Nodes whose labels have not been set yet.
pub const UNINITIALIZED: &str = "node.cluster.x-k8s.io/uninitialized";

/// Index of Nodes by provider ID.
const BY_PROVIDER_ID: &str = "providerID";

/// Returns the Nodes with this provider ID. The first call in a cluster makes the index.
pub fn with_provider_id(nodes: &Objects<Node>, id: &str) -> Vec<Arc<Node>> {
    nodes
        .index(BY_PROVIDER_ID, |node| node.spec.iter().filter_map(|spec| spec.provider_id.clone()).collect());
    nodes.by_index(BY_PROVIDER_ID, id)
}
