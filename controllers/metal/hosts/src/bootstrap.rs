//! What the system of a provisioned host reports about its bootstrap (`docs/bootstrap-reports.md`). The annotation [`BOOTSTRAP`] has the
//! last report, so that it stays with the host when the host moves to another management cluster.

use chrono::{DateTime, Utc};
use engine::object::annotation;
use machinery::clock::parse_rfc3339;
use schemas::metal3::{BareMetalHost, OperationMetric};
use serde::{Deserialize, Serialize};

use crate::names::BOOTSTRAP;

/// How far the bootstrap of a machine is.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum BootstrapState {
    /// It has begun, and has not ended.
    Running,
    /// It has ended well. No other report follows.
    Succeeded,
    /// It has ended with an error. No other report follows.
    Failed,
}

/// The last report of a machine, as the annotation has it.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct BootstrapReport {
    /// The start time of the provisioning that the report belongs to.
    pub provisioning: String,
    /// How far the bootstrap is.
    pub state: BootstrapState,
    /// The step that runs, or in which the bootstrap has ended.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stage: String,
    /// The last lines of output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When the report arrived, in RFC 3339.
    pub time: String,
    /// The number of reports of this provisioning, this one included.
    #[serde(default)]
    pub number: u32,
}

fn provision(host: &BareMetalHost) -> Option<&OperationMetric> {
    host.status.as_ref()?.operation_history.as_ref()?.provision.as_ref()
}

/// Returns the start time of the host's provisioning, which identifies the provisioning; empty if there is none.
pub fn begun(host: &BareMetalHost) -> &str {
    provision(host).and_then(|provision| provision.start.as_deref()).unwrap_or_default()
}

/// Returns the time at which the host was provisioned.
pub fn provisioned(host: &BareMetalHost) -> Option<DateTime<Utc>> {
    parse_rfc3339(provision(host)?.end.as_deref()?)
}

impl BootstrapReport {
    /// Returns the last report of the host's current provisioning.
    pub fn of(host: &BareMetalHost) -> Option<Self> {
        let report: Self = serde_json::from_str(annotation(host, BOOTSTRAP)?).ok()?;
        (report.provisioning == begun(host)).then_some(report)
    }
}
