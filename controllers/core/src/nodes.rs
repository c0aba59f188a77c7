//! What Machines and MachinePools share about their Nodes: how a Node is found, and the names of what is set on it.

use std::sync::Arc;

use engine::Objects;
use engine::names::CLUSTER_NAME;
use k8s_openapi::api::core::v1::Node;

/// Annotation with the namespace of the Node's Cluster.
const CLUSTER_NAMESPACE: &str = "cluster.x-k8s.io/cluster-namespace";
/// Annotation with the kind of the Machine's controller, or `MachinePool`.
const OWNER_KIND: &str = "cluster.x-k8s.io/owner-kind";
/// Annotation with the name of that object.
const OWNER_NAME: &str = "cluster.x-k8s.io/owner-name";
/// Label of Nodes whose machines may be interrupted by their provider.
pub const INTERRUPTIBLE: &str = "cluster.x-k8s.io/interruptible";
/// Taint of Nodes whose labels have not been set yet.
pub const UNINITIALIZED: &str = "node.cluster.x-k8s.io/uninitialized";

/// Names the Cluster of a Node, and the kind and name of what its machine belongs to, if there is anything.
pub fn set_owner(node: &mut Node, cluster: &str, namespace: Option<&str>, owner: Option<(&str, &str)>) {
    let annotations = node.metadata.annotations.get_or_insert_default();
    annotations.insert(CLUSTER_NAME.to_owned(), cluster.to_owned());
    annotations.insert(CLUSTER_NAMESPACE.to_owned(), namespace.unwrap_or_default().to_owned());
    for (key, value) in [(OWNER_KIND, owner.map(|(kind, _)| kind)), (OWNER_NAME, owner.map(|(_, name)| name))]
    {
        match value {
            Some(value) => drop(annotations.insert(key.to_owned(), value.to_owned())),
            None => drop(annotations.remove(key)),
        }
    }
}

/// Index of Nodes by provider ID.
const BY_PROVIDER_ID: &str = "providerID";

/// Returns the Nodes with this provider ID. The first call in a cluster makes the index.
pub fn with_provider_id(nodes: &Objects<Node>, id: &str) -> Vec<Arc<Node>> {
    nodes
        .index(BY_PROVIDER_ID, |node| node.spec.iter().filter_map(|spec| spec.provider_id.clone()).collect());
    nodes.by_index(BY_PROVIDER_ID, id)
}
