//! A Machine and its Node: finding the Node, and the metadata that the Machine sets on it.

use std::collections::BTreeMap;

use engine::object::{annotation, is_deleting, label};
use engine::owners;
use engine::steps::Event;
use k8s_openapi::api::core::v1::Node;
use schemas::cluster::{Machine, MachineNodeReference};

use super::changes::Plan;
use super::observed::{NodeState, Observed};
use super::taints;
use crate::change::Reference;
use crate::nodes::{INTERRUPTIBLE, set_owner};

const MACHINE: &str = "cluster.x-k8s.io/machine";
const LABELS_FROM_MACHINE: &str = "cluster.x-k8s.io/labels-from-machine";
const ANNOTATIONS_FROM_MACHINE: &str = "cluster.x-k8s.io/annotations-from-machine";

/// Sets `nodeRef` and `nodeInfo` of the Machine, and plans the changes of the Node.
pub fn plan(plan: &mut Plan, observed: &Observed) {
    // Without a provider ID no Node can be found.
    if plan.machine.spec.provider_id.is_none() {
        return;
    }
    let node = match &observed.node {
        NodeState::Found(node) => node,
        NodeState::Ambiguous(names) => {
            let id = plan.machine.spec.provider_id.as_deref();
            return plan.errors.push(ambiguous(names, id));
        }
        NodeState::Absent | NodeState::NotConnected => return,
    };
    let name = node.metadata.name.clone().unwrap_or_default();
    let status = plan.machine.status.get_or_insert_default();
    if status.node_ref.is_none() {
        status.node_ref = Some(MachineNodeReference { name: name.clone() });
        plan.events.push(Event::normal("SuccessfulSetNodeRef", name.clone()));
    }
    let info = node.status.as_ref().and_then(|status| status.node_info.as_ref());
    status.node_info = info.and_then(|info| serde_json::from_value(serde_json::to_value(info).ok()?).ok());
    if is_deleting(observed.machine.as_ref()) {
        return;
    }
    let wanted = wanted(observed, node);
    if wanted.metadata != node.metadata || wanted.spec != node.spec {
        if label(&wanted, INTERRUPTIBLE).is_some() && label(node.as_ref(), INTERRUPTIBLE).is_none() {
            plan.events.push(Event::normal("SuccessfulSetInterruptibleNodeLabel", name));
        }
        plan.node = Some(wanted);
    }
}

/// Says that several Nodes have the provider ID of one Machine.
pub fn ambiguous(names: &[String], id: Option<&str>) -> String {
    format!("Nodes {} have the same spec.providerID {}", names.join(", "), id.unwrap_or_default())
}

/// Returns the Node with the labels, annotations and taints that the Machine requires.
fn wanted(observed: &Observed, node: &Node) -> Node {
    let machine = observed.machine.as_ref();
    let mut wanted = node.clone();
    let labels = synced(machine.metadata.labels.as_ref(), is_synced_label);
    let annotations =
        synced(machine.metadata.annotations.as_ref(), |domain| within(domain, "node.cluster.x-k8s.io"));
    replace(&mut wanted, &labels, LABELS_FROM_MACHINE, |node| node.metadata.labels.get_or_insert_default());
    replace(&mut wanted, &annotations, ANNOTATIONS_FROM_MACHINE, |node| {
        node.metadata.annotations.get_or_insert_default()
    });
    if matches!(&observed.infrastructure, Reference::Found(object) if object.is_true("/status/interruptible"))
    {
        wanted.metadata.labels.get_or_insert_default().insert(INTERRUPTIBLE.to_owned(), String::new());
    }
    back_references(&mut wanted, observed);
    taints::sync(&mut wanted, observed);
    wanted
}

/// Returns the entries that are synced to the Node, selected by the domain of their keys, or by the whole key without one.
fn synced(map: Option<&BTreeMap<String, String>>, wants: impl Fn(&str) -> bool) -> BTreeMap<String, String> {
    let domain = |key: &str| key.split('/').next().unwrap_or_default().to_owned();
    map.into_iter()
        .flatten()
        .filter(|(key, _)| wants(&domain(key)))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect()
}

fn within(domain: &str, parent: &str) -> bool {
    domain == parent || domain.strip_suffix(parent).is_some_and(|sub| sub.ends_with('.'))
}

fn is_synced_label(domain: &str) -> bool {
    domain == "node-role.kubernetes.io"
        || within(domain, "node-restriction.kubernetes.io")
        || within(domain, "node.cluster.x-k8s.io")
}

/// Sets the entries that come from the Machine, removes those that came from it earlier, and records the keys
/// in the annotation `tracking`.
fn replace(
    node: &mut Node,
    values: &BTreeMap<String, String>,
    tracking: &str,
    map: impl Fn(&mut Node) -> &mut BTreeMap<String, String>,
) {
    let before = annotation(node, tracking).unwrap_or_default().to_owned();
    let target = map(node);
    for key in before.split(',').filter(|key| !key.is_empty() && !values.contains_key(*key)) {
        target.remove(key);
    }
    target.extend(values.iter().map(|(key, value)| (key.clone(), value.clone())));
    let keys: Vec<&str> = values.keys().map(String::as_str).collect();
    node.metadata.annotations.get_or_insert_default().insert(tracking.to_owned(), keys.join(","));
}

fn back_references(node: &mut Node, observed: &Observed) {
    let machine: &Machine = observed.machine.as_ref();
    let owner = owners::controller(machine).map(|owner| (owner.kind.as_str(), owner.name.as_str()));
    set_owner(node, &machine.spec.cluster_name, machine.metadata.namespace.as_deref(), owner);
    let name = machine.metadata.name.clone().unwrap_or_default();
    node.metadata.annotations.get_or_insert_default().insert(MACHINE.to_owned(), name);
}
