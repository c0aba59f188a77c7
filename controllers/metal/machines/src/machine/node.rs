//! Finds the Node of a Metal3Machine (`contract/metal3`, §2.3). Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::NamespacedName;
use engine::object::label;
use k8s_openapi::api::core::v1::Node;

use crate::names::HOST_UUID;

/// The label with the host name of a Node.
pub const HOSTNAME: &str = "kubernetes.io/hostname";
const SCHEME: &str = "metal3://";

/// The Node of a machine in its workload cluster.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeState {
    /// The workload cluster cannot be reached.
    NotConnected,
    /// It has no such Node.
    Absent,
    /// The Node.
    Found(Arc<Node>),
    /// Several Nodes match, or the Node that matches belongs to another machine. The message says which.
    Wrong(String),
}

/// Returns the provider ID of a machine on a host.
pub fn provider_id(machine: &NamespacedName, host: &str) -> String {
    format!("{SCHEME}{}/{host}/{}", machine.namespace, machine.name)
}

/// Returns the Metal3Machine that a provider ID names; `None` for an ID in another format.
pub fn machine_of(provider_id: &str) -> Option<NamespacedName> {
    let mut parts = provider_id.strip_prefix(SCHEME)?.split('/');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(namespace), Some(_), Some(name), None) => Some(NamespacedName::new(namespace, name)),
        _ => None,
    }
}

/// The names by which a Node can be known as that of a machine.
pub struct Identity<'a> {
    /// The machine's provider ID.
    pub provider_id: &'a str,
    /// The UID of its host, which the label `metal3.io/uuid` and the older format of the provider ID contain.
    pub host_uid: &'a str,
    /// The host's name in its operating system, for machines without a bootstrap configuration; otherwise `None`, because a host name
    /// proves nothing.
    pub hostname: Option<&'a str>,
}

/// Finds the Node of a machine.
pub fn find(nodes: &[Arc<Node>], identity: &Identity<'_>) -> NodeState {
    let older = format!("{SCHEME}{}", identity.host_uid);
    let id = |node: &Node| node.spec.as_ref().and_then(|spec| spec.provider_id.clone()).unwrap_or_default();
    let is_own = |id: &str| id == identity.provider_id || id == older;
    let mut found: BTreeMap<String, &Arc<Node>> = BTreeMap::new();
    for node in nodes {
        let is_labelled =
            !identity.host_uid.is_empty() && label(node.as_ref(), HOST_UUID) == Some(identity.host_uid);
        if is_own(&id(node)) || is_labelled {
            found.insert(node.metadata.name.clone().unwrap_or_default(), node);
        }
    }
    if found.is_empty()
        && let Some(hostname) = identity.hostname
    {
        let named = nodes.iter().find(|node| label(node.as_ref(), HOSTNAME) == Some(hostname));
        found.extend(named.map(|node| (hostname.to_owned(), node)));
    }
    let names = || found.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    match found.values().collect::<Vec<_>>().as_slice() {
        [] => NodeState::Absent,
        [node] => {
            let found_id = id(node);
            if found_id.is_empty() || is_own(&found_id) {
                return NodeState::Found(Arc::clone(node));
            }
            NodeState::Wrong(format!(
                "Node {} has spec.providerID {found_id} instead of {}",
                names(),
                identity.provider_id
            ))
        }
        _ => NodeState::Wrong(format!("Nodes {} belong to the same host; delete all but one", names())),
    }
}
