//! Names of objects, conditions, annotations and files that this crate writes. Names shared by all
//! controllers are in `engine::names`.

/// The finalizer of a KubeadmControlPlane.
pub const FINALIZER: &str = "kubeadm.controlplane.cluster.x-k8s.io";
/// Field manager of server-side apply for Machines and the objects created for them.
pub const MANAGER: &str = "capi-kubeadmcontrolplane";
/// Field manager of the labels and annotations of infrastructure and bootstrap objects.
pub const METADATA_MANAGER: &str = "capi-kubeadmcontrolplane-metadata";

/// Annotation, a pre-terminate hook: delays a control plane Machine's termination until its etcd member is
/// removed.
pub const CLEANUP_HOOK: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup";
/// Prefix of all pre-terminate hooks.
pub const PRE_TERMINATE_PREFIX: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io";
/// Annotation with the RFC 3339 time at which the certificates of a Machine expire.
pub const CERTIFICATES_EXPIRY: &str = "machine.cluster.x-k8s.io/certificates-expiry";
/// Annotation on a KubeadmControlPlane: kube-proxy is not updated.
pub const SKIP_KUBE_PROXY: &str = "controlplane.cluster.x-k8s.io/skip-kube-proxy";
/// Annotation on a KubeadmControlPlane: the remediation whose new Machine does not exist yet.
pub const REMEDIATION_IN_PROGRESS: &str = "controlplane.cluster.x-k8s.io/remediation-in-progress";
/// Annotation on a new Machine: the Machine whose remediation it continues.
pub const REMEDIATION_FOR: &str = "controlplane.cluster.x-k8s.io/remediation-for";

/// Label and taint of control plane Nodes.
pub const CONTROL_PLANE_ROLE: &str = "node-role.kubernetes.io/control-plane";
/// Taint of a worker Node until Cluster API has labelled it.
pub const UNINITIALIZED_TAINT: &str = "node.cluster.x-k8s.io/uninitialized";

/// Condition types of KubeadmConfig and KubeadmControlPlane, and those that the latter sets on its Machines.
pub mod condition {
    /// The control plane is available.
    pub const AVAILABLE: &str = "Available";
    /// The KubeadmConfig, or a Machine, is ready.
    pub const READY: &str = "Ready";
    /// The Machine needs no rollout.
    pub const UP_TO_DATE: &str = "UpToDate";
    /// `kubeadm init` has finished on the first node.
    pub const INITIALIZED: &str = "Initialized";
    /// The Secrets with the cluster's authorities and keys exist.
    pub const CERTIFICATES_AVAILABLE: &str = "CertificatesAvailable";
    /// The Secret with the bootstrap data exists.
    pub const DATA_SECRET_AVAILABLE: &str = "DataSecretAvailable";
    /// All etcd members are healthy.
    pub const ETCD_CLUSTER_HEALTHY: &str = "EtcdClusterHealthy";
    /// The static Pods of all control plane Machines are healthy.
    pub const COMPONENTS_HEALTHY: &str = "ControlPlaneComponentsHealthy";
    /// All Machines are ready.
    pub const MACHINES_READY: &str = "MachinesReady";
    /// All Machines are up to date.
    pub const MACHINES_UP_TO_DATE: &str = "MachinesUpToDate";
    /// Machines are being replaced.
    pub const ROLLING_OUT: &str = "RollingOut";
    /// Machines are being added.
    pub const SCALING_UP: &str = "ScalingUp";
    /// Machines are being removed.
    pub const SCALING_DOWN: &str = "ScalingDown";
    /// Unhealthy Machines are being replaced.
    pub const REMEDIATING: &str = "Remediating";
    /// The object is being deleted.
    pub const DELETING: &str = "Deleting";
    /// Reconciliation is paused.
    pub const PAUSED: &str = "Paused";
    /// On Machines: no health check found a problem.
    pub const HEALTH_CHECK_SUCCEEDED: &str = "HealthCheckSucceeded";
    /// On Machines: what the owner does about a failed health check.
    pub const OWNER_REMEDIATED: &str = "OwnerRemediated";
    /// On Machines: the Node has kubeadm's control plane label and taint.
    pub const NODE_LABELS_AND_TAINTS_SET: &str = "NodeKubeadmLabelsAndTaintsSet";
    /// On Machines: the API server's Pod is healthy.
    pub const API_SERVER_POD: &str = "APIServerPodHealthy";
    /// On Machines: the controller manager's Pod is healthy.
    pub const CONTROLLER_MANAGER_POD: &str = "ControllerManagerPodHealthy";
    /// On Machines: the scheduler's Pod is healthy.
    pub const SCHEDULER_POD: &str = "SchedulerPodHealthy";
    /// On Machines: etcd's Pod is healthy.
    pub const ETCD_POD: &str = "EtcdPodHealthy";
    /// On Machines: the etcd member is healthy.
    pub const ETCD_MEMBER: &str = "EtcdMemberHealthy";
}

/// Paths of files on a node.
pub mod file {
    /// Configuration for `kubeadm init`.
    pub const INIT: &str = "/run/kubeadm/kubeadm.yaml";
    /// Configuration for `kubeadm join`.
    pub const JOIN: &str = "/run/kubeadm/kubeadm-join-config.yaml";
    /// A file whose creation makes the folder of [`SENTINEL`].
    pub const PLACEHOLDER: &str = "/run/cluster-api/placeholder";
    /// A file that exists once kubeadm has succeeded.
    pub const SENTINEL: &str = "/run/cluster-api/bootstrap-success.complete";
    /// The folder of kubeadm's certificates.
    pub const CERTIFICATES: &str = "/etc/kubernetes/pki";
}

/// Returns `host:port`, with IPv6 addresses in brackets.
pub fn host_port(host: &str, port: i32) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// Returns the image tag of a version; tags cannot contain `+`.
pub fn image_tag(version: &str) -> String {
    version.replace('+', "_")
}
