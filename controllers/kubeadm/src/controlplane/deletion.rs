//! The deletion of a control plane. Pure functions.

use engine::messages;

use super::removal::has_hook;
use super::situation::{Decision, Situation};
use super::step::Step;

/// The longest list of workers in a message.
const LISTED: usize = 3;

/// Waits for the workers, then deletes all Machines at once.
pub(super) fn delete(situation: &Situation<'_>) -> Decision {
    let observed = situation.observed;
    if !observed.workers.is_empty() {
        let workers: Vec<&str> = observed.workers.iter().map(String::as_str).collect();
        let text = format!(
            "KubeadmControlPlane deletion blocked because there are still other Machines and MachinePools: {}",
            messages::names(&workers, LISTED)
        );
        return Decision { deleting: Some(("WaitingForWorkersDeletion", text)), ..Decision::default() };
    }
    if observed.machines.is_empty() {
        let deleting = Some(("DeletionCompleted", "Deletion completed".to_owned()));
        return Decision { deleting, ..Decision::default() };
    }
    let mut steps = Vec::new();
    for member in &observed.machines {
        if has_hook(member) {
            steps.push(Step::RemoveHook(member.name().to_owned()));
        }
        if !member.is_deleting() {
            steps.push(Step::DeleteMachine(member.name().to_owned()));
        }
    }
    let count = observed.machines.len();
    let noun = if count == 1 { "Machine" } else { "Machines" };
    let deleting = Some(("WaitingForMachineDeletion", format!("Deleting {count} {noun}")));
    Decision { deleting, ..Decision::steps(steps) }
}
