//! The rules of a pool: which claim gets which address, which address is released, and the status of the pool.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use chrono::{DateTime, Utc};
use engine::{finalizer, owners};
use machinery::clock::{parse_rfc3339, rfc3339};
use schemas::metal3_ipam::IPPool;

use super::observed::{Known, Observed, Waiting};
use super::{cluster_name, is_deleting};
use crate::ipam::claims::{Api, Refusal, address_name};
use crate::ipam::names::{POOL_FINALIZER, REQUESTED};
use crate::ipam::pool::{Allocation, Free, Ranges};
use crate::limits;

/// What to do for a pool.
#[derive(Debug, Default, PartialEq)]
pub struct Plan {
    /// The pool as it should be.
    pub pool: Option<IPPool>,
    /// What to do for each claim.
    pub steps: Vec<Step>,
    /// The addresses to release although their claims do not exist: API and name of the object.
    pub orphans: Vec<(Api, String)>,
    /// When the status of the pool is due.
    pub later: Option<Duration>,
}

/// What to do for a claim.
#[derive(Debug, PartialEq)]
pub struct Step {
    /// The API of the claim.
    pub api: Api,
    /// Its name.
    pub claim: String,
    /// The step.
    pub action: Action,
}

/// The kinds of steps.
#[derive(Debug, PartialEq)]
pub enum Action {
    /// Create the address under this name, and record it in the claim.
    Allocate(String, Allocation),
    /// Record the existing address of this name in the claim.
    Settle(String),
    /// Record in the claim why it gets no address.
    Refuse(Refusal),
    /// Delete the address of this name, if there is one, and let the claim go.
    Release(Option<String>),
}

/// Computes the plan.
pub fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
    let mut claims: Vec<&Waiting> = observed.claims.iter().collect();
    claims.sort_by_key(|claim| (claim.created, claim.api, claim.name.as_str()));
    let known: BTreeMap<(Api, &str), &Known> = observed
        .addresses
        .iter()
        .filter(|address| address.is_of_pool)
        .map(|address| ((address.api, address.claim.as_str()), address))
        .collect();
    let spec = observed.pool.as_ref().map(|pool| pool.spec.clone()).unwrap_or_default();
    let ranges = Ranges::of(&spec);
    let mut giving = Giving::new(observed, &ranges);
    let mut plan = Plan::default();
    for claim in claims {
        let address = known.get(&(claim.api, claim.name.as_str())).copied();
        let action = match address {
            _ if claim.is_deleting && (claim.is_used || !claim.has_finalizer) => continue,
            address if claim.is_deleting => Action::Release(address.map(|address| address.name.clone())),
            Some(address) if !address.is_deleting => Action::Settle(address.name.clone()),
            // The claim gets another address as soon as its old one is gone.
            Some(_) => continue,
            None => giving.give(claim).map_or_else(Action::Refuse, |given| {
                Action::Allocate(address_name(&spec.name_prefix, given.address), given)
            }),
        };
        plan.steps.push(Step { api: claim.api, claim: claim.name.clone(), action });
    }
    let orphans = observed.addresses.iter().filter(|address| is_orphan(address));
    plan.orphans = orphans.map(|address| (address.api, address.name.clone())).collect();
    if let Some(pool) = &observed.pool {
        let (pool, later) = wanted(pool, observed, now);
        plan.pool = Some(pool);
        // The plan was made before its own allocations, which the status lists next time.
        let allocates = plan.steps.iter().any(|step| matches!(step.action, Action::Allocate(..)));
        plan.later = later.or(allocates.then_some(limits::STATUS_INTERVAL));
    }
    plan
}

/// Returns whether an address is being deleted and its claim, which would release it, does not exist.
fn is_orphan(address: &Known) -> bool {
    address.is_of_pool && address.is_deleting && !address.has_claim
}

/// The allocation of addresses in one plan.
struct Giving<'a> {
    observed: &'a Observed,
    ranges: &'a Ranges<'a>,
    free: Free<'a>,
    /// The addresses of `spec.preAllocations` by claim.
    reserved: BTreeMap<&'a str, &'a str>,
    /// The number of allocated addresses.
    allocated: usize,
    /// Why the pool allocates nothing at all.
    closed: Option<Refusal>,
}

impl<'a> Giving<'a> {
    fn new(observed: &'a Observed, ranges: &'a Ranges<'a>) -> Self {
        let mut taken = observed.taken.clone();
        let pre_allocations = observed.pool.iter().flat_map(|pool| &pool.spec.pre_allocations);
        let reserved: BTreeMap<&str, &str> =
            pre_allocations.map(|(claim, address)| (claim.as_str(), address.as_str())).collect();
        for address in reserved.values().filter_map(|address| address.parse().ok()) {
            taken.insert(address);
        }
        let allocated = observed.allocated;
        Self { observed, ranges, free: ranges.free(taken), reserved, allocated, closed: closed(observed) }
    }

    fn give(&mut self, claim: &Waiting) -> Result<Allocation, Refusal> {
        if let Some(refusal) = &self.closed {
            return Err(refusal.clone());
        }
        let requested = match &claim.requested {
            Some(text) => Some(text.parse::<IpAddr>().map_err(|_| {
                Refusal::Failed(format!(
                    "annotation {REQUESTED} {text:?} is no IP address: correct or remove it"
                ))
            })?),
            None => None,
        };
        let given = match (self.reserved.get(claim.name.as_str()).copied(), requested) {
            (Some(text), requested) => self.give_reserved(text, requested),
            (None, Some(address)) => self.give_requested(address),
            (None, None) => self.free.take().ok_or_else(|| self.exhausted()),
        }?;
        self.allocated += 1;
        Ok(given)
    }

    /// Gives the address that `spec.preAllocations` reserves for the claim.
    fn give_reserved(&mut self, text: &str, requested: Option<IpAddr>) -> Result<Allocation, Refusal> {
        let pool = &self.observed.name;
        let field = format!("spec.preAllocations of IPPool {pool}");
        let address: IpAddr = text.parse().map_err(|_| {
            Refusal::Failed(format!("{field} has {text:?} for this claim, which is no IP address"))
        })?;
        if let Some(other) = requested.filter(|other| *other != address) {
            let message = format!(
                "{field} reserves {address} for this claim, but its annotation {REQUESTED} asks for {other}"
            );
            return Err(Refusal::Failed(message));
        }
        if let Some(holder) = self.holder(address) {
            return Err(Refusal::Failed(format!(
                "{field} reserves {address} for this claim, but {holder} has it"
            )));
        }
        self.ranges.find(address).ok_or_else(|| {
            let message = format!(
                "{field} reserves {address} for this claim, which is in none of its ranges: {}",
                self.ranges.describe()
            );
            Refusal::Failed(message)
        })
    }

    /// Gives the address that the claim's annotation asks for.
    fn give_requested(&mut self, address: IpAddr) -> Result<Allocation, Refusal> {
        if let Some(given) = self.free.take_this(address) {
            return Ok(given);
        }
        let pool = &self.observed.name;
        let why = match self.holder(address) {
            Some(holder) => format!("{holder} has it"),
            None if self.ranges.find(address).is_some() => {
                format!(
                    "spec.preAllocations of IPPool {pool} reserves it for another claim, or another claim gets it now"
                )
            }
            None => format!("it is in no range of IPPool {pool}: {}", self.ranges.describe()),
        };
        Err(Refusal::Failed(format!(
            "the address {address} of annotation {REQUESTED} cannot be allocated: {why}"
        )))
    }

    /// Returns the claim that has an address, for messages.
    fn holder(&self, address: IpAddr) -> Option<String> {
        let same = |known: &&Known| known.address.parse() == Ok(address);
        let known = self.observed.addresses.iter().find(same)?;
        Some(format!("claim {:?}", known.claim))
    }

    fn exhausted(&self) -> Refusal {
        let (allocated, reserved) = (self.allocated, self.reserved.len());
        Refusal::Exhausted(format!(
            "IPPool {} has no free address. Its ranges: {}; {allocated} allocated, {reserved} reserved by \
             spec.preAllocations. Add a range to spec.pools, or delete a claim that is no longer needed",
            self.observed.name,
            self.ranges.describe()
        ))
    }
}

/// Returns why the pool allocates nothing.
fn closed(observed: &Observed) -> Option<Refusal> {
    let name = &observed.name;
    let Some(pool) = &observed.pool else {
        return Some(Refusal::NotReady(format!("there is no IPPool {name}: create it")));
    };
    if is_deleting(pool) {
        return Some(Refusal::NotReady(format!("IPPool {name} is being deleted")));
    }
    let missing = cluster_name(pool).filter(|_| observed.cluster.is_none())?;
    let message = format!(
        "IPPool {name} waits for Cluster {}/{missing} of its spec.clusterName: create it, or remove the field",
        name.namespace
    );
    Some(Refusal::NotReady(message))
}

/// Returns the pool with its wanted metadata and status, and when the status is due if it is too early for it.
fn wanted(pool: &IPPool, observed: &Observed, now: DateTime<Utc>) -> (IPPool, Option<Duration>) {
    let mut wanted = pool.clone();
    if let Some(cluster) = &observed.cluster {
        owners::ensure(&mut wanted, owners::reference(cluster.as_ref(), &()));
        let name = cluster.metadata.name.clone().unwrap_or_default();
        wanted.metadata.labels.get_or_insert_default().insert(engine::names::CLUSTER_NAME.into(), name);
    }
    if pool.metadata.deletion_timestamp.is_some() && observed.allocated == 0 {
        finalizer::remove(&mut wanted, POOL_FINALIZER);
        return (wanted, None);
    }
    let Some(indexes) = &observed.indexes else {
        return (wanted, status_delay(pool, observed.allocated, now));
    };
    let status = wanted.status.get_or_insert_default();
    if status.last_updated.is_none() || status.indexes != *indexes {
        status.indexes.clone_from(indexes);
        status.last_updated = Some(rfc3339(now));
    }
    (wanted, None)
}

/// Returns the time until the status of a pool is due; `None` if it is due now.
pub fn status_delay(pool: &IPPool, allocated: usize, now: DateTime<Utc>) -> Option<Duration> {
    let last =
        pool.status.as_ref().and_then(|status| status.last_updated.as_deref()).and_then(parse_rfc3339)?;
    let entries = u32::try_from(allocated).unwrap_or(u32::MAX);
    let passed = (now - last).to_std().unwrap_or_default();
    let interval = limits::STATUS_INTERVAL.saturating_mul(entries);
    interval.checked_sub(passed).filter(|delay| !delay.is_zero())
}
