//! The checks before the work of a state: pause, restored status, finalizer, credentials, capacity, deletion, detachment.

use bmc::Power;
use engine::finalizer;
use schemas::metal3::{BareMetalHostStatus, CredentialsStatus, SecretReference};

use super::annotations::{self, DeleteAction};
use super::observed::Means;
use super::plan::Planner;
use crate::identity;
use crate::limits;
use crate::names::{self, ErrorType, operational};
use crate::state::HostState;

impl Planner<'_> {
    pub(super) fn is_paused(&self) -> bool {
        self.annotation(names::PAUSED).is_some()
    }

    /// Restores a status that came with the host, exactly once. The annotation is removed only after the status has been written: if
    /// the process ended in between, or the write were refused, the host would be treated as new.
    pub(super) fn restore_status(&mut self) -> bool {
        let Some(text) = self.annotation(names::STATUS) else { return false };
        let untouched = self.was().last_updated.is_none();
        let parsed = serde_json::from_str::<BareMetalHostStatus>(text);
        let (true, Ok(mut status)) = (untouched, parsed) else {
            self.annotations().remove(names::STATUS);
            return true;
        };
        if let Some(hardware) = &self.observed.hardware_data {
            status.hardware = Some(hardware.clone());
        }
        let now = self.now();
        status.last_updated.get_or_insert(now);
        self.plan.host.status = Some(status);
        true
    }

    /// Takes hardware details from an annotation or from HardwareData, for a machine that must not be inspected.
    pub(super) fn take_hardware_details(&mut self) {
        let told = self.annotation(names::HARDWARE_DETAILS).map(str::to_owned);
        let is_disabled = self.inspection_is_disabled();
        if self.was().hardware.is_some() && !is_disabled && told.is_none() {
            return;
        }
        if let Some(data) = &self.observed.hardware_data {
            self.status().hardware = Some(data.clone());
        } else if let Some(details) = told.as_deref().and_then(|text| serde_json::from_str(text).ok()) {
            self.plan.hardware = Some(details);
            self.status().hardware = self.plan.hardware.clone();
            self.event("UpdateHardwareDetails", "Set hardware details from annotation");
        }
        if told.is_some() {
            self.annotations().remove(names::HARDWARE_DETAILS);
        }
    }

    pub(super) fn inspection_is_disabled(&self) -> bool {
        self.observed.host.spec.inspection_mode.as_deref() == Some("disabled")
            || self.annotation(names::INSPECT) == Some("disabled")
    }

    pub(super) fn add_finalizer(&mut self) -> bool {
        !self.is_deleting() && finalizer::add(&mut self.plan.host, names::HOST_FINALIZER)
    }

    /// Records the observed power state.
    pub(super) fn note_power(&mut self) {
        match self.observed.power {
            Ok(Power::On) => self.status().powered_on = true,
            Ok(Power::Off) => self.status().powered_on = false,
            _ => {}
        }
    }

    /// Checks the BMC's address and credentials. A problem is an error in every state, except while the host is being deleted.
    pub(super) fn report_unusable(&mut self) -> bool {
        if !self.state().is_managed() || self.detachment_holds() {
            return false;
        }
        match &self.observed.means {
            Means::Unusable { .. } if self.is_deleting() => false,
            Means::Unusable { message, is_missing } => {
                if self.was().error_message != *message {
                    self.fail(ErrorType::Registration, message.clone());
                }
                if *is_missing {
                    self.again_after(limits::SECRET_RETRY);
                }
                true
            }
            Means::Bmc { credentials, version, .. } => {
                let used = CredentialsStatus {
                    credentials: Some(SecretReference {
                        name: Some(credentials.clone()),
                        namespace: self.observed.host.metadata.namespace.clone(),
                    }),
                    credentials_version: Some(version.clone()),
                };
                self.verify(used)
            }
            _ => false,
        }
    }

    /// Checks for another host that claims the same machine. Then nothing is done to the machine, except while the host is being
    /// deleted.
    pub(super) fn report_conflict(&mut self) -> bool {
        let was = self.was();
        match self.annotation(names::CONFLICT) {
            Some(conflict) if !self.is_deleting() && !self.detachment_holds() => {
                if was.error_message != conflict {
                    let error = if self.state().is_in_use() {
                        ErrorType::ProvisionedRegistration
                    } else {
                        ErrorType::Registration
                    };
                    self.fail(error, conflict);
                }
                true
            }
            _ => {
                if identity::is_conflict(&was.error_message) {
                    self.succeed();
                }
                false
            }
        }
    }

    /// Checks the answer of the BMC: credentials count as good only after the BMC has accepted them.
    fn verify(&mut self, used: CredentialsStatus) -> bool {
        let was = self.was();
        self.status().tried_credentials = Some(used.clone());
        match &self.observed.power {
            Err(fault) if fault.is_refused && !self.is_deleting() => {
                let message = fault.message.clone();
                self.status().good_credentials = None;
                let is_in_use = self.state().is_in_use();
                let error =
                    if is_in_use { ErrorType::ProvisionedRegistration } else { ErrorType::Registration };
                self.fail(error, message);
                true
            }
            Ok(_) => {
                if was.good_credentials.as_ref() != Some(&used) {
                    self.event("BMCAccessValidated", "Verified access to BMC");
                    self.plan.creates_firmware = true;
                }
                self.status().good_credentials = Some(used);
                let was_refused = was.error_type.as_deref().is_some_and(|name| {
                    [ErrorType::Registration, ErrorType::ProvisionedRegistration]
                        .map(ErrorType::name)
                        .contains(&name)
                });
                if was_refused && !identity::is_conflict(&was.error_message) {
                    self.succeed();
                }
                false
            }
            Err(_) => false,
        }
    }

    /// Checks whether too many other hosts are busy, so that this one must wait.
    pub(super) fn delay_while_full(&mut self) -> bool {
        if self.state().is_busy() && self.observed.is_full && self.observed.agent.is_none() {
            self.status().operational_status = operational::DELAYED.to_owned();
            self.again_after(limits::POWER_POLL);
            return true;
        }
        if self.was().operational_status == operational::DELAYED {
            self.recover();
        }
        false
    }

    /// Moves a host that is being deleted to the next state of the deletion.
    pub(super) fn begin_deletion(&mut self) -> bool {
        if !self.is_deleting() {
            return false;
        }
        if self.detachment_holds() {
            return self.delete_detached();
        }
        let Some(next) = self.state().on_deletion() else { return false };
        self.recover();
        self.status().error_count = 0;
        self.enter(next);
        true
    }

    /// Deletes a detached host: its machine is neither cleaned nor switched off.
    fn delete_detached(&mut self) -> bool {
        let action = self.detachment().map(|detached| detached.delete_action);
        if action == Some(DeleteAction::Delay) {
            self.status().operational_status = operational::DETACHED.to_owned();
            return true;
        }
        if self.state() == HostState::Deleting {
            return false;
        }
        self.enter(HostState::Deleting);
        true
    }

    fn detachment(&self) -> Option<annotations::Detached> {
        annotations::detached(self.observed.host.metadata.annotations.as_ref()?)
    }

    pub(super) fn detachment_holds(&self) -> bool {
        self.detachment().is_some_and(|detached| self.state().is_settled() || detached.force)
    }

    /// Returns whether the host is detached, so that its machine must not be touched.
    pub(super) fn leave_detached(&mut self) -> bool {
        if self.detachment_holds() && self.state() != HostState::Deleting {
            self.status().operational_status = operational::DETACHED.to_owned();
            return true;
        }
        if self.was().operational_status == operational::DETACHED {
            let failed = self.was().error_type.is_some();
            self.status().operational_status =
                if failed { operational::ERROR } else { operational::OK }.to_owned();
        }
        false
    }
}
