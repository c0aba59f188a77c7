//! The claims of addresses: IPClaims of Metal3, and IPAddressClaims of Cluster API for pools of other kinds.

use engine::object::{is_deleting, uid};
use engine::{Kind, Manager, NamespacedName, Objects, Result, finalizer, owners, unless_gone};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use schemas::infrastructure::Metal3Data;
use schemas::meta::{ContractVersionedObjectReference, ObjectReference};
use schemas::metal3::BareMetalHost;
use schemas::{HasConditions, ipam, metal3_ipam};

use crate::data::names::{DATA_FINALIZER, DATA_LABEL, POOL_LABEL};
use crate::data::pools::{PoolAddress, PoolReference};

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

/// The claim of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leased {
    /// The pool.
    pub pool: PoolReference,
    /// The name of the claim.
    pub claim: String,
    /// The state of the claim.
    pub lease: Lease,
}

/// Returns the owner reference to a Metal3Data as the controller of another object.
pub fn controller_of(data: &Metal3Data) -> OwnerReference {
    OwnerReference { controller: Some(true), ..owners::reference(data, &()) }
}

/// The claims of addresses, and what they claim.
pub(super) struct AddressClaims {
    pub(super) ip_claims: Objects<metal3_ipam::IPClaim>,
    pub(super) ip_addresses: Objects<metal3_ipam::IPAddress>,
    pub(super) address_claims: Objects<ipam::IPAddressClaim>,
    pub(super) addresses: Objects<ipam::IPAddress>,
    pub(super) pools: Objects<metal3_ipam::IPPool>,
}

impl AddressClaims {
    pub(super) fn new(manager: &Manager) -> Self {
        Self {
            ip_claims: manager.objects(),
            ip_addresses: manager.objects(),
            address_claims: manager.objects(),
            addresses: manager.objects(),
            pools: manager.objects(),
        }
    }

    /// Returns the claim for an address of a pool.
    pub(super) fn leased(&self, data: &Metal3Data, host: &BareMetalHost, pool: PoolReference) -> Leased {
        let claim = self.claim_name(data, host, &pool);
        let lease = self.lease(data, &pool, &claim);
        Leased { pool, claim, lease }
    }

    /// Returns the name of the claim: `<Metal3Data>-<pool>`; or `<BareMetalHost>-<pool>`, if the pool reserves an address for this name
    /// (`spec.preAllocations`). Metal3's provider does the latter for all claims if it runs with
    /// `--enable-bmh-name-based-preallocation`. A claim that the Metal3Data has keeps its name.
    fn claim_name(&self, data: &Metal3Data, host: &BareMetalHost, pool: &PoolReference) -> String {
        let of =
            |metadata: &ObjectMeta| format!("{}-{}", metadata.name.as_deref().unwrap_or_default(), pool.name);
        let (of_data, of_host) = (of(&data.metadata), of(&host.metadata));
        let namespace = data.metadata.namespace.as_deref().unwrap_or_default();
        let is_ours = |name: &str| {
            let claim = self.ip_claims.get(&NamespacedName::new(namespace, name));
            claim.is_some_and(|claim| owners::is_owned_by(claim.as_ref(), uid(data)))
        };
        let is_reserved = || {
            let pool = self.pools.get(&NamespacedName::new(namespace, pool.name.as_str()));
            pool.is_some_and(|pool| pool.spec.pre_allocations.contains_key(&of_host))
        };
        let is_of_host = pool.is_metal3() && !is_ours(&of_data) && (is_ours(&of_host) || is_reserved());
        if is_of_host { of_host } else { of_data }
    }

    /// Returns the state of a claim.
    fn lease(&self, data: &Metal3Data, pool: &PoolReference, claim: &str) -> Lease {
        let namespace = data.metadata.namespace.clone().unwrap_or_default();
        let key = NamespacedName::new(namespace.as_str(), claim);
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
    pub(super) async fn claim(&self, data: &Metal3Data, pool: &PoolReference, name: &str) -> Result<()> {
        let mut labels = data.metadata.labels.clone().unwrap_or_default();
        let of_data = data.metadata.name.clone().unwrap_or_default();
        if name != format!("{of_data}-{}", pool.name) {
            labels.insert(DATA_LABEL.to_owned(), of_data);
            labels.insert(POOL_LABEL.to_owned(), pool.name.clone());
        }
        let metadata = ObjectMeta {
            name: Some(name.to_owned()),
            namespace: data.metadata.namespace.clone(),
            labels: Some(labels).filter(|labels| !labels.is_empty()),
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
