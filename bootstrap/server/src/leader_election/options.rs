//! The flags of leader election, with the names and defaults of Cluster API's managers.

use std::time::Duration;

use anyhow::{Result, ensure};
use clap::{ArgAction, Args};

use crate::options::parse_duration;

/// The largest random part of the pause between two attempts, in percent of it, as in client-go.
pub(super) const JITTER_PERCENT: u32 = 20;

/// The flags of leader election.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Leader election")]
pub struct LeaderElectionOptions {
    /// Run controllers only while this process holds the Lease "firstlight-controllers"
    ///
    /// Several processes can then run for one cluster, of which one acts.
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", value_name = "true|false")]
    pub leader_elect: bool,
    /// Time after which another process may take a Lease that is no longer renewed
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "15s")]
    pub leader_elect_lease_duration: Duration,
    /// Time after which a leader that cannot renew its Lease ends
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "10s")]
    pub leader_elect_renew_deadline: Duration,
    /// Time between two attempts to take or renew the Lease
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "2s")]
    pub leader_elect_retry_period: Duration,
    /// Namespace of the Lease, and of the certificates of --webhook-address [default: in a pod, its own]
    #[arg(long, value_name = "NAMESPACE")]
    pub leader_elect_namespace: Option<String>,
}

/// The times of an election.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timings {
    /// The duration of a lease in seconds.
    pub lease_seconds: i32,
    /// The time after the last successful renewal at which a leader stops to lead.
    pub renew_deadline: Duration,
    /// The time between two attempts.
    pub retry_period: Duration,
}

impl LeaderElectionOptions {
    /// Returns the times.
    ///
    /// # Errors
    /// The leader would not end before others may take its lease, or would not try a second time.
    pub fn timings(&self) -> Result<Timings> {
        let Self {
            leader_elect_lease_duration: lease,
            leader_elect_renew_deadline: renew_deadline,
            leader_elect_retry_period: retry_period,
            ..
        } = *self;
        // A Lease has whole seconds. The part of a second that is left out must not be one in which two processes lead.
        let lease_seconds = i32::try_from(lease.as_secs()).unwrap_or(i32::MAX);
        ensure!(
            Duration::from_secs(lease.as_secs()) > renew_deadline,
            "--leader-elect-lease-duration is {lease:?} and must be longer, in whole seconds, than --leader-elect-renew-deadline, which is {renew_deadline:?}"
        );
        ensure!(!retry_period.is_zero(), "--leader-elect-retry-period must be longer than 0s");
        let longest = retry_period.saturating_mul(100 + JITTER_PERCENT) / 100;
        ensure!(
            renew_deadline > longest,
            "--leader-elect-renew-deadline is {renew_deadline:?} and must be longer than 1.2 times --leader-elect-retry-period, which is {retry_period:?}"
        );
        Ok(Timings { lease_seconds, renew_deadline, retry_period })
    }
}
