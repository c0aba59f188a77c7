//! Which Kubernetes version each part of a cluster gets now.
//!
//! An upgrade goes through the versions of a [plan](UpgradePlan). In each step the control plane goes first, then those workers that must; MachineDeployments one after the
//! other, as many at once as the Cluster allows. [`choose`] looks at what there is ([`Facts`]) and says which version each part gets now, what waits, and which hook must
//! be asked before more can be decided. It is called again with the answer.

mod compare;
mod control_plane;
mod facts;
mod hooks;
mod plan;
mod workers;

pub use compare::{Order, compare};
pub use control_plane::{ControlPlaneVersion, is_provisioning, is_scaling, is_upgrading};
pub use facts::{ControlPlaneFacts, Facts, WorkerFacts};
pub use hooks::{Answer, Blocked, Hook, Hooks, Question};
pub use plan::{Source, UpgradePlan, lowest, plan};
pub use workers::WorkersVersions;

/// The versions that the parts of a cluster get now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Versions {
    /// The control plane.
    pub control_plane: ControlPlaneVersion,
    /// The MachineDeployments.
    pub machine_deployments: WorkersVersions,
    /// The MachinePools.
    pub machine_pools: WorkersVersions,
    /// The version of the step that the upgrade is at, for the annotation of the Cluster by which Machines of that version are let through; `None` if there is no upgrade.
    pub upgrade_step: Option<String>,
}

impl Versions {
    /// Returns whether the upgrade is complete, so that the hook `AfterClusterUpgrade` is due if it is pending.
    pub fn is_upgraded(&self, hooks: &Hooks) -> bool {
        let is_pending = |hook: Hook| {
            let plane = &self.control_plane;
            (hooks.is_pending(hook) && !plane.done.contains(&hook)) || plane.pending.contains(&hook)
        };
        is_pending(Hook::AfterClusterUpgrade)
            && !is_pending(Hook::AfterControlPlaneUpgrade)
            && !is_pending(Hook::AfterWorkersUpgrade)
            && self.control_plane.is_stable()
            && self.machine_deployments.is_at_rest()
            && self.machine_pools.is_at_rest()
    }
}

/// Chooses the versions. `plan` is that of [`plan`]; it is empty if all parts have the version of the topology.
///
/// # Errors
/// A sentence that says why an upgrade that is needed cannot go on: the plan has no next version.
pub fn choose(facts: &Facts, plan: &UpgradePlan, hooks: &Hooks) -> Result<Versions, String> {
    let control_plane = control_plane::choose(facts, plan, hooks)?;
    let choose = |kind, workers: &[WorkerFacts], others| {
        workers::choose(kind, facts, workers, others, plan, &control_plane, hooks)
    };
    let machine_deployments =
        choose("MachineDeployment", &facts.machine_deployments, &facts.upgrading_machine_deployments)?;
    let machine_pools = choose("MachinePool", &facts.machine_pools, &facts.upgrading_machine_pools)?;
    let upgrade_step = upgrade_step(facts, plan, hooks, &control_plane);
    Ok(Versions { control_plane, machine_deployments, machine_pools, upgrade_step })
}

/// An upgrade begins when nothing holds it back any more, and ends with the hook `AfterClusterUpgrade`. Without hooks it lasts as long as there is a plan.
fn upgrade_step(
    facts: &Facts,
    plan: &UpgradePlan,
    hooks: &Hooks,
    control_plane: &ControlPlaneVersion,
) -> Option<String> {
    let is_going_on = if hooks.are_enabled {
        hooks.is_pending(Hook::AfterClusterUpgrade)
            || control_plane.pending.contains(&Hook::AfterClusterUpgrade)
    } else {
        !plan.control_plane.is_empty() || (facts.has_workers() && !plan.workers.is_empty())
    };
    is_going_on.then(|| control_plane.version.clone())
}
