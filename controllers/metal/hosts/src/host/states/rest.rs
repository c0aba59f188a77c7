//! Hosts at rest: available, provisioned, or externally provisioned.

use super::{firmware, provision};
use crate::host::draft::Draft;
use crate::host::observed::Observed;
use crate::host::{drive, power};
use crate::names::ErrorType;
use crate::state::HostState;

/// Handles an available host, which waits for an image.
pub(crate) fn rest(observed: &Observed, draft: &mut Draft) {
    match observed.after_rest() {
        Some(HostState::Provisioning) => {
            // Checked first, so that no disk is erased if the image cannot be written afterwards.
            if let Some(problem) = provision::provisioning_problem(observed) {
                draft.fail(ErrorType::Provisioning, problem);
                return;
            }
            draft.recover();
            draft.event("ProvisioningStarted", "Image provisioning started");
            draft.enter(HostState::Provisioning);
        }
        Some(next) => draft.enter(next),
        None => {
            drive::empty_drive(observed, draft);
            power::keep_power(observed, draft, false);
        }
    }
}

/// Handles a provisioned host: its system runs, and only its power and firmware are managed.
pub(crate) fn serve(observed: &Observed, draft: &mut Draft) {
    if observed.state() == HostState::ExternallyProvisioned {
        if observed.host.spec.externally_provisioned != Some(true) {
            let (image, deploy) =
                (observed.host.spec.image.clone(), observed.host.spec.custom_deploy.clone());
            let status = draft.status();
            status.provisioning.image = image;
            status.provisioning.custom_deploy = deploy;
            draft.enter(HostState::Provisioned);
            return;
        }
    } else if observed.is_cancelled() {
        draft.enter(HostState::Deprovisioning);
        return;
    }
    power::ask_operator(observed, draft, None);
    if firmware::continue_service(observed, draft) {
        power::keep_power(observed, draft, true);
    }
}
