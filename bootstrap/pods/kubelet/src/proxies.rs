//! The proxies of Pods.

/// The variables by which Pods reach other machines through proxies. Containers that have one of their own keep it.
#[derive(Debug, Clone, Default)]
pub struct ProxyVariables {
    /// Those of Pods with a network of their own, which do not reach the loopback of this machine.
    pub own_network: Vec<(String, String)>,
    /// Those of Pods in the network of this machine.
    pub host_network: Vec<(String, String)>,
}
