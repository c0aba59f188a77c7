//! The rules of a pool: which claim gets which address, which address is released, and the status of the pool.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use engine::{NamespacedName, finalizer, object, time};
use schemas::addresses::{AddressSet, following};
use schemas::in_cluster_pool::{Problem, allocatable};
use schemas::ipam::IPAddress;

use super::observed::{Observed, Waiting};
use super::status::numbers;
use crate::claims::{self, Refusal, is_used};
use crate::limits;
use crate::names::{PROTECT_ADDRESS, PROTECT_POOL, RELEASE_ADDRESS};
use crate::pools::Pool;

/// What to do for a pool.
#[derive(Debug, PartialEq)]
pub struct Plan<P> {
    /// The pool as it should be.
    pub pool: Option<P>,
    /// What to do for each claim.
    pub steps: Vec<Step>,
    /// The addresses to release although their claims do not exist.
    pub orphans: Vec<NamespacedName>,
    /// When there is more to do.
    pub later: Option<Duration>,
}

/// What to do for a claim.
#[derive(Debug, PartialEq)]
pub struct Step {
    /// The claim.
    pub claim: NamespacedName,
    /// The step.
    pub action: Action,
}

/// The kinds of steps.
#[derive(Debug, PartialEq)]
pub enum Action {
    /// Create the address, and record it in the claim.
    Allocate(Box<IPAddress>),
    /// Give the existing address this form, and record it in the claim.
    Settle(Box<IPAddress>),
    /// Record in the claim why it gets no address.
    Refuse(Refusal),
    /// Delete the address of this name, if there is one, and let the claim go.
    Release(Option<NamespacedName>),
}

/// Computes the plan.
pub fn plan<P: Pool>(observed: &Observed<P>, now: DateTime<Utc>) -> Plan<P> {
    let mut waiting: Vec<&Waiting> = observed.claims.iter().filter(|waiting| !waiting.is_held).collect();
    waiting.sort_by_cached_key(|waiting| {
        let created = waiting.claim.metadata.creation_timestamp.as_ref().map(time::utc);
        (created, NamespacedName::of(waiting.claim.as_ref()))
    });
    let addresses = observed.pool.as_ref().map(|pool| allocatable(pool.spec()));
    let mut giving = Giving::new(observed, addresses.as_ref());
    let mut plan = Plan { pool: None, steps: Vec::new(), orphans: observed.orphans.clone(), later: None };
    for waiting in waiting {
        if plan.steps.len() == limits::CLAIMS_IN_A_RECONCILE {
            plan.later = Some(limits::NEXT_CLAIMS);
            break;
        }
        let action = if object::is_deleting(waiting.claim.as_ref()) {
            release(observed, waiting, now)
        } else {
            Next::Step(giving.give(waiting))
        };
        match action {
            Next::Step(action) => {
                plan.steps.push(Step { claim: NamespacedName::of(waiting.claim.as_ref()), action });
            }
            Next::Later(delay) => plan.later = Some(plan.later.map_or(delay, |later| later.min(delay))),
            Next::Nothing => {}
        }
    }
    plan.pool = observed.pool.as_ref().map(|pool| wanted(pool, observed, addresses.as_ref()));
    plan
}

/// What is next for a claim.
enum Next {
    Step(Action),
    Later(Duration),
    Nothing,
}

/// Returns what is next for a claim that is being deleted. Its address is not free while a finalizer of somebody else says that it
/// is used, and until `addressReuseGracePeriodSeconds` of the pool have passed.
fn release<P: Pool>(observed: &Observed<P>, waiting: &Waiting, now: DateTime<Utc>) -> Next {
    let claim = waiting.claim.as_ref();
    if is_used(claim) {
        return Next::Nothing;
    }
    let Some(address) = &waiting.address else {
        let is_ours = finalizer::has(claim, RELEASE_ADDRESS);
        return if is_ours { Next::Step(Action::Release(None)) } else { Next::Nothing };
    };
    let grace = observed.pool.as_ref().filter(|pool| !object::is_deleting(pool.as_ref()));
    let grace = grace.and_then(|pool| pool.spec().address_reuse_grace_period_seconds).unwrap_or(0);
    let grace = Duration::from_secs(u64::try_from(grace).unwrap_or(0));
    let deleted = claim.metadata.deletion_timestamp.as_ref().map_or(now, time::utc);
    // A clock that was set back does not prolong the period.
    let passed = (now - deleted).to_std().unwrap_or_default();
    match grace.checked_sub(passed).filter(|left| !left.is_zero()) {
        Some(left) => Next::Later(left),
        None => Next::Step(Action::Release(Some(NamespacedName::of(address.as_ref())))),
    }
}

/// The allocation of addresses in one plan. It never goes back, so that many allocations cost little more than one.
struct Giving<'a, P> {
    observed: &'a Observed<P>,
    all: Option<&'a AddressSet>,
    taken: AddressSet,
    /// Where the search continues.
    next: Option<IpAddr>,
    /// Why the pool allocates nothing at all.
    closed: Option<Refusal>,
}

impl<'a, P: Pool> Giving<'a, P> {
    fn new(observed: &'a Observed<P>, addresses: Option<&'a Result<AddressSet, Vec<Problem>>>) -> Self {
        let all = addresses.and_then(|addresses| addresses.as_ref().ok());
        let taken = observed.taken.addresses.clone();
        let next = all.and_then(AddressSet::first);
        Self { observed, all, taken, next, closed: closed(observed, addresses) }
    }

    /// Returns the step for a claim that is not being deleted.
    fn give(&mut self, waiting: &Waiting) -> Action {
        let Some(pool) = &self.observed.pool else {
            return Action::Refuse(Refusal::NotReady(format!(
                "there is no {}: create it",
                P::called(&self.observed.name)
            )));
        };
        if let Some(address) = waiting.address.as_ref().filter(|address| stays(address)) {
            return self.keep(waiting, address, pool);
        }
        match self.allocate(waiting) {
            Ok(address) => {
                Action::Allocate(Box::new(claims::address(&waiting.claim, pool.as_ref(), address)))
            }
            Err(refusal) => Action::Refuse(refusal),
        }
    }

    /// Returns the step for a claim that has an address, also of a pool that allocates no more.
    fn keep(&self, waiting: &Waiting, address: &Arc<IPAddress>, pool: &Arc<P>) -> Action {
        let parsed = address.spec.address.parse::<IpAddr>().ok();
        if parsed.is_some_and(|parsed| self.observed.taken.shared.contains(&parsed)) {
            return Action::Refuse(Refusal::Failed(format!(
                "another IPAddress of {} has the address {}, too: delete IPAddress {}, and the claim gets another address",
                P::called(&self.observed.name),
                address.spec.address,
                address.metadata.name.as_deref().unwrap_or_default()
            )));
        }
        let mut wanted = address.as_ref().clone();
        claims::complete(&mut wanted, &waiting.claim, pool.as_ref());
        Action::Settle(Box::new(wanted))
    }

    fn allocate(&mut self, waiting: &Waiting) -> Result<IpAddr, Refusal> {
        if let Some(refusal) = &self.closed {
            return Err(refusal.clone());
        }
        let name = waiting.claim.metadata.name.as_deref().unwrap_or_default();
        if waiting.address.is_some() {
            let message = format!("waits until IPAddress {name}, which is being deleted, is gone");
            return Err(Refusal::Failed(message));
        }
        if let Some(foreign) = &waiting.foreign {
            let (pool, claim) = (&foreign.spec.pool_ref, &foreign.spec.claim_ref.name);
            return Err(Refusal::Failed(format!(
                "IPAddress {name} exists, and is of claim {claim} and {} {}: delete it, or use another name for the claim",
                pool.kind, pool.name
            )));
        }
        self.take().ok_or_else(|| self.exhausted())
    }

    /// Takes the lowest free address.
    fn take(&mut self) -> Option<IpAddr> {
        let all = self.all?;
        let mut from = self.next.take()?;
        while let Some((first, last)) = all.run_from(from) {
            let free = self.taken.first_absent(first).filter(|free| *free <= last);
            if let Some(free) = free {
                self.taken.insert(free);
                self.next = Some(free);
                return Some(free);
            }
            from = following(last)?;
        }
        None
    }

    fn exhausted(&self) -> Refusal {
        let total = self.all.map_or(0, AddressSet::count);
        Refusal::Exhausted(format!(
            "{} has no free address: all {total} are allocated. Add addresses to it, or delete a claim that is no longer needed",
            P::called(&self.observed.name),
        ))
    }
}

/// Returns whether an address remains until its claim is deleted.
fn stays(address: &IPAddress) -> bool {
    !object::is_deleting(address) || finalizer::has(address, PROTECT_ADDRESS)
}

/// Returns why the pool allocates nothing.
fn closed<P: Pool>(
    observed: &Observed<P>,
    addresses: Option<&Result<AddressSet, Vec<Problem>>>,
) -> Option<Refusal> {
    let called = P::called(&observed.name);
    if observed.pool.as_ref().is_some_and(|pool| object::is_deleting(pool.as_ref())) {
        return Some(Refusal::NotReady(format!("{called} is being deleted")));
    }
    let problem = addresses?.as_ref().err()?.first()?;
    let Problem { field, detail, .. } = problem;
    Some(Refusal::NotReady(format!("{called} cannot be used: {field} {detail}")))
}

/// Returns the pool with its wanted finalizer and status.
fn wanted<P: Pool>(
    pool: &Arc<P>,
    observed: &Observed<P>,
    addresses: Option<&Result<AddressSet, Vec<Problem>>>,
) -> P {
    let mut wanted = pool.as_ref().clone();
    if object::is_deleting(pool.as_ref()) && observed.taken.objects == 0 {
        finalizer::remove(&mut wanted, PROTECT_POOL);
    } else if let Some(Ok(all)) = addresses {
        let numbers = numbers(all, &observed.taken);
        wanted.status_mut().get_or_insert_default().ip_addresses = Some(numbers);
    }
    wanted
}
