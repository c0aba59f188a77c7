//! The state of the world that a MachineHealthCheck's plan depends on.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use k8s_openapi::api::core::v1::Node;
use schemas::cluster::{Cluster, Machine, MachineHealthCheck};

use crate::change::Reference;

/// The Node of a watched Machine.
#[derive(Debug, Clone, Default)]
pub enum MachineNode {
    /// The Machine has no Node yet, or no control plane where to look for it.
    #[default]
    None,
    /// The Machine had a Node of this name, which does not exist any more.
    Deleted(String),
    /// The Node.
    Found(Arc<Node>),
}

/// A Machine that the selector matches.
#[derive(Debug, Clone)]
pub struct Target {
    /// The Machine.
    pub machine: Arc<Machine>,
    /// Its Node.
    pub node: MachineNode,
    /// The object that asks an external controller to remediate the Machine; only read if there is a template.
    pub request: Reference,
}

/// The state of the world that a MachineHealthCheck's plan depends on.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The reconciled MachineHealthCheck.
    pub check: Arc<MachineHealthCheck>,
    /// The MachineHealthCheck's Cluster.
    pub cluster: Arc<Cluster>,
    /// The Machines of the Cluster that the selector matches; `None` while their Nodes are out of reach.
    pub targets: Option<Vec<Target>>,
    /// The template of the objects that ask for external remediation.
    pub template: Reference,
    /// The time of this reconcile.
    pub now: DateTime<Utc>,
}
