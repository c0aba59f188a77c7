//! The state of the world that a MachinePool's plan depends on.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::ExternalObject;
use k8s_openapi::api::core::v1::Node;
use schemas::cluster::{Cluster, Machine, MachinePool};

use crate::change::Reference;

/// The state of the world that a MachinePool's plan depends on.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The reconciled MachinePool.
    pub pool: Arc<MachinePool>,
    /// The MachinePool's Cluster.
    pub cluster: Arc<Cluster>,
    /// The object that `spec.template.spec.bootstrap.configRef` names.
    pub bootstrap: Reference,
    /// The object that `spec.template.spec.infrastructureRef` names.
    pub infrastructure: Reference,
    /// The infrastructure's objects, one for each machine; empty if the infrastructure has no such objects.
    pub parts: Vec<ExternalObject>,
    /// Why these objects could not be read.
    pub parts_error: Option<String>,
    /// The Machines that the MachinePool controls.
    pub machines: Vec<Arc<Machine>>,
    /// The Nodes that have one of the machines' provider IDs, or are in `status.nodeRefs`; `None` while the cluster is not connected.
    pub nodes: Option<Vec<Arc<Node>>>,
    /// The time of this reconcile.
    pub now: DateTime<Utc>,
}
