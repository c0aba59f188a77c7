//! Labels and annotations that several crates read or write.

/// Label on every object of a cluster: the cluster's name.
pub const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
/// Annotation whose presence pauses the object.
pub const PAUSED: &str = "cluster.x-k8s.io/paused";
/// Label by which Metal3 finds the Secrets of hosts, and its value.
pub const ENVIRONMENT: (&str, &str) = ("environment.metal3.io", "baremetal");
/// Annotation on a KubeadmControlPlane: CoreDNS is not updated.
pub const SKIP_COREDNS: &str = "controlplane.cluster.x-k8s.io/skip-coredns";
