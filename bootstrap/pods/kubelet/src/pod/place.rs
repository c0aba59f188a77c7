//! Where the processes of a Pod are in the network.

use std::collections::BTreeMap;

use anyhow::Result;
use k8s_openapi::api::core::v1::{Container, Pod};
use pod_network::{API, Network};
use pod_processes::Namespaces;

use super::ports::Claim;
use super::shared::Shared;
use crate::host::ADDRESS;
use crate::plan::moved_ports::Move;

/// Where others reach a Pod.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    /// Its address.
    pub(crate) address: String,
    /// Whether that is an address of this machine.
    pub(crate) is_host: bool,
    /// The ports that are elsewhere.
    pub(crate) moves: BTreeMap<u16, u16>,
}

/// Where the processes of a Pod are.
pub(crate) enum Place {
    /// In the network of this machine, on the ports that it claims there.
    Host { ports: Claim },
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
        if !shared.isolation.has_own_root() {
            let ports = shared.ports.claim_or_find(pod, shared.network.as_ref()).await?;
            return Ok(Self::Host { ports });
        }
        if is_host {
            return Self::host(shared, pod);
        }
        let before = pod.status.as_ref().and_then(|status| status.pod_ip.as_deref()?.parse().ok());
        match shared.networks.make(before, &shared.reached).await? {
            Some(network) => Ok(Self::Own(network)),
            None => Self::host(shared, pod),
        }
    }

    fn host(shared: &Shared, pod: &Pod) -> Result<Self> {
        Ok(Self::Host { ports: shared.ports.claim(pod)? })
    }

    /// Returns where others reach the Pod.
    pub(crate) fn reach(&self) -> Reach {
        let (address, is_host) = match self {
            Self::Host { .. } => (ADDRESS.to_owned(), true),
            Self::Own(network) => (network.address().to_string(), false),
        };
        let moves = self.moves().into_iter().map(|(from, moved)| (from, moved.to)).collect();
        Reach { address, is_host, moves }
    }

    /// Returns the variables by which a container reaches other machines through proxies. One of its own replaces them in every case of
    /// its letters, because programs read both.
    pub(crate) fn proxies(&self, shared: &Shared, container: &Container) -> Vec<(String, String)> {
        let all = match self {
            Self::Host { .. } => &shared.proxies.host_network,
            Self::Own(_) => &shared.proxies.own_network,
        };
        let has = |name: &str| {
            container.env.iter().flatten().any(|variable| variable.name.eq_ignore_ascii_case(name))
        };
        all.iter().filter(|(name, _)| !has(name)).cloned().collect()
    }

    /// Returns the ports that its programs cannot have.
    pub(crate) fn moves(&self) -> BTreeMap<u16, Move> {
        match self {
            Self::Host { ports } => ports.moves.clone(),
            Self::Own(_) => BTreeMap::new(),
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
