//! The Node of a DevMachine: what only its infrastructure knows. Pure.

use k8s_openapi::api::core::v1::Node;
use schemas::cluster::MachineAddress;

/// The taint of a Node that waits for a cloud provider.
const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// Returns whether a Node waits for a cloud provider.
pub(super) fn is_uninitialized(node: &Node) -> bool {
    let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    taints.into_iter().any(|taint| taint.key == UNINITIALIZED)
}

/// Returns whether the kubelet of a Node says that it is ready.
pub(super) fn is_ready(node: &Node) -> bool {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// Returns the Node with its provider ID, and without the taint for cloud providers; `None` if nothing is to be changed.
pub(super) fn wanted(node: &Node, provider_id: &str) -> Option<Node> {
    let has_id =
        node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()).is_some_and(|id| !id.is_empty());
    if has_id && !is_uninitialized(node) {
        return None;
    }
    let mut wanted = node.clone();
    let spec = wanted.spec.get_or_insert_default();
    if !has_id {
        spec.provider_id = Some(provider_id.to_owned());
    }
    if let Some(taints) = &mut spec.taints {
        taints.retain(|taint| taint.key != UNINITIALIZED);
    }
    Some(wanted)
}

/// Adds the internal addresses of a Node that the machine does not know, as Cluster API's provider does before it removes the taint.
pub(super) fn add_addresses(addresses: &mut Vec<MachineAddress>, node: &Node) {
    let found = node.status.iter().flat_map(|status| status.addresses.iter().flatten());
    for address in found.filter(|address| address.type_ == "InternalIP") {
        let address = MachineAddress { address: address.address.clone(), type_: address.type_.clone() };
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
}
