//! Plans the changes for a BareMetalHost. Pure. The work of each state is in `states`, the meaning of a state in [`crate::state`].
//!
//! A plan contains the wanted host object, and the commands for the machine, which are carried out before the object is written. Each
//! reconcile requests the work of a state again until the observed data show that it is done, so nothing is lost when the process ends
//! at any point.

pub use super::draft::Plan;

use super::draft::Draft;
use super::observed::Observed;
use super::states::{deprovision, firmware, prepare, provision, rest};
use super::{conditions, intake, protection};
use crate::names::ErrorType;
use crate::state::HostState;

/// Makes the plan.
pub fn plan(observed: &Observed) -> Plan {
    let mut draft = Draft::new(observed);
    run(observed, &mut draft);
    draft.finish()
}

fn run(observed: &Observed, draft: &mut Draft) {
    if intake::is_paused(observed) {
        // Without even an empty status, because otherwise a status that came with the host could not be restored later.
        draft.host().status.clone_from(&observed.host.status);
        return;
    }
    if intake::restore_status(observed, draft) || intake::add_finalizer(observed, draft) {
        return;
    }
    intake::take_hardware_details(observed, draft);
    intake::note_power(observed, draft);
    if protection::report_protection(observed, draft)
        || intake::report_unusable(observed, draft)
        || intake::report_conflict(observed, draft)
        || intake::delay_while_full(observed, draft)
        || firmware::await_installation(observed, draft)
        || intake::begin_deletion(observed, draft)
        || intake::leave_detached(observed, draft)
    {
        conditions::set_conditions(observed, draft);
        return;
    }
    match observed.state() {
        HostState::New | HostState::Unmanaged => prepare::begin(observed, draft),
        HostState::Registering => prepare::register(observed, draft),
        HostState::Inspecting => prepare::inspect(observed, draft),
        HostState::MatchProfile | HostState::Preparing => prepare::prepare(observed, draft),
        HostState::Available | HostState::Ready => rest::rest(observed, draft),
        HostState::Provisioning => provision::provision(observed, draft),
        HostState::Provisioned | HostState::ExternallyProvisioned => rest::serve(observed, draft),
        HostState::Deprovisioning => deprovision::deprovision(observed, draft),
        HostState::PoweringOff => deprovision::power_off_for_good(observed, draft),
        HostState::Deleting => deprovision::finish_deletion(draft),
        HostState::Unknown => {
            let name = &observed.was().provisioning.state;
            let message = format!(
                "status.provisioning.state is {name:?}, which is no state: set it to one that Metal3 knows, or delete the host"
            );
            draft.fail(ErrorType::Registration, message);
        }
    }
    conditions::set_conditions(observed, draft);
}
