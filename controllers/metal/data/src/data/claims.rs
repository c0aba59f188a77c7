//! The claims of addresses: IPClaims of Metal3, and IPAddressClaims of Cluster API for pools of other kinds.

use engine::object::{is_deleting, uid};
use engine::{Kind, NamespacedName, Objects, Result, finalizer, owners, unless_gone};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use schemas::infrastructure::Metal3Data;
use schemas::meta::{ContractVersionedObjectReference, ObjectReference};
use schemas::{HasConditions, ipam, metal3_ipam};

use super::DataReconciler;
use crate::names::DATA_FINALIZER;
use crate::pools::{PoolAddress, PoolReference};

/// The state of the claim of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lease {
    /// There is no claim.
    Missing,
    /// The claim of this name belongs to another object, or is being deleted.
    Foreign(String),
    /// There is no address yet, and perhaps an error.
    Waiting(Option<String>),
    /// The address.
    Given(PoolAddress),
}

/// Returns the name of the claim of an address.
pub fn claim_name(data: &Metal3Data, pool: &str) -> String {
    format!("{}-{pool}", data.metadata.name.as_deref().unwrap_or_default())
}

/// Returns the owner reference to a Metal3Data as the controller of another object.
pub fn controller_of(data: &Metal3Data) -> OwnerReference {
    OwnerReference { controller: Some(true), ..owners::reference(data, &()) }
}

impl DataReconciler {
    /// Returns the state of the claim for an address of a pool.
    pub(super) fn lease(&self, data: &Metal3Data, pool: &PoolReference) -> Lease {
        let namespace = data.metadata.namespace.clone().unwrap_or_default();
        let key = NamespacedName::new(namespace.as_str(), claim_name(data, &pool.name));
        if pool.is_metal3() {
            let Some(claim) = self.ip_claims.get(&key) else { return Lease::Missing };
            if let Some(foreign) = foreign(claim.as_ref(), data) {
                return foreign;
            }
            let status = claim.status.clone().unwrap_or_default();
            let name = status.address.and_then(|address| address.name);
            let address = name.and_then(|name| self.ip_addresses.get(&NamespacedName::new(namespace, name)));
            return address.map_or(Lease::Waiting(status.error_message), |address| {
                let spec = address.spec.clone();
                let (gateway, dns_servers) = (spec.gateway, spec.dns_servers);
                Lease::Given(PoolAddress { address: spec.address, prefix: spec.prefix, gateway, dns_servers })
            });
        }
        let Some(claim) = self.address_claims.get(&key) else { return Lease::Missing };
        if let Some(foreign) = foreign(claim.as_ref(), data) {
            return foreign;
        }
        let name = claim.status.clone().unwrap_or_default().address_ref.map(|address| address.name);
        let address = name.and_then(|name| self.addresses.get(&NamespacedName::new(namespace, name)));
        let failure = claim.condition("Ready").filter(|ready| ready.status == "False");
        let failure = failure.map(|ready| format!("{}: {}", ready.reason, ready.message));
        address.map_or(Lease::Waiting(failure), |address| {
            let spec = address.spec.clone();
            let prefix = Some(i64::from(spec.prefix));
            Lease::Given(PoolAddress {
                address: spec.address,
                prefix,
                gateway: spec.gateway,
                dns_servers: Vec::new(),
            })
        })
    }

    /// Creates the claim for an address of a pool.
    pub(super) async fn claim(&self, data: &Metal3Data, pool: &PoolReference) -> Result<()> {
        let metadata = ObjectMeta {
            name: Some(claim_name(data, &pool.name)),
            namespace: data.metadata.namespace.clone(),
            labels: data.metadata.labels.clone(),
            finalizers: Some(vec![DATA_FINALIZER.to_owned()]),
            owner_references: Some(vec![controller_of(data)]),
            ..ObjectMeta::default()
        };
        if pool.is_metal3() {
            let reference = ObjectReference {
                name: Some(pool.name.clone()),
                namespace: data.metadata.namespace.clone(),
                ..ObjectReference::default()
            };
            let spec = metal3_ipam::IPClaimSpec { pool: reference };
            let claim = metal3_ipam::IPClaim { metadata, spec, status: None };
            return self.ip_claims.create_if_absent(&claim).await.map(drop);
        }
        let PoolReference { group, kind, name } = pool.clone();
        let pool_ref = ContractVersionedObjectReference { api_group: group, kind, name };
        let spec = ipam::IPAddressClaimSpec { cluster_name: None, pool_ref };
        let claim = ipam::IPAddressClaim { metadata, spec, status: None };
        self.address_claims.create_if_absent(&claim).await.map(drop)
    }

    /// Deletes all claims of addresses that a Metal3Data owns.
    pub(super) async fn return_addresses(&self, data: &Metal3Data) -> Result<()> {
        return_all(&self.ip_claims, data).await?;
        return_all(&self.address_claims, data).await
    }
}

/// Returns why a claim cannot be used for a Metal3Data. One that is being deleted belongs to an earlier Metal3Data of this name.
fn foreign<C: Kind<DynamicType = ()>>(claim: &C, data: &Metal3Data) -> Option<Lease> {
    let is_ours = owners::is_owned_by(claim, uid(data));
    let what = format!("{} {}", C::kind(&()), NamespacedName::of(claim));
    match (is_deleting(claim), is_ours) {
        (true, _) => Some(Lease::Foreign(format!("{what} of an earlier machine is being deleted"))),
        (false, true) => None,
        (false, false) => {
            Some(Lease::Foreign(format!("{what} belongs to another object: delete it if nothing uses it")))
        }
    }
}

async fn return_all<C: Kind<DynamicType = ()> + PartialEq>(
    claims: &Objects<C>,
    data: &Metal3Data,
) -> Result<()> {
    for claim in claims.by_owner(uid(data)) {
        claims.delete(claim.as_ref()).await?;
        let Some(claim) = claims.get(&NamespacedName::of(claim.as_ref())) else { continue };
        let mut wanted = claim.as_ref().clone();
        finalizer::remove(&mut wanted, DATA_FINALIZER);
        unless_gone(claims.patch(&claim, &wanted, &[]).await)?;
    }
    Ok(())
}
