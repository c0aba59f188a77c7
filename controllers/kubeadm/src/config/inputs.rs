//! The inputs of the bootstrap data.

use std::collections::BTreeMap;

use schemas::bootstrap::KubeadmConfigSpec;
use schemas::cluster::Cluster;

use crate::certificates::Certificates;
use schemas::version::Version;

/// The role of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The first control plane node.
    Init,
    /// A further control plane node.
    JoinControlPlane,
    /// A worker.
    JoinWorker,
}

/// The inputs of the bootstrap data.
#[derive(Debug, Clone)]
pub struct Inputs<'a> {
    /// The spec of the KubeadmConfig.
    pub spec: &'a KubeadmConfigSpec,
    /// The Cluster of the Machine.
    pub cluster: &'a Cluster,
    /// The Kubernetes version of the Machine.
    pub version: &'a Version,
    /// The version of the control plane, for files that are templates.
    pub control_plane_version: Option<&'a str>,
    /// Authorities and keys. A worker needs only the cluster's certificate.
    pub certificates: &'a Certificates,
    /// Values of the Secrets that files and users reference, by `(name, key)`.
    pub secrets: &'a BTreeMap<(String, String), Vec<u8>>,
}
