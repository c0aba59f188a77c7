//! The parts of a simulated machine, which start one after another.

use schemas::infrastructure::{InMemoryComponent, InMemoryMachineBackend};

/// A part of a machine with its own start-up duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The machine itself.
    Vm,
    /// The machine's Node.
    Node,
    /// The machine's member of the etcd cluster.
    Etcd,
    /// The API server, together with the other control plane components.
    ApiServer,
}

impl Part {
    /// All parts, in the order in which they start.
    pub const ALL: [Self; 4] = [Self::Vm, Self::Node, Self::Etcd, Self::ApiServer];

    /// Returns the condition that tells whether the part runs.
    pub fn condition(self) -> &'static str {
        match self {
            Self::Vm => "VMProvisioned",
            Self::Node => "NodeProvisioned",
            Self::Etcd => "EtcdProvisioned",
            Self::ApiServer => "APIServerProvisioned",
        }
    }

    /// Returns what the part is called in messages.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Vm => "the machine",
            Self::Node => "the kubelet",
            Self::Etcd => "etcd",
            Self::ApiServer => "the control plane",
        }
    }

    /// Returns the part that must run before this part's start-up duration begins.
    pub fn after(self) -> Option<Self> {
        match self {
            Self::Vm => None,
            Self::Node => Some(Self::Vm),
            Self::Etcd | Self::ApiServer => Some(Self::Node),
        }
    }

    /// Returns the configuration of the part.
    pub fn component(self, backend: &InMemoryMachineBackend) -> Option<&InMemoryComponent> {
        match self {
            Self::Vm => backend.vm.as_ref(),
            Self::Node => backend.node.as_ref(),
            Self::Etcd => backend.etcd.as_ref(),
            Self::ApiServer => backend.api_server.as_ref(),
        }
    }
}
