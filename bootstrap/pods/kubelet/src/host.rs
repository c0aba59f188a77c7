//! This machine, as Pods see it.

/// The address of this machine, and of the Pods in its network.
pub const ADDRESS: &str = "127.0.0.1";

/// The name servers of this machine.
pub(crate) const RESOLV_CONF: &str = "/etc/resolv.conf";
