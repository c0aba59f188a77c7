//! The state of the world that a Cluster's plan depends on.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::Health;
use k8s_openapi::api::core::v1::Secret;
use schemas::admission::Features;
use schemas::cluster::{Cluster, ClusterClass, Machine, MachineDeployment, MachinePool, MachineSet};

use crate::change::Reference;

/// The state of the world that a Cluster's plan depends on.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The reconciled Cluster.
    pub cluster: Arc<Cluster>,
    /// The ClusterClass of the topology, if it exists.
    pub class: Option<Arc<ClusterClass>>,
    /// The features that are on.
    pub features: Features,
    /// The object that `spec.infrastructureRef` names.
    pub infrastructure: Reference,
    /// The object that `spec.controlPlaneRef` names.
    pub control_plane: Reference,
    /// The cluster's control plane Machines.
    pub control_plane_machines: Vec<Arc<Machine>>,
    /// The cluster's worker Machines, with those of MachinePools.
    pub worker_machines: Vec<Arc<Machine>>,
    /// The cluster's MachineDeployments.
    pub deployments: Vec<Arc<MachineDeployment>>,
    /// The cluster's MachineSets.
    pub sets: Vec<Arc<MachineSet>>,
    /// The cluster's MachinePools.
    pub pools: Vec<Arc<MachinePool>>,
    /// State of the connection to the cluster.
    pub health: Health,
    /// Why there is no connection to the cluster, if that has lasted.
    pub connection_problem: Option<String>,
    /// Whether the Secret with the cluster's kubeconfig exists.
    pub has_kubeconfig: bool,
    /// The Secret with the cluster's certificate authority, if it exists.
    pub authority: Option<Arc<Secret>>,
    /// The time of this reconcile.
    pub now: DateTime<Utc>,
}
