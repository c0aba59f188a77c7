//! The state on which the plan of a Metal3Remediation depends.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use schemas::cluster::{Cluster, Machine};
use schemas::infrastructure::Metal3Remediation;
use schemas::metal3::BareMetalHost;

/// The state on which the plan of a Metal3Remediation depends.
#[derive(Clone)]
pub struct Observed {
    /// The Metal3Remediation.
    pub remediation: Arc<Metal3Remediation>,
    /// The Machine that owns it.
    pub machine: Option<Arc<Machine>>,
    /// The Machine's Cluster.
    pub cluster: Option<Arc<Cluster>>,
    /// The host of the machine.
    pub host: Option<Arc<BareMetalHost>>,
    /// The Node of the machine, if the workload cluster can be reached.
    pub node: Option<Arc<Node>>,
    /// Whether Pods of the Node are still being deleted because it is out of service.
    pub is_draining: bool,
}
