//! IPAddressClaims of pools, and the IPAddresses that they get.

use std::net::IpAddr;

use chrono::{DateTime, Utc};
use engine::{conditions, finalizer, names, object, owners};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::core::ObjectMeta;
use schemas::ipam::{IPAddress, IPAddressClaim, IPAddressClaimReference, IPAddressReference, IPAddressSpec};

use crate::names::{PROTECT_ADDRESS, RELEASE_ADDRESS};
use crate::pools::Pool;

/// Finalizers of Kubernetes itself. They wait for the deletion of the IPAddress, so its release must not wait for them.
const OF_GARBAGE_COLLECTION: [&str; 2] = ["foregroundDeletion", "orphan"];

/// The reason why a claim has no address. Each is looked at again when the pool, an address or the claim changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// All addresses are allocated.
    Exhausted(String),
    /// The IPAddress cannot be created or used.
    Failed(String),
    /// There is no pool that allocates addresses.
    NotReady(String),
}

impl Refusal {
    /// Returns the message for people.
    pub fn message(&self) -> &str {
        let (Self::Exhausted(message) | Self::Failed(message) | Self::NotReady(message)) = self;
        message
    }

    /// Returns the reason of the condition `Ready`.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Exhausted(_) => "PoolExhausted",
            Self::Failed(_) => "AllocationFailed",
            Self::NotReady(_) => "PoolNotReady",
        }
    }
}

/// Records the IPAddress in the status of its claim.
pub fn settle(claim: &mut IPAddressClaim, address: &IPAddress, now: DateTime<Utc>) {
    finalizer::add(claim, RELEASE_ADDRESS);
    let name = address.metadata.name.clone().unwrap_or_default();
    claim.status.get_or_insert_default().address_ref = Some(IPAddressReference { name });
    conditions::set(claim, now, conditions::is_true("Ready", "Ready"));
}

/// Records the refusal in the status of a claim.
pub fn refuse(claim: &mut IPAddressClaim, refusal: &Refusal, now: DateTime<Utc>) {
    conditions::set(claim, now, conditions::is_false("Ready", refusal.reason(), refusal.message()));
}

/// Returns whether the controller has nothing more to do for a claim until it is deleted.
pub fn is_settled(claim: &IPAddressClaim) -> bool {
    claim.status.as_ref().is_some_and(|status| status.address_ref.is_some())
        && !object::is_deleting(claim)
        && finalizer::has(claim, RELEASE_ADDRESS)
}

/// Returns whether finalizers of others say that the address of a claim is in use.
pub fn is_used(claim: &IPAddressClaim) -> bool {
    let mut finalizers = claim.metadata.finalizers.iter().flatten().map(String::as_str);
    finalizers.any(|present| present != RELEASE_ADDRESS && !OF_GARBAGE_COLLECTION.contains(&present))
}

/// Returns the name of the Cluster of a claim: `spec.clusterName`, or else its label.
pub fn cluster_name(claim: &IPAddressClaim) -> Option<&str> {
    let named = claim.spec.cluster_name.as_deref().filter(|name| !name.is_empty());
    named.or_else(|| object::label(claim, names::CLUSTER_NAME).filter(|name| !name.is_empty()))
}

/// Returns the IPAddress of a claim. As upstream, it has the name of its claim, the claim controls it, and the pool owns it, too.
pub fn address<P: Pool>(claim: &IPAddressClaim, pool: &P, address: IpAddr) -> IPAddress {
    let longest = if address.is_ipv4() { 32 } else { 128 };
    let mut made = IPAddress {
        metadata: ObjectMeta {
            name: claim.metadata.name.clone(),
            namespace: claim.metadata.namespace.clone(),
            ..ObjectMeta::default()
        },
        spec: IPAddressSpec {
            address: address.to_string(),
            claim_ref: IPAddressClaimReference { name: claim.metadata.name.clone().unwrap_or_default() },
            gateway: pool.spec().gateway.clone().filter(|gateway| !gateway.is_empty()),
            pool_ref: claim.spec.pool_ref.clone(),
            prefix: i32::try_from(pool.spec().prefix).unwrap_or(longest),
        },
    };
    complete(&mut made, claim, pool);
    made
}

/// Adds what an IPAddress must have of its claim and its pool: owners, the label of the Cluster, the finalizer. After a move, the
/// owners have other UIDs.
pub fn complete<P: Pool>(address: &mut IPAddress, claim: &IPAddressClaim, pool: &P) {
    owners::ensure(address, owners::controller_reference(claim, &()));
    let of_pool = owners::reference(pool, &());
    let of_pool = OwnerReference { controller: Some(false), block_owner_deletion: Some(true), ..of_pool };
    owners::ensure(address, of_pool);
    if let Some(cluster) = cluster_name(claim) {
        address
            .metadata
            .labels
            .get_or_insert_default()
            .insert(names::CLUSTER_NAME.into(), cluster.to_owned());
    }
    // The API server refuses new finalizers on an object that is being deleted.
    if !object::is_deleting(address) {
        finalizer::add(address, PROTECT_ADDRESS);
    }
}
