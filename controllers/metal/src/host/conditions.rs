//! The conditions of a host (`contract/metal3`, §1.4).

use engine::conditions::{self, FALSE, TRUE};

use super::plan::Planner;
use crate::names::{operational, state};

/// The status and the reason of a condition.
type Said = (&'static str, &'static str);

/// Returns Manageable, AvailableForProvisioning, Provisioned, Ready and Progressing for a state.
fn of_state(name: &str, has_failed: bool) -> [Said; 5] {
    let working = |reason| {
        [
            (TRUE, "Manageable"),
            (FALSE, "NotAvailable"),
            (FALSE, "NotProvisioned"),
            (FALSE, "NotProvisioned"),
            (TRUE, reason),
        ]
    };
    match name {
        state::NONE | state::UNMANAGED => [
            (FALSE, "NotManaged"),
            (FALSE, "NotAvailable"),
            (FALSE, "NotProvisioned"),
            (FALSE, "NotProvisioned"),
            (FALSE, "NotProgressing"),
        ],
        state::REGISTERING => [
            (FALSE, if has_failed { "RegistrationFailed" } else { "Registering" }),
            (FALSE, "NotAvailable"),
            (FALSE, "NotProvisioned"),
            (FALSE, "NotProvisioned"),
            (TRUE, "Registering"),
        ],
        state::INSPECTING => working("Inspecting"),
        state::MATCH_PROFILE | state::PREPARING => working("Preparing"),
        state::PROVISIONING => working("Provisioning"),
        state::DEPROVISIONING => working("Deprovisioning"),
        state::POWERING_OFF => working("PoweringOffBeforeDelete"),
        state::DELETING => working("Deleting"),
        state::PROVISIONED | state::EXTERNALLY_PROVISIONED => [
            (TRUE, "Manageable"),
            (FALSE, "NotAvailable"),
            (TRUE, "Provisioned"),
            (TRUE, "Provisioned"),
            (FALSE, "NotProgressing"),
        ],
        _ => [
            (TRUE, "Manageable"),
            (TRUE, "Available"),
            (FALSE, "NotProvisioned"),
            (FALSE, "NotProvisioned"),
            (FALSE, "NotProgressing"),
        ],
    }
}

impl Planner<'_> {
    pub(super) fn sets_conditions(&mut self) {
        let status = self.status().clone();
        let operational = status.operational_status.as_str();
        let has_failed = operational == operational::ERROR;
        let [mut manageable, available, provisioned, mut ready, mut progressing] =
            of_state(&status.provisioning.state, has_failed);
        match operational {
            operational::ERROR => ready = (FALSE, "Error"),
            operational::SERVICING => ready = (FALSE, "Servicing"),
            operational::DETACHED => {
                ready = (FALSE, "Detached");
                progressing = (FALSE, "Detached");
            }
            _ => {}
        }
        if self.observed.power.is_err() && manageable.0 == TRUE {
            manageable = (FALSE, "PowerFailure");
        }
        let now = self.observed.now;
        let all = [
            ("Manageable", manageable),
            ("AvailableForProvisioning", available),
            ("Provisioned", provisioned),
            ("Ready", ready),
            ("Progressing", progressing),
        ];
        for (name, (said, reason)) in all {
            let message = if said == FALSE && has_failed { status.error_message.as_str() } else { "" };
            conditions::set(&mut self.plan.host, now, conditions::new(name, said, reason, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_never_available_and_provisioned() {
        for name in ["", "inspecting", "available", "ready", "provisioning", "provisioned", "deleting"] {
            let [_, available, provisioned, ..] = of_state(name, false);
            assert!(available.0 == FALSE || provisioned.0 == FALSE, "{name}");
        }
    }
}
