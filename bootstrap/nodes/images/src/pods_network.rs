//! The choice of the network of Pods, in nodes of images that [`crate::make()`] has made.

/// The file that chooses the bridge. It is read when the kubelet starts for the first time, so bootstrap data can bring it. Without it, the node
/// waits for a network that somebody installs.
pub const FILE: &str = "/etc/default/pods-network";

/// Returns the content of [`FILE`]: containerd puts the Pods of a node on a bridge with the range that the node gets of Kubernetes, and the node
/// finds those of other nodes on its own link. `pods` has the Pods of all nodes, as `10.244.0.0/16`; what is sent to `services` before kube-proxy
/// knows it is refused at once.
pub fn bridge(pods: &str, services: &str) -> String {
    format!("PODS={pods}\nSERVICES={services}\n")
}
