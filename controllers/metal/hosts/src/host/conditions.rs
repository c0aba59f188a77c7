//! The conditions of a host (`contract/metal3`, §1.4).

use engine::conditions::{self, FALSE, TRUE};

use super::draft::Draft;
use super::observed::Observed;
use crate::names::operational;
use crate::state::HostState;

/// The status and the reason of a condition.
type StatusAndReason = (&'static str, &'static str);

/// Returns Manageable, AvailableForProvisioning, Provisioned, Ready and Progressing for a state.
pub fn of_state(state: HostState, has_failed: bool) -> [StatusAndReason; 5] {
    let working = |reason| {
        [
            (TRUE, "Manageable"),
            (FALSE, "NotAvailable"),
            (FALSE, "NotProvisioned"),
            (FALSE, "NotProvisioned"),
            (TRUE, reason),
        ]
    };
    match state {
        HostState::New | HostState::Unmanaged => [
            (FALSE, "NotManaged"),
            (FALSE, "NotAvailable"),
            (FALSE, "NotProvisioned"),
            (FALSE, "NotProvisioned"),
            (FALSE, "NotProgressing"),
        ],
        HostState::Registering => [
            (FALSE, if has_failed { "RegistrationFailed" } else { "Registering" }),
            (FALSE, "NotAvailable"),
            (FALSE, "NotProvisioned"),
            (FALSE, "NotProvisioned"),
            (TRUE, "Registering"),
        ],
        HostState::Inspecting => working("Inspecting"),
        HostState::MatchProfile | HostState::Preparing => working("Preparing"),
        HostState::Provisioning => working("Provisioning"),
        HostState::Deprovisioning => working("Deprovisioning"),
        HostState::PoweringOff => working("PoweringOffBeforeDelete"),
        HostState::Deleting => working("Deleting"),
        HostState::Provisioned | HostState::ExternallyProvisioned => [
            (TRUE, "Manageable"),
            (FALSE, "NotAvailable"),
            (TRUE, "Provisioned"),
            (TRUE, "Provisioned"),
            (FALSE, "NotProgressing"),
        ],
        HostState::Available | HostState::Ready | HostState::Unknown => [
            (TRUE, "Manageable"),
            (TRUE, "Available"),
            (FALSE, "NotProvisioned"),
            (FALSE, "NotProvisioned"),
            (FALSE, "NotProgressing"),
        ],
    }
}

pub(super) fn set_conditions(observed: &Observed, draft: &mut Draft) {
    let status = draft.status().clone();
    let operational = status.operational_status.as_str();
    let has_failed = operational == operational::ERROR;
    let [mut manageable, available, provisioned, mut ready, mut progressing] =
        of_state(HostState::from_name(&status.provisioning.state), has_failed);
    match operational {
        operational::ERROR => ready = (FALSE, "Error"),
        operational::SERVICING => ready = (FALSE, "Servicing"),
        operational::DETACHED => {
            ready = (FALSE, "Detached");
            progressing = (FALSE, "Detached");
        }
        _ => {}
    }
    if observed.power.is_err() && manageable.0 == TRUE {
        manageable = (FALSE, "PowerFailure");
    }
    let now = observed.now;
    let all = [
        ("Manageable", manageable),
        ("AvailableForProvisioning", available),
        ("Provisioned", provisioned),
        ("Ready", ready),
        ("Progressing", progressing),
    ];
    for (name, (said, reason)) in all {
        let message = if said == FALSE && has_failed { status.error_message.as_str() } else { "" };
        conditions::set(draft.host(), now, conditions::new(name, said, reason, message));
    }
}
