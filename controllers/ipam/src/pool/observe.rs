//! Reads the state that the plan of a pool depends on.

use std::sync::Arc;

use engine::{NamespacedName, Result, object, paused};
use schemas::ipam::{IPAddress, IPAddressClaim};

use super::observed::{Observed, Waiting};
use super::{BY_CLAIM, DELETING, PoolReconciler, WAITING, claim_key};
use crate::claims::cluster_name;
use crate::pools::Pool;

impl<P: Pool> PoolReconciler<P> {
    /// Reads the IPAddresses of which it is not known whether they exist.
    ///
    /// # Errors
    /// The API server does not say. Then nothing may be allocated: such an IPAddress could have any free address.
    pub(super) async fn look_up_creations(&self, pool: &NamespacedName) -> Result<()> {
        for address in self.creations.open(pool) {
            self.addresses.get_live(&address).await?;
            self.creations.end(pool, &address);
        }
        Ok(())
    }

    /// Reads the state that the plan of a pool depends on.
    pub(super) fn observe(&self, name: NamespacedName, pool: Option<Arc<P>>) -> Observed<P> {
        let key = P::key(&name);
        let read = |object: &NamespacedName| {
            let address = self.addresses.get(object)?;
            // The object of this name may have been replaced by one of another pool.
            let is_ours = super::pool_of_address::<P>(&address).as_ref() == Some(&name);
            address.spec.address.parse().ok().filter(|_| is_ours)
        };
        let taken = self.ledger.taken(&key, read);
        let claims = self.claims.by_index(WAITING, &key);
        let claims = claims.into_iter().map(|claim| self.waiting(&key, claim)).collect();
        let deleting = self.addresses.by_index(DELETING, &key);
        let is_orphan = |address: &&Arc<IPAddress>| {
            let namespace = address.metadata.namespace.clone().unwrap_or_default();
            let claim = NamespacedName::new(namespace, address.spec.claim_ref.name.as_str());
            self.claims.get(&claim).is_none()
        };
        let orphans = deleting.iter().filter(is_orphan).map(|address| NamespacedName::of(address.as_ref()));
        Observed { orphans: orphans.collect(), name, pool, claims, taken }
    }

    fn waiting(&self, key: &str, claim: Arc<IPAddressClaim>) -> Waiting {
        let name = NamespacedName::of(claim.as_ref());
        let mut addresses = self.addresses.by_index(BY_CLAIM, &claim_key(key, &name));
        // Ours has the name of its claim; one that somebody else made counts if it is the only one.
        addresses.sort_by_key(|address| address.metadata.name != claim.metadata.name);
        let address = addresses.into_iter().next();
        let named = self.addresses.get(&name);
        let foreign = named.filter(|named| {
            address.as_ref().is_none_or(|address| address.metadata.name != named.metadata.name)
        });
        let is_held = self.is_held(&claim, &name);
        Waiting { claim, address, foreign, is_held }
    }

    fn is_held(&self, claim: &IPAddressClaim, name: &NamespacedName) -> bool {
        let cluster_key =
            cluster_name(claim).map(|cluster| NamespacedName::new(name.namespace.as_str(), cluster));
        let cluster = cluster_key.as_ref().and_then(|key| self.clusters.get(key));
        // When a cluster is deleted, its Cluster may be gone before the last claim.
        let is_missing = cluster_key.is_some() && cluster.is_none() && !object::is_deleting(claim);
        is_missing || !paused::causes(claim, cluster.as_deref()).is_empty()
    }
}
