//! Leader election for `firstlight controllers`: of several processes for one cluster, one acts, as with client-go's `leaderelection`.
//!
//! The leader renews a Lease. Without success it stops at the renew deadline, counted from the beginning of its last successful renewal.
//! Others take the Lease only when they have seen it unchanged for its whole duration, which is longer. So no two processes lead at once,
//! whatever their clocks say.

pub mod options;
pub mod plan;

use std::time::Duration;

use anyhow::{Context as _, Result};
use engine::Manager;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::Api;
use machinery::clock::Clock;
use machinery::random::Random;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use tokio::time::Instant;

pub use options::{LeaderElectionOptions, Timings};

use options::JITTER_PERCENT;
use plan::{Candidate, Step, plan, released};

use crate::create_or_replace::create_or_replace;

/// The name of the Lease.
pub const LEASE: &str = "firstlight-controllers";
/// How often a release is tried. A renewal that was on its way can change the Lease between reading and writing it.
const RELEASES: usize = 3;

/// Why a process no longer leads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// The lease could not be renewed in time.
    #[error(
        "leader election lost: Lease {lease} could not be renewed for {deadline:?} ({why}); another process may lead now, so this one ends"
    )]
    Expired {
        /// Namespace and name of the lease.
        lease: String,
        /// The renew deadline.
        deadline: Duration,
        /// The last error.
        why: String,
    },
    /// Another process holds the lease.
    #[error("leader election lost: Lease {lease} is held by {holder}, so this process ends")]
    Taken {
        /// Namespace and name of the lease.
        lease: String,
        /// The identity of the other process.
        holder: String,
    },
}

/// A process in an election.
pub struct LeaderElection {
    leases: Api<Lease>,
    namespace: String,
    candidate: Candidate,
    timings: Timings,
    clock: Clock,
    random: Random,
    is_leader: Gauge,
    /// The lease as it was last read, and when this process first saw it like this.
    observed: Option<(LeaseSpec, Instant)>,
    /// The beginning of the last successful renewal.
    renewed: Instant,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    name: &'static str,
}

impl LeaderElection {
    /// Returns the election that the options ask for; `None` without `--leader-elect`. `namespace` is that of the Lease, if it is known.
    ///
    /// # Errors
    /// The times do not fit together, or the namespace is unknown.
    pub fn new(
        options: &LeaderElectionOptions,
        manager: &Manager,
        namespace: Option<&str>,
    ) -> Result<Option<Self>> {
        if !options.leader_elect {
            return Ok(None);
        }
        let timings = options.timings()?;
        let namespace = namespace.context(
            "--leader-elect: this process is no pod, so it has no namespace for the Lease; name one with --leader-elect-namespace",
        )?;
        let system = rustix::system::uname();
        let host = system.nodename().to_string_lossy();
        Ok(Some(Self::in_namespace(namespace, &host, timings, manager)))
    }

    /// Creates the election of a process on `host`.
    pub fn in_namespace(namespace: &str, host: &str, timings: Timings, manager: &Manager) -> Self {
        let (clock, random) = (manager.clock().clone(), manager.random().clone());
        let family = manager.all_metrics().part(|registry| {
            let status = Family::<Labels, Gauge>::default();
            let help = "1 while this process leads, by the name of the Lease";
            registry.register("leader_election_master_status", help, status.clone());
            status
        });
        let is_leader = family.get_or_create_owned(&Labels { name: LEASE });
        is_leader.set(0);
        Self {
            leases: Api::namespaced(manager.client().clone(), namespace),
            namespace: namespace.to_owned(),
            candidate: Candidate {
                identity: format!("{host}_{}", random.uid()),
                lease_seconds: timings.lease_seconds,
            },
            timings,
            is_leader,
            observed: None,
            renewed: clock.monotonic(),
            clock,
            random,
        }
    }

    /// Waits until this process leads.
    async fn acquire(&mut self) {
        tracing::info!(lease = self.lease(), identity = self.candidate.identity, "waiting to lead");
        let mut told = String::new();
        loop {
            let begun = self.clock.monotonic();
            match tokio::time::timeout(self.timings.renew_deadline, self.attempt()).await {
                Ok(Ok(None)) => {
                    self.renewed = begun;
                    self.is_leader.set(1);
                    tracing::info!(lease = self.lease(), "this process leads");
                    return;
                }
                Ok(Ok(Some(holder))) if holder == told => {}
                Ok(Ok(Some(holder))) => {
                    tracing::info!(lease = self.lease(), %holder, "another process leads");
                    told = holder;
                }
                Ok(Err(error)) => tracing::warn!(lease = self.lease(), %error, "cannot take the lease"),
                Err(_) => tracing::warn!(lease = self.lease(), "cannot take the lease: no answer"),
            }
            self.clock.sleep(self.jittered()).await;
        }
    }

    /// Renews the lease until this process no longer leads.
    async fn keep(&mut self) -> Lost {
        let mut why = "no answer".to_owned();
        let clock = self.clock.clone();
        let lost = loop {
            let deadline = self.renewed + self.timings.renew_deadline;
            let attempt = async {
                clock.sleep(self.timings.retry_period).await;
                (clock.monotonic(), self.attempt().await)
            };
            let outcome = tokio::select! {
                // First, so that an answer after the deadline does not count.
                biased;
                () = clock.sleep(deadline.saturating_duration_since(clock.monotonic())) => None,
                outcome = attempt => Some(outcome),
            };
            match outcome {
                None => {
                    break Lost::Expired { lease: self.lease(), deadline: self.timings.renew_deadline, why };
                }
                Some((begun, Ok(None))) => self.renewed = begun,
                Some((_, Ok(Some(holder)))) => break Lost::Taken { lease: self.lease(), holder },
                Some((_, Err(error))) => {
                    tracing::warn!(lease = self.lease(), %error, "cannot renew the lease");
                    why = error.to_string();
                }
            }
        };
        self.is_leader.set(0);
        lost
    }

    /// Reads the lease, and takes or renews it if that is allowed. Returns the other process that leads; `None` if this one leads.
    async fn attempt(&mut self) -> kube::Result<Option<String>> {
        let found = self.leases.get_opt(LEASE).await?;
        let now = self.clock.monotonic();
        let current = found.as_ref().map(|lease| lease.spec.clone().unwrap_or_default());
        let seen = self
            .observed
            .take()
            .map_or(now, |(before, since)| if Some(&before) == current.as_ref() { since } else { now });
        let step = plan(&self.candidate, current.as_ref(), now - seen, self.clock.now());
        self.observed = current.map(|current| (current, seen));
        match step {
            Step::Follow { holder } => Ok(Some(holder)),
            Step::Write(spec) => self.write(found, spec).await.map(|()| None),
        }
    }

    /// Creates the lease, or replaces exactly the one that was read.
    async fn write(&self, found: Option<Lease>, spec: LeaseSpec) -> kube::Result<()> {
        let lease = Lease { spec: Some(spec), ..found.unwrap_or_default() };
        create_or_replace(&self.leases, LEASE, lease).await
    }

    /// Gives the lease back if this process holds it, so that another process leads at once. Everything that acts must have ended.
    async fn release(self) {
        self.is_leader.set(0);
        let released = self.try_to_release();
        match tokio::time::timeout(self.timings.renew_deadline, released).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(lease = self.lease(), %error, "cannot release the lease"),
            Err(_) => tracing::warn!(lease = self.lease(), "cannot release the lease: no answer"),
        }
    }

    async fn try_to_release(&self) -> kube::Result<()> {
        for _ in 0..RELEASES {
            let found = self.leases.get_opt(LEASE).await?;
            let spec = found.as_ref().and_then(|lease| lease.spec.as_ref());
            let Some(free) = spec.and_then(|spec| released(&self.candidate, spec, self.clock.now())) else {
                return Ok(());
            };
            match self.write(found, free).await {
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                outcome => return outcome,
            }
        }
        Ok(())
    }

    fn lease(&self) -> String {
        format!("{}/{LEASE}", self.namespace)
    }

    /// Returns the pause before the next attempt to lead. Its random part keeps processes that began together apart.
    fn jittered(&self) -> Duration {
        let jitter = f64::from(JITTER_PERCENT) / 100.0 * self.random.fraction();
        self.timings.retry_period.mul_f64(1.0 + jitter)
    }
}

/// Calls `start` as soon as this process leads, and returns after `end`, or with an error when it no longer leads; the manager is stopped
/// then. Without an election this process leads at once.
///
/// # Errors
/// [`Lost`], after which the process must end.
pub async fn lead(
    election: Option<LeaderElection>,
    manager: &Manager,
    end: impl Future<Output = ()>,
    start: impl FnOnce(),
) -> Result<(), Lost> {
    let mut end = std::pin::pin!(end);
    let Some(mut election) = election else {
        start();
        end.await;
        manager.stop().await;
        return Ok(());
    };
    let leads = tokio::select! {
        biased;
        () = &mut end => false,
        () = election.acquire() => true,
    };
    if !leads {
        manager.stop().await;
        // The answer to a successful attempt may have been on its way.
        election.release().await;
        return Ok(());
    }
    start();
    // The lease is held until everything has stopped.
    let ended = tokio::select! {
        biased;
        lost = election.keep() => Err(lost),
        () = async { end.await; manager.stop().await } => Ok(()),
    };
    match ended {
        Ok(()) => election.release().await,
        Err(_) => manager.stop().await,
    }
    ended
}
