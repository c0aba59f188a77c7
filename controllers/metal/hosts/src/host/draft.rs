//! A plan while it is made. What reads the host asks [`Observed`]; what the plan wants is said here, by methods with names.

use std::collections::BTreeMap;
use std::time::Duration;

use agent_protocol::{Action, Instruction};
use schemas::metal3::{BareMetalHost, BareMetalHostStatus, DataImage, FirmwareUpdate, HardwareDetails};
use schemas::reboot::is_reboot;

use super::observed::Observed;
use crate::control::Command;
use crate::limits;
use crate::names::{ErrorType, operational};
use crate::state::HostState;

/// The changes that a plan requests.
pub struct Plan {
    /// The wanted host object with its status.
    pub host: BareMetalHost,
    /// The commands for the machine, in order; a failure skips the rest.
    pub commands: Vec<Command>,
    /// The instruction for the agent.
    pub instruction: Option<Instruction>,
    /// The wanted content of `HardwareData`.
    pub hardware: Option<HardwareDetails>,
    /// The DataImage with the status after the commands.
    pub data_image: Option<DataImage>,
    /// The firmware update to start; the path of the BMC's task goes into the host's annotation.
    pub update: Option<FirmwareUpdate>,
    /// The firmware update that has been installed, for `HostFirmwareComponents`.
    pub installed: Option<FirmwareUpdate>,
    /// Whether `HostFirmwareSettings` and `HostFirmwareComponents` must be created.
    pub creates_firmware: bool,
    /// Whether the host's PreprovisioningImage must be created or updated.
    pub asks_boot_image: bool,
    /// Whether the finalizers of `HardwareData` and of the BMC's Secret are removed.
    pub releases_hardware: bool,
    /// The events: whether it is a warning, the reason, the message.
    pub events: Vec<(bool, &'static str, String)>,
    /// The time until the next reconcile, if no event comes before.
    pub after: Option<Duration>,
}

/// A plan that is being made.
pub(super) struct Draft {
    plan: Plan,
    /// The time of the plan.
    now: String,
}

impl Draft {
    /// Begins with the host as it was read.
    pub(super) fn new(observed: &Observed) -> Self {
        let mut host = observed.host.clone();
        host.status.get_or_insert_default();
        let plan = Plan {
            host,
            commands: Vec::new(),
            instruction: None,
            hardware: None,
            data_image: None,
            update: None,
            installed: None,
            creates_firmware: false,
            asks_boot_image: false,
            releases_hardware: false,
            events: Vec::new(),
            after: None,
        };
        Self { plan, now: observed.now() }
    }

    /// Returns the finished plan.
    pub(super) fn finish(self) -> Plan {
        self.plan
    }

    /// Returns the wanted host.
    pub(super) fn host(&mut self) -> &mut BareMetalHost {
        &mut self.plan.host
    }

    pub(super) fn status(&mut self) -> &mut BareMetalHostStatus {
        self.plan.host.status.get_or_insert_default()
    }

    pub(super) fn annotations(&mut self) -> &mut BTreeMap<String, String> {
        self.plan.host.metadata.annotations.get_or_insert_default()
    }

    /// Adds a command for the machine.
    pub(super) fn command(&mut self, command: Command) {
        self.plan.commands.push(command);
    }

    /// Adds commands for the machine.
    pub(super) fn commands(&mut self, commands: impl IntoIterator<Item = Command>) {
        self.plan.commands.extend(commands);
    }

    /// Says what `HardwareData` is to contain.
    pub(super) fn note_hardware(&mut self, hardware: HardwareDetails) {
        self.plan.hardware = Some(hardware);
    }

    /// Says what the DataImage is after the commands.
    pub(super) fn note_drive(&mut self, image: DataImage) {
        self.plan.data_image = Some(image);
    }

    /// Starts a firmware update.
    pub(super) fn update(&mut self, update: FirmwareUpdate) {
        self.plan.update = Some(update);
    }

    /// Records that a firmware update has been installed.
    pub(super) fn note_installed(&mut self, update: FirmwareUpdate) {
        self.plan.installed = Some(update);
    }

    /// Creates the objects of the host's firmware.
    pub(super) fn create_firmware(&mut self) {
        self.plan.creates_firmware = true;
    }

    /// Asks for the image from which the agent boots.
    pub(super) fn ask_boot_image(&mut self) {
        self.plan.asks_boot_image = true;
    }

    /// Lets go of `HardwareData` and of the BMC's Secret.
    pub(super) fn release_hardware(&mut self) {
        self.plan.releases_hardware = true;
    }

    /// Adds a warning.
    pub(super) fn warn(&mut self, reason: &'static str, message: impl Into<String>) {
        self.plan.events.push((true, reason, message.into()));
    }

    /// Requests another reconcile after `delay` at the latest.
    pub(super) fn again_after(&mut self, delay: Duration) {
        self.plan.after = Some(self.plan.after.map_or(delay, |after| after.min(delay)));
    }

    pub(super) fn event(&mut self, reason: &'static str, message: impl Into<String>) {
        self.plan.events.push((false, reason, message.into()));
    }

    /// Enters the state `next`. Its work begins with the reconcile that the write causes.
    pub(super) fn enter(&mut self, next: HostState) {
        let (now, mode) = (self.now.clone(), self.plan.host.spec.boot_mode.clone());
        let status = self.status();
        next.name().clone_into(&mut status.provisioning.state);
        let history = status.operation_history.get_or_insert_default();
        let started = match next {
            HostState::Registering => Some(&mut history.register),
            HostState::Inspecting => Some(&mut history.inspect),
            HostState::Provisioning => Some(&mut history.provision),
            HostState::Deprovisioning => Some(&mut history.deprovision),
            _ => None,
        };
        if let Some(operation) = started {
            let operation = operation.get_or_insert_default();
            operation.start = Some(now);
            operation.end = None;
        }
        if matches!(next, HostState::Registering | HostState::Inspecting | HostState::Provisioning) {
            status.provisioning.boot_mode = Some(mode.unwrap_or_else(|| "UEFI".to_owned()));
        }
    }

    /// Records that the work of the state is done: clears errors and the error count.
    pub(super) fn succeed(&mut self) {
        self.recover();
        self.status().error_count = 0;
    }

    /// Clears the error, but keeps the error count until the state's work is done.
    pub(super) fn recover(&mut self) {
        let status = self.status();
        status.error_type = None;
        status.error_message = String::new();
        status.operational_status = operational::OK.to_owned();
    }

    /// Records a failure; the back-off depends on the error count.
    pub(super) fn fail(&mut self, error: ErrorType, message: impl Into<String>) {
        fail(&mut self.plan, error, message.into());
    }

    /// Gives the agent an instruction. The identifier contains the operation that it belongs to, so that each instruction is given
    /// once.
    pub(super) fn instruct(&mut self, id: String, action: Action) {
        self.plan.instruction = Some(Instruction { id, action });
        // No event reports an agent that stops answering.
        self.again_after(limits::SILENCE);
    }

    /// Removes all reboot annotations.
    pub(super) fn drop_reboots(&mut self) {
        self.annotations().retain(|key, _| !is_reboot(key));
    }
}

/// Records a failure in the plan.
pub fn fail(plan: &mut Plan, error: ErrorType, message: String) {
    let status = plan.host.status.get_or_insert_default();
    status.operational_status = operational::ERROR.to_owned();
    status.error_type = Some(error.name().to_owned());
    status.error_count += 1;
    let after = limits::back_off(status.error_count);
    plan.after = Some(plan.after.map_or(after, |earlier| earlier.min(after)));
    status.error_message.clone_from(&message);
    plan.events.push((true, error.reason(), message));
}
