//! The Nodes of a MachinePool: `status.nodeRefs`, and the metadata and taints that the MachinePool sets on them.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::object::{is_deleting, uid};
use engine::{NamespacedName, Step};
use k8s_openapi::api::core::v1::Node;
use schemas::cluster::MachinePool;
use schemas::meta::ObjectReference;

use super::observed::Observed;
use super::plan::Plan;
use crate::nodes::{INTERRUPTIBLE, UNINITIALIZED, set_owner};

/// Plans `status.nodeRefs`, the changes of the Nodes, and the deletion of those whose machines are gone.
pub fn plan(plan: &mut Plan, observed: &Observed) {
    let Some(nodes) = &observed.nodes else { return };
    let ids = plan.wanted.spec.provider_id_list.clone();
    let replicas = plan.wanted.status.as_ref().and_then(|status| status.replicas);
    // The infrastructure has machines, and does not say which ones yet.
    if ids.is_empty() && replicas != Some(0) {
        return;
    }
    let own = own(nodes, &plan.wanted);
    if !own.is_empty() || ids.is_empty() {
        let references = own.iter().map(|node| ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Node".to_owned()),
            name: node.metadata.name.clone(),
            uid: Some(uid(node.as_ref()).to_owned()),
            ..ObjectReference::default()
        });
        plan.wanted.status.get_or_insert_default().node_refs = references.collect();
    }
    let cluster = NamespacedName::of(observed.cluster.as_ref());
    for node in own {
        let wanted = wanted(observed, &node);
        if wanted != *node {
            plan.steps.push(Step::patch(&node, wanted).unless_gone().in_cluster(cluster.clone()));
        }
    }
    plan.steps.extend(deletions(observed, &ids));
}

/// Returns the Nodes of the machines, in the order of the provider IDs.
pub(super) fn own(nodes: &[Arc<Node>], pool: &MachinePool) -> Vec<Arc<Node>> {
    let ids = pool.spec.provider_id_list.iter();
    ids.flat_map(|id| nodes.iter().filter(move |node| provider_id(node) == Some(id))).cloned().collect()
}

/// Returns the deletions of the Nodes in `status.nodeRefs` whose provider ID is not one of `ids`.
pub(super) fn deletions(observed: &Observed, ids: &[String]) -> Vec<Step> {
    let references = observed.pool.status.iter().flat_map(|status| &status.node_refs);
    let names: BTreeSet<&str> = references.filter_map(|node| node.name.as_deref()).collect();
    let is_retired = |node: &&Arc<Node>| {
        names.contains(node.metadata.name.as_deref().unwrap_or_default())
            && provider_id(node).is_some_and(|id| !ids.iter().any(|listed| listed == id))
            && !is_deleting(node.as_ref())
    };
    let cluster = NamespacedName::of(observed.cluster.as_ref());
    let retired = observed.nodes.iter().flatten().filter(is_retired);
    retired.map(|node| Step::delete(node).in_cluster(cluster.clone())).collect()
}

fn provider_id(node: &Node) -> Option<&str> {
    node.spec.as_ref()?.provider_id.as_deref().filter(|id| !id.is_empty())
}

/// Returns the Node with the annotations, label and taints that the MachinePool requires.
fn wanted(observed: &Observed, node: &Node) -> Node {
    let pool = &observed.pool.metadata;
    let mut wanted = node.clone();
    let owner = (MachinePool::KIND, pool.name.as_deref().unwrap_or_default());
    set_owner(&mut wanted, &observed.pool.spec.cluster_name, pool.namespace.as_deref(), Some(owner));
    if observed.infrastructure.found().is_some_and(|object| object.is_true("/status/interruptible")) {
        wanted.metadata.labels.get_or_insert_default().insert(INTERRUPTIBLE.to_owned(), String::new());
    }
    if let Some(spec) = &mut wanted.spec
        && let Some(taints) = &mut spec.taints
    {
        taints.retain(|taint| taint.key != UNINITIALIZED);
        if taints.is_empty() {
            spec.taints = None;
        }
    }
    wanted
}
