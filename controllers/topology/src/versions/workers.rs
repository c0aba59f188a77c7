//! The versions of workers: MachineDeployments, and by the same rules MachinePools.

use std::collections::{BTreeMap, BTreeSet};

use super::control_plane::ControlPlaneVersion;
use super::facts::{Facts, WorkerFacts};
use super::hooks::{Hook, Hooks};
use super::plan::UpgradePlan;

/// The versions that workers of one kind get now, and what they wait for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkersVersions {
    /// The versions, by the name in the topology.
    pub versions: BTreeMap<String, String>,
    /// Names in the topology of those that are not made yet, because the control plane is not at rest.
    pub pending_create: BTreeSet<String>,
    /// Names of objects that will get another version, but not now. Nothing else of them is changed until then.
    pub pending_upgrade: BTreeSet<String>,
    /// Names of objects whose upgrade is deferred by an annotation. They are pending, too.
    pub deferred: BTreeSet<String>,
    /// Names of objects that are being upgraded, or begin now.
    pub upgrading: BTreeSet<String>,
}

impl WorkersVersions {
    /// Returns the version of the workers with this name in the topology.
    pub fn version_of(&self, topology_name: &str) -> Option<String> {
        self.versions.get(topology_name).cloned()
    }

    /// Returns whether all of them exist, and have the version that they shall have in the end.
    pub fn is_at_rest(&self) -> bool {
        let waiting = [&self.pending_create, &self.pending_upgrade, &self.deferred, &self.upgrading];
        waiting.iter().all(|names| names.is_empty())
    }
}

/// Chooses the versions of workers in the order of the topology, so that those at its beginning are upgraded first. `upgrading` are those that are being upgraded already.
///
/// # Errors
/// A sentence: workers must be upgraded, but the plan is empty.
pub fn choose(
    kind: &str,
    facts: &Facts,
    workers: &[WorkerFacts],
    upgrading: &BTreeSet<String>,
    plan: &UpgradePlan,
    control_plane: &ControlPlaneVersion,
    hooks: &Hooks,
) -> Result<WorkersVersions, String> {
    let mut chosen = WorkersVersions { upgrading: upgrading.clone(), ..WorkersVersions::default() };
    // A hook that has not been asked yet holds back as one that answers to wait.
    let is_asked = |hook| control_plane.ask.as_ref().is_some_and(|question| question.hook == hook);
    let is_blocked = [Hook::AfterControlPlaneUpgrade, Hook::BeforeWorkersUpgrade]
        .into_iter()
        .any(|hook| hooks.waits_for(hook) || is_asked(hook));
    for entry in workers {
        let topology_name = entry.topology_name.clone();
        let Some((name, current)) = &entry.object else {
            if is_blocked || !control_plane.is_stable() {
                chosen.pending_create.insert(topology_name.clone());
            }
            chosen.versions.insert(topology_name, facts.wanted.clone());
            continue;
        };
        let version = if *current == facts.wanted {
            current
        } else if entry.is_deferred
            || is_blocked
            || chosen.upgrading.len() >= facts.concurrency
            || !control_plane.lets_workers_upgrade()
        {
            if entry.is_deferred {
                chosen.deferred.insert(name.clone());
            }
            chosen.pending_upgrade.insert(name.clone());
            current
        } else {
            let next = plan.workers.first().ok_or_else(|| {
                let wanted = &facts.wanted;
                format!("the {kind} {name} has {current} and wants {wanted}, but the upgrade plan has no version for it")
            })?;
            // The plan begins with the version of this step until all workers have it. Those that do wait for the control plane.
            let waits = next == current;
            let names = if waits { &mut chosen.pending_upgrade } else { &mut chosen.upgrading };
            names.insert(name.clone());
            next
        };
        chosen.versions.insert(topology_name, version.clone());
    }
    Ok(chosen)
}
