//! The observed state that a KubeadmConfig's plan is computed from.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use k8s_openapi::api::core::v1::Secret;
use schemas::bootstrap::KubeadmConfig;
use schemas::cluster::Cluster;

use super::owner::Owner;
use crate::certificates::Purpose;

/// The state of the init lock, whose holder may initialise the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// No Machine holds the lock.
    Free,
    /// The reconciled Machine holds it.
    Ours,
    /// Another Machine holds it.
    Taken,
    /// A Machine that does not exist holds it.
    Abandoned,
}

/// The state of the cluster's authorities and keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Authorities {
    /// Those that do not exist.
    pub missing: Vec<Purpose>,
    /// The reasons why others cannot be used.
    pub unusable: Vec<String>,
}

/// The state of the bootstrap token in the workload cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// It was not read: it does not matter, or the workload cluster is not connected.
    Unknown,
    /// It does not exist.
    Missing,
    /// It expires at this time.
    Expires(DateTime<Utc>),
}

/// The state of the world that a KubeadmConfig's plan depends on.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The reconciled KubeadmConfig.
    pub config: Arc<KubeadmConfig>,
    /// The Machine or MachinePool that owns it.
    pub owner: Option<Owner>,
    /// The owner's Cluster.
    pub cluster: Option<Arc<Cluster>>,
    /// The Secret with the bootstrap data.
    pub data_secret: Option<Arc<Secret>>,
    /// The Secret of somebody else that has the name for the bootstrap data.
    pub taken: Option<Arc<Secret>>,
    /// State of the init lock.
    pub lock: Lock,
    /// State of the authorities and keys.
    pub authorities: Authorities,
    /// Values in Secrets that the spec names and that do not exist, each as a sentence.
    pub missing_values: Vec<String>,
    /// Whether the workload cluster is connected.
    pub connected: bool,
    /// State of the bootstrap token.
    pub token: Token,
}
