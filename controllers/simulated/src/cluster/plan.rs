//! The plan of a DevCluster: the next step and the new status. Pure.

use std::time::Duration;

use chrono::{DateTime, Utc};
use engine::object::{annotation, is_deleting};
use engine::{conditions, finalizer, paused};
use schemas::HasConditions;
use schemas::infrastructure::DevCluster;

use super::observe::port;
use super::observed::Observed;
use crate::names::{API_SERVER_SILENT, CLUSTER_FINALIZER};

/// The reason of `Ready` while nobody answers at the endpoint.
pub(super) const NOT_SERVED: &str = "APIServerNotServing";
/// Within this time after a start of this process, or of the machines, somebody answers at the endpoint. Only what takes longer is
/// reported, so that a restart writes nothing.
const SERVED_WITHIN: Duration = Duration::from_secs(2);

/// Number of machines that a message names.
const NAMED: usize = 3;

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
}

/// Returns why nobody answers at the endpoint.
fn message(observed: &Observed, machines: &[String]) -> String {
    let endpoint = observed.dev.spec.control_plane_endpoint.as_ref().and_then(port);
    let port = endpoint.map_or_else(String::new, |port| format!(" on port {port}"));
    match machines {
        [] => format!("no API server of the cluster answers{port}: it is started again"),
        _ => format!(
            "no API server of the cluster answers{port}: its machines are started again, of which these do not run yet: {}",
            engine::messages::names(&machines.iter().map(String::as_str).collect::<Vec<_>>(), NAMED)
        ),
    }
}

/// Returns the plan for a DevCluster.
pub(super) fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
    let mut wanted = observed.dev.as_ref().clone();
    paused::set(&mut wanted, observed.cluster.as_deref(), now);
    if is_deleting(&wanted) {
        finalizer::remove(&mut wanted, CLUSTER_FINALIZER);
        return Plan { wanted, step: Step::Remove, silent: false };
    }
    match &observed.unserved {
        Some(unserved) if unserved.since >= SERVED_WITHIN => {
            let message = message(observed, &unserved.machines);
            conditions::set(&mut wanted, now, conditions::is_false("Ready", NOT_SERVED, message));
        }
        Some(_) => {}
        // A DevCluster without problems never gets a `Ready` condition; only one that exists is updated.
        None if wanted.condition("Ready").is_some() => {
            conditions::set(&mut wanted, now, conditions::is_true("Ready", "Ready"));
        }
        None => {}
    }
    let step = Step::Run(wanted.spec.control_plane_endpoint.as_ref().and_then(port).or(observed.asked));
    let silent = annotation(&wanted, API_SERVER_SILENT).is_some();
    Plan { wanted, step, silent }
}
