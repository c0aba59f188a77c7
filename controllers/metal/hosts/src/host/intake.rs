//! The checks before the work of a state: pause, restored status, finalizer, credentials, capacity, deletion, detachment.

use bmc::Power;
use engine::finalizer;
use schemas::metal3::{BareMetalHostStatus, CredentialsStatus, HardwareDetails, SecretReference};

use super::annotations::DeleteAction;
use super::draft::Draft;
use super::observed::{Means, Observed};
use crate::identity;
use crate::limits;
use crate::names::{self, ErrorType, operational};
use crate::state::HostState;

pub(super) fn is_paused(observed: &Observed) -> bool {
    observed.annotation(names::PAUSED).is_some()
}

/// Restores a status that came with the host, exactly once. The annotation is removed only after the status has been written: if
/// the process ended in between, or the write were refused, the host would be treated as new.
pub(super) fn restore_status(observed: &Observed, draft: &mut Draft) -> bool {
    let Some(text) = observed.annotation(names::STATUS) else { return false };
    let untouched = observed.was().last_updated.is_none();
    let parsed = serde_json::from_str::<BareMetalHostStatus>(text);
    let (true, Ok(mut status)) = (untouched, parsed) else {
        draft.annotations().remove(names::STATUS);
        return true;
    };
    if let Some(hardware) = &observed.hardware_data {
        status.hardware = Some(hardware.clone());
    }
    let now = observed.now();
    status.last_updated.get_or_insert(now);
    draft.host().status = Some(status);
    true
}

/// Takes hardware details from an annotation or from HardwareData, for a machine that must not be inspected.
pub(super) fn take_hardware_details(observed: &Observed, draft: &mut Draft) {
    let told = observed.annotation(names::HARDWARE_DETAILS).map(str::to_owned);
    let is_disabled = observed.inspection_is_disabled();
    if observed.was().hardware.is_some() && !is_disabled && told.is_none() {
        return;
    }
    if let Some(data) = &observed.hardware_data {
        draft.status().hardware = Some(data.clone());
    } else if let Some(details) =
        told.as_deref().and_then(|text| serde_json::from_str::<HardwareDetails>(text).ok())
    {
        draft.status().hardware = Some(details.clone());
        draft.note_hardware(details);
        draft.event("UpdateHardwareDetails", "Set hardware details from annotation");
    }
    if told.is_some() {
        draft.annotations().remove(names::HARDWARE_DETAILS);
    }
}

pub(super) fn add_finalizer(observed: &Observed, draft: &mut Draft) -> bool {
    !observed.is_deleting() && finalizer::add(draft.host(), names::HOST_FINALIZER)
}

/// Records the observed power state.
pub(super) fn note_power(observed: &Observed, draft: &mut Draft) {
    match observed.power {
        Ok(Power::On) => draft.status().powered_on = true,
        Ok(Power::Off) => draft.status().powered_on = false,
        _ => {}
    }
}

/// Checks the BMC's address and credentials. A problem is an error in every state, except while the host is being deleted.
pub(super) fn report_unusable(observed: &Observed, draft: &mut Draft) -> bool {
    if !observed.state().is_managed() || observed.detachment_holds() {
        return false;
    }
    match &observed.means {
        Means::Unusable { .. } if observed.is_deleting() => false,
        Means::Unusable { message, is_missing } => {
            if observed.was().error_message != *message {
                draft.fail(ErrorType::Registration, message.clone());
            }
            if *is_missing {
                draft.again_after(limits::SECRET_RETRY);
            }
            true
        }
        Means::Bmc { credentials, version, .. } => {
            let used = CredentialsStatus {
                credentials: Some(SecretReference {
                    name: Some(credentials.clone()),
                    namespace: observed.host.metadata.namespace.clone(),
                }),
                credentials_version: Some(version.clone()),
            };
            verify(observed, draft, used)
        }
        _ => false,
    }
}

/// Checks for another host that claims the same machine. Then nothing is done to the machine, except while the host is being
/// deleted.
pub(super) fn report_conflict(observed: &Observed, draft: &mut Draft) -> bool {
    let was = observed.was();
    match observed.annotation(names::CONFLICT) {
        Some(conflict) if !observed.is_deleting() && !observed.detachment_holds() => {
            if was.error_message != conflict {
                let error = if observed.state().is_in_use() {
                    ErrorType::ProvisionedRegistration
                } else {
                    ErrorType::Registration
                };
                draft.fail(error, conflict);
            }
            true
        }
        _ => {
            if identity::is_conflict(&was.error_message) {
                draft.succeed();
            }
            false
        }
    }
}

/// Checks the answer of the BMC: credentials count as good only after the BMC has accepted them.
fn verify(observed: &Observed, draft: &mut Draft, used: CredentialsStatus) -> bool {
    let was = observed.was();
    draft.status().tried_credentials = Some(used.clone());
    match &observed.power {
        Err(fault) if fault.is_refused && !observed.is_deleting() => {
            let message = fault.message.clone();
            draft.status().good_credentials = None;
            let is_in_use = observed.state().is_in_use();
            let error = if is_in_use { ErrorType::ProvisionedRegistration } else { ErrorType::Registration };
            draft.fail(error, message);
            true
        }
        Ok(_) => {
            if was.good_credentials.as_ref() != Some(&used) {
                draft.event("BMCAccessValidated", "Verified access to BMC");
                draft.create_firmware();
            }
            draft.status().good_credentials = Some(used);
            let was_refused = was.error_type.as_deref().is_some_and(|name| {
                [ErrorType::Registration, ErrorType::ProvisionedRegistration]
                    .map(ErrorType::name)
                    .contains(&name)
            });
            if was_refused && !identity::is_conflict(&was.error_message) {
                draft.succeed();
            }
            false
        }
        Err(_) => false,
    }
}

/// Checks whether too many other hosts are busy, so that this one must wait.
pub(super) fn delay_while_full(observed: &Observed, draft: &mut Draft) -> bool {
    if observed.state().is_busy() && observed.is_full && observed.agent.is_none() {
        draft.status().operational_status = operational::DELAYED.to_owned();
        draft.again_after(limits::POWER_POLL);
        return true;
    }
    if observed.was().operational_status == operational::DELAYED {
        draft.recover();
    }
    false
}

/// Moves a host that is being deleted to the next state of the deletion.
pub(super) fn begin_deletion(observed: &Observed, draft: &mut Draft) -> bool {
    if !observed.is_deleting() {
        return false;
    }
    if observed.detachment_holds() {
        return delete_detached(observed, draft);
    }
    let Some(next) = observed.state().on_deletion() else { return false };
    draft.recover();
    draft.status().error_count = 0;
    draft.enter(next);
    true
}

/// Deletes a detached host: its machine is neither cleaned nor switched off.
fn delete_detached(observed: &Observed, draft: &mut Draft) -> bool {
    let action = observed.detachment().map(|detached| detached.delete_action);
    if action == Some(DeleteAction::Delay) {
        draft.status().operational_status = operational::DETACHED.to_owned();
        return true;
    }
    if observed.state() == HostState::Deleting {
        return false;
    }
    draft.enter(HostState::Deleting);
    true
}

/// Returns whether the host is detached, so that its machine must not be touched.
pub(super) fn leave_detached(observed: &Observed, draft: &mut Draft) -> bool {
    if observed.detachment_holds() && observed.state() != HostState::Deleting {
        draft.status().operational_status = operational::DETACHED.to_owned();
        return true;
    }
    if observed.was().operational_status == operational::DETACHED {
        let failed = observed.was().error_type.is_some();
        draft.status().operational_status =
            if failed { operational::ERROR } else { operational::OK }.to_owned();
    }
    false
}
