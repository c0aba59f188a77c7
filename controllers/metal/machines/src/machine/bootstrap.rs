//! The condition `BootstrapSucceeded` of a Metal3Machine: what the system of its host reports (`docs/bootstrap-reports.md`). Pure.

use chrono::{DateTime, Duration, Utc};
use engine::{Action, conditions};
use machinery::clock::parse_rfc3339;
use metal::bootstrap::{BootstrapReport, BootstrapState, provisioned};
use schemas::cluster::Machine;
use schemas::meta::Condition;
use schemas::metal3::BareMetalHost;

use super::node::NodeState;
use super::plan::Planner;
use super::status::BOOTSTRAPPED;
use crate::limits;

impl Planner<'_> {
    /// Sets the condition from the last report. Without a report it depends on the Node: a machine that has one, or needs none, is there
    /// although its image does not report, and has no such condition.
    pub(super) fn bootstrapped(&mut self, host: &BareMetalHost, machine: &Machine) {
        let report = BootstrapReport::of(host);
        let is_there = self.was_provisioned()
            || matches!(self.observed.node, NodeState::Found(_))
            || machine.spec.bootstrap.config_ref.is_none();
        let condition = match report {
            Some(report) if report.state == BootstrapState::Succeeded => {
                Some(conditions::is_true(BOOTSTRAPPED, BOOTSTRAPPED))
            }
            Some(report) if report.state == BootstrapState::Failed => Some(failed(&report)),
            _ if is_there => None,
            report => self.unfinished(host, report),
        };
        match condition {
            Some(condition) => self.set(condition),
            None => conditions::remove(&mut self.plan.wanted, BOOTSTRAPPED),
        }
    }

    /// Returns the condition of a bootstrap that has not ended. When silence is too long, the machine is reconciled again.
    fn unfinished(&mut self, host: &BareMetalHost, report: Option<BootstrapReport>) -> Option<Condition> {
        let heard = match &report {
            Some(report) => parse_rfc3339(&report.time),
            None => provisioned(host),
        };
        let left = limits::SILENCE.saturating_sub(since(heard?, self.now));
        if !left.is_zero() {
            self.plan.action = self.plan.action.min(Action::requeue_after(left));
            let message = report.as_ref().map(said);
            let message =
                message.unwrap_or_else(|| "the host runs its image, which has not reported yet".to_owned());
            return Some(conditions::is_false(BOOTSTRAPPED, "Bootstrapping", message));
        }
        let minutes = limits::SILENCE.as_secs() / 60;
        let message = match &report {
            Some(report) => format!(
                "no report for {minutes} minutes, since {}; look at the console of the host. The last report: {}",
                report.time,
                said(report)
            ),
            None => format!(
                "no report and no Node {minutes} minutes after the host was provisioned; look at the console of the host: \
                 whether it starts from its disk, has a network, and its image runs the user data"
            ),
        };
        Some(conditions::is_false(BOOTSTRAPPED, "BootstrapSilent", message))
    }
}

fn since(heard: DateTime<Utc>, now: DateTime<Utc>) -> std::time::Duration {
    (now - heard).max(Duration::zero()).to_std().unwrap_or_default()
}

fn failed(report: &BootstrapReport) -> Condition {
    conditions::is_false(BOOTSTRAPPED, "BootstrapFailed", said(report))
}

/// Returns stage and message of a report as one text.
fn said(report: &BootstrapReport) -> String {
    let parts = [report.stage.as_str(), report.message.as_str()];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    match parts.as_slice() {
        [] => "no details".to_owned(),
        parts => parts.join(": "),
    }
}
