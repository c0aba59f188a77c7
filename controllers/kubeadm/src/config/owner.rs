//! The owner of a KubeadmConfig: a Machine, or a MachinePool whose machines share the bootstrap data.

use std::sync::Arc;

use engine::{Manager, NamespacedName, Objects, object};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use schemas::bootstrap::KubeadmConfig;
use schemas::cluster::{Cluster, Machine, MachinePool, MachineSpec};

/// The owner of a KubeadmConfig.
#[derive(Debug, Clone)]
pub enum Owner {
    /// A Machine.
    Machine(Arc<Machine>),
    /// A MachinePool; its machines are workers.
    Pool(Arc<MachinePool>),
}

impl Owner {
    fn spec(&self) -> &MachineSpec {
        match self {
            Self::Machine(machine) => &machine.spec,
            Self::Pool(pool) => &pool.spec.template.spec,
        }
    }

    /// Returns the owner's name.
    pub fn name(&self) -> NamespacedName {
        match self {
            Self::Machine(machine) => NamespacedName::of(machine.as_ref()),
            Self::Pool(pool) => NamespacedName::of(pool.as_ref()),
        }
    }

    /// Returns the name of the Cluster.
    pub fn cluster(&self) -> NamespacedName {
        let name = match self {
            Self::Machine(machine) => &machine.spec.cluster_name,
            Self::Pool(pool) => &pool.spec.cluster_name,
        };
        NamespacedName::new(self.name().namespace, name.as_str())
    }

    /// Returns the Kubernetes version of the machines.
    pub fn version(&self) -> Option<&str> {
        self.spec().version.as_deref()
    }

    /// Returns the Secret with the data from which a Machine has started. A MachinePool has none in this sense: it can get another
    /// KubeadmConfig, while it still names the Secret of the one before.
    pub fn data_secret_name(&self) -> Option<&str> {
        match self {
            Self::Machine(machine) => machine.spec.bootstrap.data_secret_name.as_deref(),
            Self::Pool(_) => None,
        }
    }

    /// Returns whether the machine becomes a control plane node.
    pub fn is_control_plane(&self) -> bool {
        match self {
            Self::Machine(machine) => object::label(machine.as_ref(), engine::names::CONTROL_PLANE).is_some(),
            Self::Pool(_) => false,
        }
    }

    /// Returns whether the owner is a MachinePool, which may get further machines at any time.
    pub fn is_pool(&self) -> bool {
        matches!(self, Self::Pool(_))
    }

    /// Returns whether all machines have their Nodes.
    pub fn has_joined(&self) -> bool {
        match self {
            Self::Machine(machine) => machine.status.as_ref().is_some_and(|status| status.node_ref.is_some()),
            Self::Pool(pool) => {
                let wanted = usize::try_from(pool.spec.replicas.unwrap_or(1)).unwrap_or_default();
                pool.status.as_ref().map_or(0, |status| status.node_refs.len()) == wanted
            }
        }
    }

    /// Returns whether the owner is being deleted.
    pub fn is_deleting(&self) -> bool {
        match self {
            Self::Machine(machine) => object::is_deleting(machine.as_ref()),
            Self::Pool(pool) => object::is_deleting(pool.as_ref()),
        }
    }
}

/// The owners of KubeadmConfigs, with their Clusters.
pub(super) struct Owners {
    pub machines: Objects<Machine>,
    pub pools: Objects<MachinePool>,
    pub clusters: Objects<Cluster>,
}

impl Owners {
    /// Reads the caches of `manager`.
    pub fn new(manager: &Manager) -> Self {
        Self { machines: manager.objects(), pools: manager.objects(), clusters: manager.objects() }
    }

    /// Returns the Machine or MachinePool that owns a KubeadmConfig.
    pub fn of(&self, config: &KubeadmConfig) -> Option<Owner> {
        let namespace = config.metadata.namespace.clone().unwrap_or_default();
        let named = |name: &str| NamespacedName::new(namespace.as_str(), name);
        let references = config.metadata.owner_references.iter().flatten();
        let is_ours = |reference: &&OwnerReference| {
            let group = reference.api_version.split('/').next().unwrap_or_default();
            group == Machine::GROUP && [Machine::KIND, MachinePool::KIND].contains(&reference.kind.as_str())
        };
        let mut ours = references.filter(is_ours);
        let owner = ours.next()?;
        if owner.kind == Machine::KIND {
            return self.machines.get(&named(&owner.name)).map(Owner::Machine);
        }
        self.pools.get(&named(&owner.name)).map(Owner::Pool)
    }

    /// Returns the Cluster of an owner.
    pub fn cluster(&self, owner: &Owner) -> Option<Arc<Cluster>> {
        self.clusters.get(&owner.cluster())
    }
}
