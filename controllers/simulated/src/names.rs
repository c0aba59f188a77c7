//! Names used by the simulated infrastructure: finalizers, annotations, ports, and objects of a workload
//! cluster.

/// Finalizer of DevClusters; in Cluster API the Dev kinds took it over from the Docker kinds.
pub const CLUSTER_FINALIZER: &str = "dockercluster.infrastructure.cluster.x-k8s.io";
/// Finalizer of DevMachines.
pub const MACHINE_FINALIZER: &str = "dockermachine.infrastructure.cluster.x-k8s.io";
/// Annotation on a Machine that has started once, and does not wait for its start-up durations again.
pub const BOOTSTRAPPED: &str = "machine.inmemory.infrastructure.cluster.x-k8s.io/bootstrapped";
/// Annotation on an etcd Pod: the ID of its etcd cluster, decimal.
pub const ETCD_CLUSTER_ID: &str = "etcd.inmemory.infrastructure.cluster.x-k8s.io/cluster-id";
/// Annotation on an etcd Pod: the ID of the member, decimal.
pub const ETCD_MEMBER_ID: &str = "etcd.inmemory.infrastructure.cluster.x-k8s.io/member-id";
/// Annotation on an etcd Pod: since when the member leads, RFC 3339; the newest time decides.
pub const ETCD_LEADER_FROM: &str = "etcd.inmemory.infrastructure.cluster.x-k8s.io/leader-from";
/// Annotation on an etcd Pod whose member was removed from the cluster.
pub const ETCD_MEMBER_REMOVED: &str = "etcd.inmemory.infrastructure.cluster.x-k8s.io/member-removed";
/// Annotation on a DevMachine: the probability, such as `0.1`, with which it gets one failure at random.
pub const FAILURE_RATE: &str = "simulated.firstlight.dev/failure-rate";
/// Annotation on a DevMachine: the failure that was drawn for it, or `none`.
pub const FAILURE_DRAWN: &str = "simulated.firstlight.dev/failure-drawn";
/// Annotation on a DevMachine: the ConfigMap of its namespace with the signal for which its bootstrap waits.
pub const WAITS_FOR: &str = "simulated.firstlight.dev/bootstrap-waits-for";
/// Annotation on a DevCluster: its API server accepts connections and never answers.
pub const API_SERVER_SILENT: &str = "simulated.firstlight.dev/api-server-silent";
/// Annotation on a Cluster: its simulated machines are updated in place.
pub const IN_PLACE_UPDATES: &str = "simulated.firstlight.dev/in-place-updates";
/// Label of control plane Machines.
pub const CONTROL_PLANE: &str = "cluster.x-k8s.io/control-plane";
/// Label and taint of control plane Nodes.
pub const NODE_CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";
/// Namespace of kubeadm's objects.
pub const KUBE_SYSTEM: &str = "kube-system";

/// Returns why an object of this kind is left alone, which has a backend in Docker or none.
pub(crate) fn not_simulated(kind: &str, is_in_docker: bool) -> String {
    let which = if is_in_docker {
        "has spec.backend.docker, and only spec.backend.inMemory is simulated here"
    } else {
        "has no spec.backend.inMemory, and nothing else is simulated here"
    };
    format!("this {kind} {which}: it is left to the Docker provider of Cluster API")
}

/// Ports of the workload API servers; the end is exclusive.
pub const PORTS: std::ops::Range<u16> = 20_000..30_000;
