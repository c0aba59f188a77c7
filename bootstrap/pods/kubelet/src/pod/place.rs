//! Where the processes of a Pod are in the network.

use anyhow::Result;
use k8s_openapi::api::core::v1::Pod;
use pod_network::{API, Network};
use pod_processes::Namespaces;

use super::ports::Claim;
use super::shared::Shared;
use crate::host::ADDRESS;

/// Where the processes of a Pod are.
pub(crate) enum Place {
    /// In the network of this machine, on the ports that it claims there.
    Host { _ports: Claim },
    /// In a network of its own.
    Own(Network),
}

impl Place {
    /// Finds a place for a Pod. It gets the address that it had under an earlier server, if that is free.
    ///
    /// # Errors
    /// Its network cannot be made.
    pub(crate) async fn find(shared: &Shared, pod: &Pod) -> Result<Self> {
        let is_host = pod.spec.as_ref().and_then(|spec| spec.host_network).unwrap_or_default();
        // Without a root folder of its own, a container could not find the name server of its network.
        if is_host || !shared.isolation.has_own_root() {
            return Self::host(shared, pod);
        }
        let before = pod.status.as_ref().and_then(|status| status.pod_ip.as_deref()?.parse().ok());
        match shared.networks.make(before, &shared.reached).await? {
            Some(network) => Ok(Self::Own(network)),
            None => Self::host(shared, pod),
        }
    }

    fn host(shared: &Shared, pod: &Pod) -> Result<Self> {
        Ok(Self::Host { _ports: shared.ports.claim(pod)? })
    }

    /// Returns the address of the Pod.
    pub(crate) fn address(&self) -> String {
        match self {
            Self::Host { .. } => ADDRESS.to_owned(),
            Self::Own(network) => network.address().to_string(),
        }
    }

    /// Returns the namespaces that its processes enter.
    pub(crate) fn namespaces(&self) -> Option<Namespaces> {
        match self {
            Self::Host { .. } => None,
            Self::Own(network) => Some(network.namespaces()),
        }
    }

    /// Returns host and port at which it reaches the API server.
    pub(crate) fn api(&self, shared: &Shared) -> (String, u16) {
        match self {
            Self::Host { .. } => shared.api.clone(),
            Self::Own(_) => (API.ip().to_string(), API.port()),
        }
    }
}
