//! Facts that follow from a MachineDeployment and its MachineSets. Pure functions.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::object::is_deleting;
use engine::time;
use machinery::clock::parse_rfc3339;
use schemas::cluster::{MachineDeployment, MachineSet};
use schemas::defaults;

use super::observed::Observed;
use super::rollout::Limits;
use super::template;

/// Annotation on MachineDeployments and MachineSets: the number of the template's revision.
pub const REVISION: &str = "machinedeployment.clusters.x-k8s.io/revision";

/// The MachineSet with the current template, and all others, oldest first.
pub(super) struct Split {
    pub new: Option<Arc<MachineSet>>,
    pub old: Vec<Arc<MachineSet>>,
}

/// Returns `spec.rollout.after`: once that time has come, MachineSets created before it are replaced.
pub(super) fn rollout_after(observed: &Observed) -> Option<DateTime<Utc>> {
    let rollout = observed.deployment.spec.rollout.as_ref()?;
    parse_rfc3339(rollout.after.as_deref()?)
}

/// Finds the MachineSet with the current template.
pub(super) fn split(observed: &Observed) -> Split {
    let created = |set: &MachineSet| set.metadata.creation_timestamp.as_ref().map(time::utc);
    let mut candidates: Vec<Arc<MachineSet>> = observed
        .sets
        .iter()
        .filter(|set| !is_deleting(set.as_ref()))
        .filter(|set| template::is_same(&set.spec.template, &observed.deployment.spec.template))
        .cloned()
        .collect();
    candidates.sort_by_key(|set| (std::cmp::Reverse(set.spec.replicas.unwrap_or(0)), created(set)));
    let after = rollout_after(observed).filter(|after| *after <= observed.now);
    let new = candidates.into_iter().find(|set| after.is_none_or(|after| created(set) >= Some(after)));
    let is_new =
        |set: &&Arc<MachineSet>| new.as_ref().is_some_and(|new| new.metadata.uid == set.metadata.uid);
    let mut old: Vec<Arc<MachineSet>> = observed.sets.iter().filter(|set| !is_new(set)).cloned().collect();
    old.sort_by_key(|set| (created(set), set.metadata.name.clone()));
    Split { new, old }
}

/// Returns `spec.replicas` with the resolved surge and unavailability limits.
pub(super) fn limits(deployment: &MachineDeployment) -> Limits {
    let rolling = deployment
        .spec
        .rollout
        .as_ref()
        .and_then(|rollout| rollout.strategy.as_ref())
        .and_then(|strategy| strategy.rolling_update.as_ref());
    let replicas = deployment.spec.replicas.unwrap_or(defaults::REPLICAS);
    Limits::resolve(
        replicas,
        rolling.and_then(|rolling| rolling.max_surge.as_ref()),
        rolling.and_then(|rolling| rolling.max_unavailable.as_ref()),
    )
}

/// Returns whether old Machines are replaced only after a user deletes them.
pub(super) fn is_on_delete(deployment: &MachineDeployment) -> bool {
    let strategy = deployment.spec.rollout.as_ref().and_then(|rollout| rollout.strategy.as_ref());
    strategy.is_some_and(|strategy| strategy.type_ == defaults::ON_DELETE)
}
