//! Leaving the state provisioned, and the deletion: deprovision, power off, delete.

use engine::finalizer;

use crate::control::{Command, Power};
use crate::host::observed::Means;
use crate::host::plan::Planner;
use crate::instruction::{Action, Erase};
use crate::limits;
use crate::names::{BOOTING, ERASE, ErrorType, HOST_FINALIZER, state};

impl Planner<'_> {
    /// Erases the disks, unless `automatedCleaningMode` is `disabled`.
    pub(in crate::host) fn deprovisions(&mut self) {
        if self.is_deleting() && self.has_failed_too_often() {
            self.gives_up_cleaning();
            return;
        }
        if self.observed.host.spec.automated_cleaning_mode.as_deref() == Some("disabled")
            || self.wrote_nothing()
        {
            self.is_deprovisioned();
            return;
        }
        if !self.has_agent(ErrorType::Provisioning) {
            return;
        }
        let id = format!("clean/{}", self.started(|history| history.deprovision.as_ref()));
        let Some(agent) = self.observed.agent.as_ref() else { return };
        if agent.id != id {
            self.event("DeprovisioningStarted", "Image deprovisioning started");
            let is_asked = self.annotation(ERASE) == Some("everything");
            let erase = if is_asked { Erase::Everything } else { Erase::Metadata };
            self.instructs(id, Action::Clean(erase));
            return;
        }
        match agent.state.as_str() {
            "Failed" => self.repeats(ErrorType::Provisioning, agent.message.clone()),
            "Done" => {
                if !agent.message.is_empty() {
                    self.event("DisksErased", agent.message.clone());
                }
                self.is_deprovisioned();
            }
            _ => self.again_after(limits::SILENCE),
        }
    }

    /// Continues the deletion without cleaning, as Metal3 does; switching the machine off has its own attempts.
    fn gives_up_cleaning(&mut self) {
        let message = format!("Deleted without being cleaned: {}", self.was().error_message);
        self.plan.events.push((true, "DeprovisioningError", message));
        self.succeeds();
        self.enters(state::POWERING_OFF);
    }

    /// Returns whether a live image was provisioned, which leaves nothing on the disks.
    fn wrote_nothing(&self) -> bool {
        self.was()
            .provisioning
            .image
            .as_ref()
            .is_some_and(|image| image.format.as_deref() == Some("live-iso"))
    }

    fn is_deprovisioned(&mut self) {
        let now = self.now();
        if self.wrote_nothing() && matches!(self.observed.means, Means::Bmc { has_media: true, .. }) {
            self.plan.commands.push(Command::Eject);
        }
        self.empties_drive();
        let status = self.status();
        status.provisioning.image = None;
        status.provisioning.custom_deploy = None;
        status.provisioning.raid = None;
        status.provisioning.firmware = None;
        status.provisioning.root_device_hints = None;
        if let Some(deprovision) = &mut status.operation_history.get_or_insert_default().deprovision {
            deprovision.end = Some(now);
        }
        self.drops_reboots();
        self.event("DeprovisioningComplete", "Image deprovisioning completed");
        if self.is_deleting() {
            self.succeeds();
            self.enters(state::POWERING_OFF);
        } else {
            // The error count stays, so that an image that cannot be written is retried ever more rarely.
            self.recovers();
            self.enters(state::AVAILABLE);
        }
    }

    fn has_failed_too_often(&self) -> bool {
        self.was().error_count > limits::DELETE_ATTEMPTS
            || matches!(self.observed.means, Means::Unusable { .. } | Means::None)
    }

    pub(in crate::host) fn powers_off_for_good(&mut self) {
        let keeps_power = self.observed.host.spec.disable_power_off == Some(true)
            || self.observed.means.is_by_hand()
            || self.has_failed_too_often();
        if keeps_power || self.observed.power == Ok(Power::Off) {
            self.enters(state::DELETING);
            return;
        }
        if self.observed.power.is_err() {
            self.reports_power_fault();
            return;
        }
        self.empties_drive();
        self.ejects_agent();
        self.plan.commands.push(Command::HardOff);
        self.again_after(limits::POWER_CHANGE);
    }

    pub(in crate::host) fn ends(&mut self) {
        self.annotations().remove(BOOTING);
        self.plan.releases_hardware = true;
        finalizer::remove(&mut self.plan.host, HOST_FINALIZER);
    }
}
