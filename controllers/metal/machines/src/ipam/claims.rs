//! The two kinds of claims that an IPPool serves, and the kind of address that each gets: IPClaim and IPAddress of Metal3, and
//! IPAddressClaim and IPAddress of Cluster API.

use std::net::IpAddr;

use chrono::{DateTime, Utc};
pub use cluster_ipam::claims::Refusal;
use engine::object::annotation;
use engine::{Kind, NamespacedName, conditions, finalizer, owners};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemas::meta::{ContractVersionedObjectReference, ObjectReference};
use schemas::metal3_ipam::IPPool;
use schemas::{ipam, metal3_ipam};

use crate::ipam::names::{
    ADDRESS_CLAIM_FINALIZER, ADDRESS_FINALIZER, CLAIM_FINALIZER, CLUSTER_API_ADDRESS_FINALIZER, REQUESTED,
};
use crate::ipam::pool::Allocation;

/// The API to which a claim and its address belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Api {
    /// `ipam.metal3.io`.
    Metal3,
    /// `ipam.cluster.x-k8s.io`.
    ClusterApi,
}

/// A claim of an address.
pub trait Claim: Kind<DynamicType = ()> + PartialEq {
    /// The kind of address that the claim gets.
    type Address: Address;
    /// The API of the kind.
    const API: Api;
    /// Finalizer of the claim.
    const FINALIZER: &'static str;
    /// Finalizer of its address.
    const ADDRESS_FINALIZER: &'static str;

    /// Returns the IPPool that the claim refers to; `None` for a pool of another kind.
    fn pool(&self) -> Option<NamespacedName>;
    /// Returns the name of the address in the status.
    fn address_name(&self) -> Option<&str>;
    /// Records the address in the status.
    fn settle(&mut self, address: &str, now: DateTime<Utc>);
    /// Records the refusal in the status.
    fn refuse(&mut self, refusal: &Refusal, now: DateTime<Utc>);
    /// Creates the address of the claim.
    fn address(&self, pool: &IPPool, name: String, allocation: &Allocation) -> Self::Address;

    /// Returns the address that the claim requests.
    fn requested(&self) -> Option<&str> {
        annotation(self, REQUESTED).filter(|text| !text.is_empty())
    }

    /// Returns whether finalizers of others say that the address is in use.
    fn is_used(&self) -> bool {
        self.meta().finalizers.iter().flatten().any(|present| present != Self::FINALIZER)
    }
}

/// An allocated address.
pub trait Address: Kind<DynamicType = ()> + PartialEq {
    /// Returns the IPPool of the address; `None` for a pool of another kind.
    fn pool(&self) -> Option<NamespacedName>;
    /// Returns the name of its claim.
    fn claim(&self) -> &str;
    /// Returns the address as text.
    fn text(&self) -> &str;
}

/// Returns the name of the object of an address: `<prefix>-<address>`, with `-` for each `.` and `:`.
pub fn address_name(prefix: &str, address: IpAddr) -> String {
    let address = address.to_string().replace(['.', ':'], "-");
    format!("{prefix}-{address}").trim_end_matches('-').to_owned()
}

/// Returns the metadata of the address of a claim. As in Metal3, pool and claim own it, and neither is its controller.
fn metadata<C: Claim>(claim: &C, pool: &IPPool, name: String) -> ObjectMeta {
    ObjectMeta {
        name: Some(name),
        namespace: pool.metadata.namespace.clone(),
        labels: claim.meta().labels.clone(),
        finalizers: Some(vec![C::ADDRESS_FINALIZER.to_owned()]),
        owner_references: Some(vec![owners::reference(pool, &()), owners::reference(claim, &())]),
        ..ObjectMeta::default()
    }
}

/// Returns the reference to an object.
pub fn reference(name: Option<String>, namespace: Option<String>) -> ObjectReference {
    ObjectReference { name, namespace, ..ObjectReference::default() }
}

/// Returns the name of a pool in the namespace of an object that refers to it, unless it is in another one.
pub fn metal3_pool(metadata: &ObjectMeta, pool: &ObjectReference) -> Option<NamespacedName> {
    let namespace = metadata.namespace.clone().unwrap_or_default();
    let is_here = pool.namespace.as_deref().is_none_or(|other| other.is_empty() || other == namespace);
    let name = pool.name.clone().filter(|name| !name.is_empty() && is_here)?;
    Some(NamespacedName::new(namespace, name))
}

/// Returns the pool to which a claim of Cluster API refers, if it is one of Metal3.
pub fn cluster_api_pool(
    metadata: &ObjectMeta,
    pool: &ContractVersionedObjectReference,
) -> Option<NamespacedName> {
    let is_ours = pool.api_group == IPPool::GROUP && pool.kind == IPPool::KIND;
    is_ours.then(|| NamespacedName::new(metadata.namespace.clone().unwrap_or_default(), pool.name.clone()))
}

impl Claim for metal3_ipam::IPClaim {
    type Address = metal3_ipam::IPAddress;
    const API: Api = Api::Metal3;
    const FINALIZER: &'static str = CLAIM_FINALIZER;
    const ADDRESS_FINALIZER: &'static str = ADDRESS_FINALIZER;

    fn pool(&self) -> Option<NamespacedName> {
        metal3_pool(&self.metadata, &self.spec.pool)
    }

    fn address_name(&self) -> Option<&str> {
        self.status.as_ref()?.address.as_ref()?.name.as_deref()
    }

    fn settle(&mut self, address: &str, _: DateTime<Utc>) {
        let namespace = self.metadata.namespace.clone();
        let status = self.status.get_or_insert_default();
        status.address = Some(reference(Some(address.to_owned()), namespace));
        status.error_message = None;
    }

    fn refuse(&mut self, refusal: &Refusal, _: DateTime<Utc>) {
        self.status.get_or_insert_default().error_message = Some(refusal.message().to_owned());
    }

    fn address(&self, pool: &IPPool, name: String, allocation: &Allocation) -> Self::Address {
        let namespace = pool.metadata.namespace.clone();
        metal3_ipam::IPAddress {
            metadata: metadata(self, pool, name),
            spec: metal3_ipam::Metal3IPAddressSpec {
                address: allocation.address.to_string(),
                claim: reference(self.metadata.name.clone(), namespace.clone()),
                dns_servers: allocation.dns_servers.clone(),
                gateway: allocation.gateway.clone(),
                pool: reference(pool.metadata.name.clone(), namespace),
                prefix: allocation.prefix,
            },
        }
    }
}

impl Address for metal3_ipam::IPAddress {
    fn pool(&self) -> Option<NamespacedName> {
        metal3_pool(&self.metadata, &self.spec.pool)
    }

    fn claim(&self) -> &str {
        self.spec.claim.name.as_deref().unwrap_or_default()
    }

    fn text(&self) -> &str {
        &self.spec.address
    }
}

impl Claim for ipam::IPAddressClaim {
    type Address = ipam::IPAddress;
    const API: Api = Api::ClusterApi;
    const FINALIZER: &'static str = ADDRESS_CLAIM_FINALIZER;
    const ADDRESS_FINALIZER: &'static str = CLUSTER_API_ADDRESS_FINALIZER;

    fn pool(&self) -> Option<NamespacedName> {
        cluster_api_pool(&self.metadata, &self.spec.pool_ref)
    }

    fn address_name(&self) -> Option<&str> {
        Some(&self.status.as_ref()?.address_ref.as_ref()?.name)
    }

    fn settle(&mut self, address: &str, now: DateTime<Utc>) {
        let reference = ipam::IPAddressReference { name: address.to_owned() };
        self.status.get_or_insert_default().address_ref = Some(reference);
        conditions::set(self, now, conditions::is_true("Ready", "Ready"));
    }

    fn refuse(&mut self, refusal: &Refusal, now: DateTime<Utc>) {
        conditions::set(self, now, conditions::is_false("Ready", refusal.reason(), refusal.message()));
    }

    fn address(&self, pool: &IPPool, name: String, allocation: &Allocation) -> Self::Address {
        let longest = if allocation.address.is_ipv4() { 32 } else { 128 };
        // Cluster API's address needs a prefix length; a pool without one gives single addresses.
        let prefix = allocation.prefix.and_then(|prefix| i32::try_from(prefix).ok()).unwrap_or(longest);
        ipam::IPAddress {
            metadata: metadata(self, pool, name),
            spec: ipam::IPAddressSpec {
                address: allocation.address.to_string(),
                claim_ref: ipam::IPAddressClaimReference {
                    name: self.metadata.name.clone().unwrap_or_default(),
                },
                gateway: allocation.gateway.clone(),
                pool_ref: self.spec.pool_ref.clone(),
                prefix,
            },
        }
    }
}

impl Address for ipam::IPAddress {
    fn pool(&self) -> Option<NamespacedName> {
        cluster_api_pool(&self.metadata, &self.spec.pool_ref)
    }

    fn claim(&self) -> &str {
        &self.spec.claim_ref.name
    }

    fn text(&self) -> &str {
        &self.spec.address
    }
}

/// Returns whether the controller has nothing more to do for a claim until it is deleted.
pub fn is_settled<C: Claim>(claim: &C) -> bool {
    claim.address_name().is_some()
        && claim.meta().deletion_timestamp.is_none()
        && finalizer::has(claim, C::FINALIZER)
}
