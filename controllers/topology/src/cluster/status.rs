//! The status of a Cluster with a topology: the condition `TopologyReconciled`, and the plan of an upgrade.

mod upgrade;

use chrono::{DateTime, Utc};
use engine::conditions::{self, is_false, is_true};
use schemas::cluster::{Cluster, ClusterReplicasStatus, UpgradePlanStep};
use schemas::meta::Condition;

use super::hooks::{Blocked, blocking_message};
use super::plan::Decision;
use crate::versions::UpgradePlan;

pub use upgrade::message as upgrade_message;

/// The condition that this controller owns.
pub const TOPOLOGY_RECONCILED: &str = "TopologyReconciled";

/// What a reconcile came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// Nothing is done; holds the reasons.
    Paused(Vec<String>),
    /// A step failed.
    Failed(String),
    /// The Cluster is being deleted. Extensions may hold that up.
    Deleting(Vec<Blocked>),
    /// The ClusterClass is not reconciled; holds what is missing.
    ClassNotReconciled(String),
    /// Extensions hold up the creation of the objects.
    Creating(Vec<Blocked>),
    /// All steps were carried out. An upgrade may be going on.
    Reconciled {
        /// What was decided about versions.
        decision: Decision,
        /// What holds up the upgrade.
        blocked: Vec<Blocked>,
        /// Kind of the control plane.
        control_plane: String,
        /// Whether the hook at the end of an upgrade is still to be called.
        is_hook_pending: bool,
    },
}

/// Sets the condition, and the plan if it was computed.
pub fn set(cluster: &mut Cluster, report: &Report, plan: Option<&UpgradePlan>, now: DateTime<Utc>) {
    if let Some(plan) = plan {
        let status = cluster.status.get_or_insert_default();
        set_plan(&mut status.control_plane, &plan.control_plane);
        set_plan(&mut status.workers, &plan.workers);
    }
    let condition = condition(cluster, report);
    conditions::set(cluster, now, condition);
}

/// Sets the plan beside the counters, which the Cluster's own controller writes. Without counters and without a plan, the field is absent.
fn set_plan(part: &mut Option<ClusterReplicasStatus>, versions: &[String]) {
    if versions.is_empty() && part.is_none() {
        return;
    }
    let steps = versions.iter().map(|version| UpgradePlanStep { version: version.clone() });
    part.get_or_insert_default().upgrade_plan = steps.collect();
}

fn condition(cluster: &Cluster, report: &Report) -> Condition {
    let of = |reason: &str, message: String| is_false(TOPOLOGY_RECONCILED, reason, message);
    match report {
        Report::Paused(causes) => of("Paused", causes.join(", ")),
        Report::Failed(error) => of("ReconcileFailed", error.clone()),
        Report::Deleting(blocked) if blocked.is_empty() => of("Deleting", "Cluster is deleting".to_owned()),
        Report::Deleting(blocked) => {
            of("Deleting", format!("Cluster is deleting. {}", blocking_message(blocked, "delete")))
        }
        Report::ClassNotReconciled(missing) => of("ClusterClassNotReconciled", missing.clone()),
        Report::Creating(blocked) => {
            of("ClusterCreating", blocking_message(blocked, "Cluster topology creation"))
        }
        Report::Reconciled { decision, blocked, control_plane, is_hook_pending } => {
            let wanted = cluster.spec.topology.as_ref().map_or("", |topology| &topology.version);
            match upgrade::message(wanted, decision, blocked, control_plane, *is_hook_pending) {
                Some((reason, message)) => of(reason, message),
                None => is_true(TOPOLOGY_RECONCILED, "ReconcileSucceeded"),
            }
        }
    }
}
