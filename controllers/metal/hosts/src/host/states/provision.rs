//! Provisioning: clean, write the image, boot it; or boot a live image.

use std::time::Duration;

use agent_protocol::{Action, Deployment, Erase, Image, State};
use bmc::{BootDevice, Power};
use schemas::metal3::{OperationHistory, OperationMetric};

use crate::control::Command;
use crate::host::observed::{Agent, Means};
use crate::host::plan::Planner;
use crate::instruction;
use crate::limits;
use crate::names::ErrorType;
use crate::state::HostState;

/// The deploy step of Ironic's agent that writes an image. This agent does the same without a deploy step.
const WRITE_IMAGE: &str = "write_image";

impl Planner<'_> {
    /// Returns the start time of the state's operation, which is part of the identifiers of its instructions.
    pub(in crate::host) fn started(
        &self,
        of: impl Fn(&OperationHistory) -> Option<&OperationMetric>,
    ) -> String {
        let operation = self.was().operation_history.as_ref().and_then(of);
        operation.and_then(|operation| operation.start.clone()).unwrap_or_default()
    }

    pub(in crate::host) fn provision(&mut self) {
        if self.was().error_type.is_some() || self.is_cancelled_before_the_end() {
            self.enter(HostState::Deprovisioning);
            return;
        }
        if let Some(problem) = self.provisioning_problem() {
            self.fail(ErrorType::Provisioning, problem);
            return;
        }
        if !self.is_live() {
            self.write_image();
        } else if self.cleans_before_live_image() {
            self.clean_before_live_image();
        } else {
            self.start_live_image();
        }
    }

    /// Returns whether the image of the spec is booted from a virtual CD, and not written to a disk.
    pub(in crate::host) fn is_live(&self) -> bool {
        let image = self.observed.host.spec.image.as_ref();
        image.is_some_and(|image| image.format.as_deref() == Some("live-iso"))
    }

    /// Returns why the request cannot be provisioned. Checked before anything is done to the machine.
    pub(in crate::host) fn provisioning_problem(&self) -> Option<String> {
        let spec = &self.observed.host.spec;
        let image = spec.image.as_ref().filter(|image| !image.url.is_empty());
        if let Some(deploy) = &spec.custom_deploy {
            let method = deploy.method.as_str();
            if method != WRITE_IMAGE {
                return Some(format!(
                    "spec.customDeploy.method {method:?} is a deploy step of another ramdisk, which this agent does not have: use \
                     {WRITE_IMAGE:?} with spec.image, or remove customDeploy and set spec.image"
                ));
            }
            if image.is_none() {
                return Some(format!("spec.customDeploy.method {WRITE_IMAGE:?} writes spec.image: set it"));
            }
        }
        if self.is_live() && !matches!(self.observed.means, Means::Bmc { has_media: true, .. }) {
            let message = "spec.image.format is live-iso, which needs a BMC with virtual media: use an address of redfish-virtualmedia:// or its kin";
            return Some(message.to_owned());
        }
        self.observed.data_problem.clone()
    }

    /// Returns whether the image was removed from the spec while it is being written.
    fn is_cancelled_before_the_end(&self) -> bool {
        let wanted = self.observed.host.spec.image.as_ref().is_some_and(|image| !image.url.is_empty());
        !wanted && self.observed.host.spec.custom_deploy.is_none()
    }

    fn write_image(&mut self) {
        let begun = self.started(|history| history.provision.as_ref());
        let (clean, deploy, restart) =
            (format!("clean/{begun}"), format!("deploy/{begun}"), instruction::restart(&begun));
        // Once the image has been written, the machine restarts and its agent ends.
        if self.observed.agent.as_ref().is_some_and(|agent| agent.id == restart) {
            self.await_restart();
            return;
        }
        if !self.ensure_agent(ErrorType::Provisioning) {
            return;
        }
        let Some(agent) = self.observed.agent.as_ref() else { return };
        let cleans = self.cleaning_is_enabled();
        match (agent.id == clean, agent.id == deploy, agent.state) {
            (true, _, Some(State::Failed)) | (_, true, Some(State::Failed)) => {
                let message = agent.message.clone();
                self.fail(ErrorType::Provisioning, message);
            }
            (_, true, Some(State::Done)) => {
                self.plan.commands.push(Command::Boot(BootDevice::Disk));
                self.instruct(restart, Action::Restart);
            }
            (true, _, Some(State::Done)) => self.deploy(deploy),
            (true, _, _) | (_, true, _) => self.again_after(limits::SILENCE),
            _ if cleans => {
                self.drop_reboots();
                self.instruct(clean, Action::Clean { erase: Erase::Metadata });
            }
            _ => {
                self.drop_reboots();
                self.deploy(deploy);
            }
        }
    }

    fn deploy(&mut self, id: String) {
        let hints = self.was().provisioning.root_device_hints.clone().unwrap_or_default();
        let Some(root_device_hints) = instruction::hints(&hints) else {
            let message = "spec.rootDeviceHints.minSizeGigabytes is below zero: correct it";
            self.fail(ErrorType::Provisioning, message);
            return;
        };
        let image = self.observed.host.spec.image.clone().unwrap_or_default();
        let image = Image {
            url: image.url,
            checksum: image.checksum.unwrap_or_default(),
            checksum_type: image.checksum_type.unwrap_or_default(),
            format: image.format.unwrap_or_default(),
        };
        // Every host has Metal3's metadata.
        let deployment = Deployment { image, root_device_hints, config_drive: true };
        self.instruct(id, Action::Deploy(Box::new(deployment)));
    }

    /// Waits for the agent to restart the machine; if it hangs, the BMC does it.
    fn await_restart(&mut self) {
        let Some(agent) = self.observed.agent.as_ref() else { return };
        let since = agent.since.unwrap_or(self.observed.now);
        let waited = (self.observed.now - since).to_std().unwrap_or_default();
        if agent.state == Some(State::Done) || agent.is_gone {
            self.finish_provisioning();
        } else if waited >= limits::RESTART && !self.observed.means.is_by_hand() {
            self.plan.commands.push(if self.observed.power == Ok(Power::Off) {
                Command::PowerOn
            } else {
                Command::HardOff
            });
            if self.observed.power == Ok(Power::Off) {
                self.finish_provisioning();
            }
        } else {
            self.again_after(limits::RESTART.saturating_sub(waited).max(Duration::from_secs(1)));
        }
    }

    fn finish_provisioning(&mut self) {
        let (image, deploy, now) = (
            self.observed.host.spec.image.clone(),
            self.observed.host.spec.custom_deploy.clone(),
            self.now(),
        );
        let status = self.status();
        status.provisioning.image = image;
        status.provisioning.custom_deploy = deploy;
        if let Some(provision) = &mut status.operation_history.get_or_insert_default().provision {
            provision.end = Some(now);
        }
        self.event("ProvisioningComplete", "Image provisioning completed");
        self.succeed();
        self.enter(HostState::Provisioned);
    }

    /// Returns whether the disks must be cleaned before the live image starts: on the host of a HostClaim, its system must not find what
    /// others have left.
    pub(in crate::host) fn cleans_before_live_image(&self) -> bool {
        let clean = format!("clean/{}", self.started(|history| history.provision.as_ref()));
        let is_clean = |agent: &Agent| agent.id == clean && agent.state == Some(State::Done);
        self.is_live()
            && self.is_claimed()
            && self.cleaning_is_enabled()
            && !self.observed.agent.as_ref().is_some_and(is_clean)
    }

    fn clean_before_live_image(&mut self) {
        if !self.ensure_agent(ErrorType::Provisioning) {
            return;
        }
        let clean = format!("clean/{}", self.started(|history| history.provision.as_ref()));
        let Some(agent) = self.observed.agent.as_ref() else { return };
        match agent.state {
            _ if agent.id != clean => {
                self.drop_reboots();
                self.instruct(clean, Action::Clean { erase: Erase::Metadata });
            }
            Some(State::Failed) => self.fail(ErrorType::Provisioning, agent.message.clone()),
            _ => self.again_after(limits::SILENCE),
        }
    }

    /// Boots a live image from a virtual CD. firstlight writes nothing to the disks; the system of the image may.
    fn start_live_image(&mut self) {
        match self.observed.power {
            Err(_) => self.report_power_fault(),
            Ok(Power::On) => {
                self.plan.commands.push(Command::HardOff);
                self.again_after(limits::POWER_CHANGE);
            }
            Ok(_) => {
                let url =
                    self.observed.host.spec.image.as_ref().map(|image| image.url.clone()).unwrap_or_default();
                self.plan.commands.extend([
                    Command::Insert(url),
                    Command::Boot(BootDevice::VirtualMedia),
                    Command::PowerOn,
                ]);
                self.finish_provisioning();
            }
        }
    }
}
