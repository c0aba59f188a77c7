//! The observed state on which the plan of a Machine depends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::{Health, NamespacedName};
use k8s_openapi::api::core::v1::{Node, PersistentVolume, Pod};
use schemas::cluster::{Cluster, Machine, MachineDeployment, MachineDrainRule, MachineSet};

use crate::change::Reference;

/// The observed state of the Machine's Node.
#[derive(Debug, Clone, Default)]
pub enum NodeState {
    /// The workload cluster is not connected.
    #[default]
    NotConnected,
    /// The workload cluster is connected and has no such Node.
    Absent,
    /// The Node.
    Found(Arc<Node>),
    /// Several Nodes have the Machine's provider ID; holds their names.
    Ambiguous(Vec<String>),
}

impl NodeState {
    /// Returns the Node, if exactly one was found.
    pub fn found(&self) -> Option<&Arc<Node>> {
        match self {
            Self::Found(node) => Some(node),
            _ => None,
        }
    }
}

/// State of the workload cluster that is read only when the plan depends on it.
#[derive(Debug, Clone, Default)]
pub enum OnDemand<T> {
    /// The plan does not depend on it, or the workload cluster is not connected.
    #[default]
    NotRead,
    /// The state.
    Found(T),
    /// It could not be read; holds the error message.
    Failed(String),
}

/// The Pods on a Node, and what their drain depends on.
#[derive(Debug, Clone, Default)]
pub struct NodePods {
    /// The Pods.
    pub pods: Vec<Arc<Pod>>,
    /// DaemonSets that control one of the Pods and do not exist.
    pub missing_daemon_sets: BTreeSet<NamespacedName>,
    /// The labels of the namespaces; only read if a MachineDrainRule selects namespaces.
    pub namespaces: BTreeMap<String, BTreeMap<String, String>>,
}

/// The volumes of a Node.
#[derive(Debug, Clone, Default)]
pub struct NodeVolumes {
    /// The PersistentVolumes that VolumeAttachments report as attached to the Node.
    pub attached: Vec<String>,
    /// The PersistentVolumes that are attached to the Node.
    pub persistent_volumes: Vec<PersistentVolume>,
}

/// The last eviction of a Pod by this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastEviction {
    /// When it was tried.
    pub at: DateTime<Utc>,
    /// Why it was refused; `None` if it was accepted.
    pub refused: Option<String>,
}

/// The last call of the update of a Machine in place, by this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastUpdate {
    /// What came of it.
    pub outcome: UpdateOutcome,
    /// When to call again.
    pub next: DateTime<Utc>,
    /// How many calls in a row have failed.
    pub failures: u32,
}

/// What came of a call of the update of a Machine in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpdateOutcome {
    /// The machine is up to date.
    Done,
    /// The update goes on; holds what is done now, or nothing.
    Waits(String),
    /// The call failed; holds the error message.
    Failed(String),
}

/// The state of the world that a Machine's plan depends on.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The reconciled Machine.
    pub machine: Arc<Machine>,
    /// The Machine's Cluster.
    pub cluster: Arc<Cluster>,
    /// The MachineSet that controls the Machine.
    pub set: Option<Arc<MachineSet>>,
    /// The MachineDeployment that controls the MachineSet.
    pub deployment: Option<Arc<MachineDeployment>>,
    /// The object that `spec.bootstrap.configRef` names.
    pub bootstrap: Reference,
    /// What is wrong with the Secret that `spec.bootstrap.dataSecretName` names; only looked at until the infrastructure is provisioned.
    pub data_secret_problem: Option<String>,
    /// The object that `spec.infrastructureRef` names.
    pub infrastructure: Reference,
    /// The Machine's Node.
    pub node: NodeState,
    /// Whether the taints of the Machine's spec are kept on its Node.
    pub propagates_taints: bool,
    /// State of the connection to the workload cluster.
    pub health: Health,
    /// The Cluster's control plane object; only read while the Machine is being deleted.
    pub control_plane: Reference,
    /// Whether there are control plane Machines that are not being deleted; only computed while the Machine
    /// is being deleted.
    pub has_control_plane_machines: bool,
    /// The MachineDrainRules of the Machine's namespace; only read while the Machine is being deleted.
    pub drain_rules: Vec<Arc<MachineDrainRule>>,
    /// The Pods on the Node; only read while the Node is drained or its volumes are awaited.
    pub pods: OnDemand<NodePods>,
    /// The last evictions of the Pods on the Node.
    pub evictions: BTreeMap<NamespacedName, LastEviction>,
    /// The volumes of the Node; only read while they are awaited.
    pub volumes: OnDemand<NodeVolumes>,
    /// The time at which this process first tried to delete the Node.
    pub node_deletion_since: Option<DateTime<Utc>>,
    /// Whether updates in place are on.
    pub updates_in_place: bool,
    /// The last call of the update in place that is in progress.
    pub last_update: Option<LastUpdate>,
    /// The time of this reconcile.
    pub now: DateTime<Utc>,
}
