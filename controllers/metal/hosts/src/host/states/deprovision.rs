//! Leaving the state provisioned, and the deletion: deprovision, power off, delete.

use agent_protocol::{Action, Erase, State};
use bmc::Power;
use engine::finalizer;

use super::prepare;
use crate::control::Command;
use crate::host::draft::Draft;
use crate::host::observed::{Means, Observed};
use crate::host::{drive, power};
use crate::limits;
use crate::names::{BOOTING, ERASE, ErrorType, HOST_FINALIZER};
use crate::state::HostState;

/// Cleans the disks, unless `automatedCleaningMode` is `disabled`. Only their metadata are erased, or everything if the host has the
/// annotation [`ERASE`].
pub(crate) fn deprovision(observed: &Observed, draft: &mut Draft) {
    if observed.is_deleting() && has_failed_too_often(observed) {
        give_up_cleaning(observed, draft);
        return;
    }
    if !observed.cleans() {
        finish_deprovisioning(observed, draft);
        return;
    }
    if !power::ensure_agent(observed, draft, ErrorType::Provisioning) {
        return;
    }
    let id = format!("clean/{}", observed.started(|history| history.deprovision.as_ref()));
    let Some(agent) = observed.agent.as_ref() else { return };
    if agent.id != id {
        draft.event("DeprovisioningStarted", "Image deprovisioning started");
        let is_asked = observed.annotation(ERASE) == Some("everything");
        let erase = if is_asked { Erase::Everything } else { Erase::Metadata };
        draft.instruct(id, Action::Clean { erase });
        return;
    }
    match agent.state {
        Some(State::Failed) => {
            prepare::repeat(observed, draft, ErrorType::Provisioning, agent.message.clone())
        }
        Some(State::Done) => {
            if !agent.message.is_empty() {
                draft.event("DisksErased", agent.message.clone());
            }
            finish_deprovisioning(observed, draft);
        }
        _ => draft.again_after(limits::SILENCE),
    }
}

/// Continues the deletion without cleaning, as Metal3 does; switching the machine off has its own attempts.
fn give_up_cleaning(observed: &Observed, draft: &mut Draft) {
    let message = format!("Deleted without being cleaned: {}", observed.was().error_message);
    draft.warn("DeprovisioningError", message);
    draft.succeed();
    draft.enter(HostState::PoweringOff);
}

fn finish_deprovisioning(observed: &Observed, draft: &mut Draft) {
    let now = observed.now();
    if observed.was_live() && matches!(observed.means, Means::Bmc { has_media: true, .. }) {
        draft.command(Command::Eject);
    }
    drive::empty_drive(observed, draft);
    let status = draft.status();
    status.provisioning.image = None;
    status.provisioning.custom_deploy = None;
    status.provisioning.raid = None;
    status.provisioning.firmware = None;
    status.provisioning.root_device_hints = None;
    if let Some(deprovision) = &mut status.operation_history.get_or_insert_default().deprovision {
        deprovision.end = Some(now);
    }
    draft.drop_reboots();
    draft.event("DeprovisioningComplete", "Image deprovisioning completed");
    if observed.is_deleting() {
        draft.succeed();
        draft.enter(HostState::PoweringOff);
    } else {
        // The error count stays, so that an image that cannot be written is retried with a back-off.
        draft.recover();
        draft.enter(HostState::Available);
    }
}

fn has_failed_too_often(observed: &Observed) -> bool {
    observed.was().error_count > limits::DELETE_ATTEMPTS
        || matches!(observed.means, Means::Unusable { .. } | Means::None)
}

pub(crate) fn power_off_for_good(observed: &Observed, draft: &mut Draft) {
    let keeps_power = observed.host.spec.disable_power_off == Some(true)
        || observed.means.is_by_hand()
        || has_failed_too_often(observed);
    if keeps_power || observed.power == Ok(Power::Off) {
        draft.enter(HostState::Deleting);
        return;
    }
    if observed.power.is_err() {
        power::report_power_fault(observed, draft);
        return;
    }
    drive::empty_drive(observed, draft);
    power::eject_agent(observed, draft);
    draft.command(Command::HardOff);
    draft.again_after(limits::POWER_CHANGE);
}

pub(crate) fn finish_deletion(draft: &mut Draft) {
    draft.annotations().remove(BOOTING);
    draft.release_hardware();
    finalizer::remove(draft.host(), HOST_FINALIZER);
}
