//! What a node in a container needs of kubeadm.

/// Where a node runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeOptions {
    /// Whether the node has a control group namespace of its own (`--cgroupns=private`), with `/kubelet` in it: all but
    /// images of kind 0.19 and older. The kubelet then gets `cgroup-root` and `runtime-cgroups`.
    pub own_cgroup: bool,
    /// Whether the machine has version 1 of control groups, and the kubelet is 1.31 or newer, which knows the flag
    /// `fail-cgroupv1` (since 1.35 it refuses version 1 without it).
    pub cgroup_v1: bool,
}

impl Default for NodeOptions {
    fn default() -> Self {
        Self { own_cgroup: true, cgroup_v1: false }
    }
}
