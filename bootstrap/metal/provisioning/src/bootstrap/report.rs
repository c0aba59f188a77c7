//! Decides which reports are recorded. Pure.

use chrono::{DateTime, Utc};
use machinery::clock::{parse_rfc3339, rfc3339};
use metal::bootstrap::{BootstrapReport, BootstrapState, begun, provisioned};
use metal::state::HostState;
use schemas::metal3::BareMetalHost;
use serde::Deserialize;

use super::message::{message, stage};
use crate::limits;

/// The body of a report.
#[derive(Deserialize, Clone, Debug)]
pub struct Report {
    state: BootstrapState,
    #[serde(default)]
    stage: String,
    #[serde(default)]
    message: String,
}

/// What happens to a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is recorded.
    Record(BootstrapReport),
    /// It is recorded already: the machine has not received the answer.
    Known,
    /// The token has ended.
    Ended,
    /// It comes too soon, or is one too many. The name of the limit in the metrics.
    TooMany(&'static str),
}

/// Returns whether the host takes reports: it is being provisioned, or was provisioned a short time ago.
pub fn is_open(host: &BareMetalHost, now: DateTime<Utc>) -> bool {
    let is_late = provisioned(host).is_some_and(|end| now - end > limits::duration(limits::BOOTSTRAP_TIME));
    HostState::of(host).has_user_data() && !is_late
}

/// Decides about a report of the host's machine.
pub fn decide(host: &BareMetalHost, report: &Report, now: DateTime<Utc>) -> Decision {
    let known = BootstrapReport::of(host);
    let is_final = report.state != BootstrapState::Running;
    match &known {
        Some(known) if known.state != BootstrapState::Running => {
            return if known.state == report.state { Decision::Known } else { Decision::Ended };
        }
        // The report of the end is always recorded: it is the last one.
        Some(known) if !is_final => {
            let pause = limits::duration(limits::BOOTSTRAP_PAUSE);
            if parse_rfc3339(&known.time).is_some_and(|time| now - time < pause) {
                return Decision::TooMany("netboot_bootstrap_pause");
            }
            if known.number >= limits::BOOTSTRAP_REPORTS {
                return Decision::TooMany("netboot_bootstrap_reports");
            }
        }
        _ => {}
    }
    Decision::Record(BootstrapReport {
        provisioning: begun(host).to_owned(),
        state: report.state,
        stage: stage(&report.stage),
        message: message(&report.message),
        time: rfc3339(now),
        number: known.map_or(0, |known| known.number).saturating_add(1),
    })
}
