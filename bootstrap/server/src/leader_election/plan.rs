//! The rules of leader election, as in client-go's `leaderelection`.

use std::time::Duration;

use chrono::{DateTime, Utc};
use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;

/// A process that takes part in an election.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its identity, which no other process has, also no earlier one of the same Pod.
    pub identity: String,
    /// The time in seconds after which others may take a lease that this process no longer renews.
    pub lease_seconds: i32,
}

/// The next action of a candidate.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Another process leads.
    Follow {
        /// The `holderIdentity` of the leader.
        holder: String,
    },
    /// Write this lease. Success makes this process the leader, or keeps it the leader.
    Write(LeaseSpec),
}

/// Returns the next action of a candidate. `found` is the Lease in the cluster, if there is one, and `unchanged` is the time since this
/// process first saw it exactly like this. The times in the lease are not compared with `now`, because other processes have other clocks.
pub fn plan(
    candidate: &Candidate,
    found: Option<&LeaseSpec>,
    unchanged: Duration,
    now: DateTime<Utc>,
) -> Step {
    let is_new = found.is_none();
    let mut lease = found.cloned().unwrap_or_default();
    let holder = lease.holder_identity.take().unwrap_or_default();
    let lasts =
        Duration::from_secs(lease.lease_duration_seconds.unwrap_or_default().max(0).unsigned_abs().into());
    let is_ours = holder == candidate.identity;
    if !holder.is_empty() && !is_ours && unchanged < lasts {
        return Step::Follow { holder };
    }
    let transitions = lease.lease_transitions.unwrap_or_default();
    lease.lease_transitions =
        Some(if is_new || is_ours { transitions } else { transitions.saturating_add(1) });
    if !is_ours || lease.acquire_time.is_none() {
        lease.acquire_time = Some(micro_time(now));
    }
    lease.renew_time = Some(micro_time(now));
    lease.lease_duration_seconds = Some(candidate.lease_seconds);
    lease.holder_identity = Some(candidate.identity.clone());
    Step::Write(lease)
}

/// Returns the lease that anybody may take at once; `None` if the candidate does not hold it.
pub fn released(candidate: &Candidate, found: &LeaseSpec, now: DateTime<Utc>) -> Option<LeaseSpec> {
    (found.holder_identity.as_deref() == Some(&candidate.identity)).then(|| LeaseSpec {
        holder_identity: None,
        // The API refuses zero.
        lease_duration_seconds: Some(1),
        acquire_time: Some(micro_time(now)),
        renew_time: Some(micro_time(now)),
        ..found.clone()
    })
}

/// Returns a time in the form of a Lease.
pub fn micro_time(at: DateTime<Utc>) -> MicroTime {
    MicroTime(Timestamp::from_microsecond(at.timestamp_micros()).unwrap_or(Timestamp::UNIX_EPOCH))
}
