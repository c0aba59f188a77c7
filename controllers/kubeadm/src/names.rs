//! Names of objects, conditions, reasons, annotations and files that this crate writes. Those shared by all controllers are in `engine::names`.

/// The finalizer of a KubeadmControlPlane.
pub const FINALIZER: &str = "kubeadm.controlplane.cluster.x-k8s.io";
/// Field manager of server-side apply for Machines and what is cloned for them.
pub const MANAGER: &str = "capi-kubeadmcontrolplane";
/// Field manager of the labels and annotations of infrastructure and bootstrap objects.
pub const METADATA_MANAGER: &str = "capi-kubeadmcontrolplane-metadata";

/// Holds a control plane Machine's termination until its etcd member is removed.
pub const CLEANUP_HOOK: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup";
/// Prefix of all pre-terminate hooks.
pub const PRE_TERMINATE_PREFIX: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io";
/// Marks a Machine to be deleted first.
pub const DELETE_MACHINE: &str = "cluster.x-k8s.io/delete-machine";
/// RFC 3339 time at which the certificates of a Machine expire.
pub const CERTIFICATES_EXPIRY: &str = "machine.cluster.x-k8s.io/certificates-expiry";
/// Leaves CoreDNS alone.
pub const SKIP_COREDNS: &str = "controlplane.cluster.x-k8s.io/skip-coredns";
/// Leaves kube-proxy alone.
pub const SKIP_KUBE_PROXY: &str = "controlplane.cluster.x-k8s.io/skip-kube-proxy";
/// The machine whose remediation a new Machine continues.
pub const REMEDIATION_FOR: &str = "controlplane.cluster.x-k8s.io/remediation-for";

/// Label and taint of control plane nodes.
pub const CONTROL_PLANE_ROLE: &str = "node-role.kubernetes.io/control-plane";
/// Taint of a worker node until Cluster API has labelled it.
pub const UNINITIALIZED_TAINT: &str = "node.cluster.x-k8s.io/uninitialized";

/// Conditions of KubeadmConfig and KubeadmControlPlane, and those that the latter writes on its Machines.
pub mod condition {
    /// See the API.
    pub const AVAILABLE: &str = "Available";
    /// See the API.
    pub const READY: &str = "Ready";
    /// See the API.
    pub const UP_TO_DATE: &str = "UpToDate";
    /// See the API.
    pub const INITIALIZED: &str = "Initialized";
    /// See the API.
    pub const CERTIFICATES_AVAILABLE: &str = "CertificatesAvailable";
    /// See the API.
    pub const DATA_SECRET_AVAILABLE: &str = "DataSecretAvailable";
    /// See the API.
    pub const ETCD_CLUSTER_HEALTHY: &str = "EtcdClusterHealthy";
    /// See the API.
    pub const COMPONENTS_HEALTHY: &str = "ControlPlaneComponentsHealthy";
    /// See the API.
    pub const MACHINES_READY: &str = "MachinesReady";
    /// See the API.
    pub const MACHINES_UP_TO_DATE: &str = "MachinesUpToDate";
    /// See the API.
    pub const ROLLING_OUT: &str = "RollingOut";
    /// See the API.
    pub const SCALING_UP: &str = "ScalingUp";
    /// See the API.
    pub const SCALING_DOWN: &str = "ScalingDown";
    /// See the API.
    pub const REMEDIATING: &str = "Remediating";
    /// See the API.
    pub const DELETING: &str = "Deleting";
    /// See the API.
    pub const PAUSED: &str = "Paused";
    /// On Machines.
    pub const NODE_LABELS_AND_TAINTS_SET: &str = "NodeKubeadmLabelsAndTaintsSet";
    /// On Machines.
    pub const API_SERVER_POD: &str = "APIServerPodHealthy";
    /// On Machines.
    pub const CONTROLLER_MANAGER_POD: &str = "ControllerManagerPodHealthy";
    /// On Machines.
    pub const SCHEDULER_POD: &str = "SchedulerPodHealthy";
    /// On Machines.
    pub const ETCD_POD: &str = "EtcdPodHealthy";
    /// On Machines.
    pub const ETCD_MEMBER: &str = "EtcdMemberHealthy";
}

/// Files on a node.
pub mod file {
    /// `kubeadm init` reads this.
    pub const INIT: &str = "/run/kubeadm/kubeadm.yaml";
    /// `kubeadm join` reads this.
    pub const JOIN: &str = "/run/kubeadm/kubeadm-join-config.yaml";
    /// Makes the folder of [`SENTINEL`].
    pub const PLACEHOLDER: &str = "/run/cluster-api/placeholder";
    /// Written when kubeadm has succeeded.
    pub const SENTINEL: &str = "/run/cluster-api/bootstrap-success.complete";
    /// kubeadm's certificates.
    pub const CERTIFICATES: &str = "/etc/kubernetes/pki";
}

/// `host:port`, IPv6 addresses in brackets.
pub fn host_port(host: &str, port: i32) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// The image tag of a version: `+` can't be in a tag.
pub fn image_tag(version: &str) -> String {
    version.replace('+', "_")
}
