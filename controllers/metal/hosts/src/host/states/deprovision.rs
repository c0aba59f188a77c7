//! Leaving the state provisioned, and the deletion: deprovision, power off, delete.

use agent_protocol::{Action, Erase, State};
use bmc::Power;
use engine::finalizer;
use schemas::metal3::HostClaim;

use crate::control::Command;
use crate::host::observed::Means;
use crate::host::plan::Planner;
use crate::limits;
use crate::names::{BOOTING, ERASE, ErrorType, HOST_FINALIZER};
use crate::state::HostState;

impl Planner<'_> {
    /// Cleans the disks, unless `automatedCleaningMode` is `disabled`. Only their metadata are erased, or everything if the host has the
    /// annotation [`ERASE`].
    pub(in crate::host) fn deprovision(&mut self) {
        if self.is_deleting() && self.has_failed_too_often() {
            self.give_up_cleaning();
            return;
        }
        if !self.cleans() {
            self.finish_deprovisioning();
            return;
        }
        if !self.ensure_agent(ErrorType::Provisioning) {
            return;
        }
        let id = format!("clean/{}", self.started(|history| history.deprovision.as_ref()));
        let Some(agent) = self.observed.agent.as_ref() else { return };
        if agent.id != id {
            self.event("DeprovisioningStarted", "Image deprovisioning started");
            let is_asked = self.annotation(ERASE) == Some("everything");
            let erase = if is_asked { Erase::Everything } else { Erase::Metadata };
            self.instruct(id, Action::Clean { erase });
            return;
        }
        match agent.state {
            Some(State::Failed) => self.repeat(ErrorType::Provisioning, agent.message.clone()),
            Some(State::Done) => {
                if !agent.message.is_empty() {
                    self.event("DisksErased", agent.message.clone());
                }
                self.finish_deprovisioning();
            }
            _ => self.again_after(limits::SILENCE),
        }
    }

    /// Continues the deletion without cleaning, as Metal3 does; switching the machine off has its own attempts.
    fn give_up_cleaning(&mut self) {
        let message = format!("Deleted without being cleaned: {}", self.was().error_message);
        self.plan.events.push((true, "DeprovisioningError", message));
        self.succeed();
        self.enter(HostState::PoweringOff);
    }

    /// Returns whether the disks are cleaned at the end of a provisioning. They are left as they are after a live image, unless a HostClaim
    /// uses the host: the system of one tenant may have written to them, and the next tenant must not find it.
    pub(in crate::host) fn cleans(&self) -> bool {
        self.cleaning_is_enabled() && (!self.was_live() || self.is_claimed())
    }

    pub(in crate::host) fn cleaning_is_enabled(&self) -> bool {
        self.observed.host.spec.automated_cleaning_mode.as_deref() != Some("disabled")
    }

    /// Returns whether a HostClaim uses the host. It names the host as its own until the host is deprovisioned.
    pub(in crate::host) fn is_claimed(&self) -> bool {
        let consumer = self.observed.host.spec.consumer_ref.as_ref();
        consumer.is_some_and(|consumer| consumer.kind.as_deref() == Some(HostClaim::KIND))
    }

    /// Returns whether a live image was provisioned, which was booted from a virtual CD.
    fn was_live(&self) -> bool {
        self.was()
            .provisioning
            .image
            .as_ref()
            .is_some_and(|image| image.format.as_deref() == Some("live-iso"))
    }

    fn finish_deprovisioning(&mut self) {
        let now = self.now();
        if self.was_live() && matches!(self.observed.means, Means::Bmc { has_media: true, .. }) {
            self.plan.commands.push(Command::Eject);
        }
        self.empty_drive();
        let status = self.status();
        status.provisioning.image = None;
        status.provisioning.custom_deploy = None;
        status.provisioning.raid = None;
        status.provisioning.firmware = None;
        status.provisioning.root_device_hints = None;
        if let Some(deprovision) = &mut status.operation_history.get_or_insert_default().deprovision {
            deprovision.end = Some(now);
        }
        self.drop_reboots();
        self.event("DeprovisioningComplete", "Image deprovisioning completed");
        if self.is_deleting() {
            self.succeed();
            self.enter(HostState::PoweringOff);
        } else {
            // The error count stays, so that an image that cannot be written is retried with a back-off.
            self.recover();
            self.enter(HostState::Available);
        }
    }

    fn has_failed_too_often(&self) -> bool {
        self.was().error_count > limits::DELETE_ATTEMPTS
            || matches!(self.observed.means, Means::Unusable { .. } | Means::None)
    }

    pub(in crate::host) fn power_off_for_good(&mut self) {
        let keeps_power = self.observed.host.spec.disable_power_off == Some(true)
            || self.observed.means.is_by_hand()
            || self.has_failed_too_often();
        if keeps_power || self.observed.power == Ok(Power::Off) {
            self.enter(HostState::Deleting);
            return;
        }
        if self.observed.power.is_err() {
            self.report_power_fault();
            return;
        }
        self.empty_drive();
        self.eject_agent();
        self.plan.commands.push(Command::HardOff);
        self.again_after(limits::POWER_CHANGE);
    }

    pub(in crate::host) fn finish_deletion(&mut self) {
        self.annotations().remove(BOOTING);
        self.plan.releases_hardware = true;
        finalizer::remove(&mut self.plan.host, HOST_FINALIZER);
    }
}
