//! The two kinds of pools. They differ only in the claims that they serve: those of their namespace, or those of all.

use engine::{Kind, NamespacedName};
use schemas::ipam::{GlobalInClusterIPPool, InClusterIPPool, InClusterIPPoolSpec, InClusterIPPoolStatus};
use schemas::meta::ContractVersionedObjectReference;

/// A pool.
pub trait Pool: Kind<DynamicType = ()> + PartialEq {
    /// The name of the kind.
    const NAME: &'static str;
    /// Whether the pool is cluster-scoped and serves the claims of all namespaces.
    const IS_GLOBAL: bool;

    /// Returns the spec.
    fn spec(&self) -> &InClusterIPPoolSpec;
    /// Returns the status for modification.
    fn status_mut(&mut self) -> &mut Option<InClusterIPPoolStatus>;

    /// Returns the pool of this kind that an object in `namespace` refers to; `None` for a pool of another kind.
    fn referred(
        reference: &ContractVersionedObjectReference,
        namespace: Option<&str>,
    ) -> Option<NamespacedName> {
        if reference.api_group != InClusterIPPool::GROUP || reference.kind != Self::NAME {
            return None;
        }
        let namespace = if Self::IS_GLOBAL { "" } else { namespace.unwrap_or_default() };
        Some(NamespacedName::new(namespace, reference.name.as_str()))
    }

    /// Returns the key of a pool of this kind in the indexes of claims and addresses.
    fn key(pool: &NamespacedName) -> String {
        format!("{}/{}/{}", Self::NAME, pool.namespace, pool.name)
    }

    /// Returns the text by which messages call a pool of this kind.
    fn called(pool: &NamespacedName) -> String {
        format!("{} {pool}", Self::NAME)
    }
}

impl Pool for InClusterIPPool {
    const NAME: &'static str = Self::KIND;
    const IS_GLOBAL: bool = false;

    fn spec(&self) -> &InClusterIPPoolSpec {
        &self.spec
    }

    fn status_mut(&mut self) -> &mut Option<InClusterIPPoolStatus> {
        &mut self.status
    }
}

impl Pool for GlobalInClusterIPPool {
    const NAME: &'static str = Self::KIND;
    const IS_GLOBAL: bool = true;

    fn spec(&self) -> &InClusterIPPoolSpec {
        &self.spec
    }

    fn status_mut(&mut self) -> &mut Option<InClusterIPPoolStatus> {
        &mut self.status
    }
}
