//! What a DevCluster needs. Pure.

use chrono::{DateTime, Utc};
use engine::object::is_deleting;
use engine::{conditions, finalizer, paused};
use schemas::HasConditions;
use schemas::infrastructure::DevCluster;

use super::observe::{Observed, port};
use crate::names::CLUSTER_FINALIZER;

/// What to do about a DevCluster.
pub(super) struct Plan {
    /// The DevCluster as it should be, but for what the step adds.
    pub wanted: DevCluster,
    /// The step.
    pub step: Step,
}

/// The one thing to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// End the cluster.
    Remove,
    /// Let it run, on this port if it has one.
    Run(Option<u16>),
    /// It asks for what is not simulated here: why.
    Refuse(String),
}

/// All the rules of a DevCluster.
pub(super) fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
    let mut wanted = observed.dev.as_ref().clone();
    paused::set(&mut wanted, observed.cluster.as_deref(), now);
    if is_deleting(&wanted) {
        finalizer::remove(&mut wanted, CLUSTER_FINALIZER);
        return Plan { wanted, step: Step::Remove };
    }
    // One that has always run has no `Ready`, as nothing about it can be otherwise.
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
    Plan { wanted, step }
}
