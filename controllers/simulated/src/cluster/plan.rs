//! The plan of a DevCluster: the next step and the new status. Pure.

use chrono::{DateTime, Utc};
use engine::object::{annotation, is_deleting};
use engine::{conditions, finalizer, paused};
use schemas::HasConditions;
use schemas::infrastructure::DevCluster;

use super::observe::{Observed, port};
use crate::names::{API_SERVER_SILENT, CLUSTER_FINALIZER};

/// The plan for a DevCluster.
pub(super) struct Plan {
    /// The DevCluster as it should be, without the changes that the step makes.
    pub wanted: DevCluster,
    /// The step.
    pub step: Step,
    /// Whether the API server accepts connections and never answers.
    pub silent: bool,
}

/// The step of a plan.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Stop the workload cluster.
    Remove,
    /// Run the workload cluster, on this port if its endpoint has one.
    Run(Option<u16>),
    /// Report that the DevCluster needs a backend that is not simulated; holds the message.
    Refuse(String),
}

/// Returns the plan for a DevCluster.
pub(super) fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
    let mut wanted = observed.dev.as_ref().clone();
    paused::set(&mut wanted, observed.cluster.as_deref(), now);
    if is_deleting(&wanted) {
        finalizer::remove(&mut wanted, CLUSTER_FINALIZER);
        return Plan { wanted, step: Step::Remove, silent: false };
    }
    // A DevCluster without problems never gets a `Ready` condition; only one that exists is updated.
    if wanted.condition("Ready").is_some() {
        conditions::set(&mut wanted, now, conditions::is_true("Ready", "Ready"));
    }
    let step = if wanted.spec.backend.in_memory.is_some() {
        Step::Run(wanted.spec.control_plane_endpoint.as_ref().and_then(port))
    } else {
        Step::Refuse(format!(
            "DevCluster {} has spec.backend.docker: only spec.backend.inMemory is simulated here",
            observed.name
        ))
    };
    let silent = annotation(&wanted, API_SERVER_SILENT).is_some();
    Plan { wanted, step, silent }
}
