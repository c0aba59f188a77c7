//! Names that the simulated infrastructure shares with others: finalizers, annotations, ports, objects of a workload cluster.

/// Finalizer of DevClusters; the Dev kinds took it over from the Docker kinds.
pub const CLUSTER_FINALIZER: &str = "dockercluster.infrastructure.cluster.x-k8s.io";
/// Finalizer of DevMachines.
pub const MACHINE_FINALIZER: &str = "dockermachine.infrastructure.cluster.x-k8s.io";
/// On a DevCluster: which listener serves it.
pub const LISTENER: &str = "inmemorycluster.infrastructure.cluster.x-k8s.io/listener";
/// On a Machine that has started once: it does not wait for its start-up durations again.
pub const BOOTSTRAPPED: &str = "machine.inmemory.infrastructure.cluster.x-k8s.io/bootstrapped";
/// On an etcd pod: the identity of its etcd cluster, decimal.
pub const ETCD_CLUSTER_ID: &str = "etcd.inmemory.infrastructure.cluster.x-k8s.io/cluster-id";
/// On an etcd pod: the identity of the member, decimal.
pub const ETCD_MEMBER_ID: &str = "etcd.inmemory.infrastructure.cluster.x-k8s.io/member-id";
/// On an etcd pod: since when it leads, RFC 3339; the newest leads.
pub const ETCD_LEADER_FROM: &str = "etcd.inmemory.infrastructure.cluster.x-k8s.io/leader-from";
/// On an etcd pod whose member was removed from the cluster.
pub const ETCD_MEMBER_REMOVED: &str = "etcd.inmemory.infrastructure.cluster.x-k8s.io/member-removed";
/// Label of control plane machines and their nodes' role.
pub const CONTROL_PLANE: &str = "cluster.x-k8s.io/control-plane";
/// Label and taint of control plane nodes.
pub const NODE_CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";
/// Where kubeadm's objects live.
pub const KUBE_SYSTEM: &str = "kube-system";
/// Ports of workload API servers: the first and the one after the last.
pub const PORTS: std::ops::Range<u16> = 20_000..30_000;
