//! Plans the changes for a BareMetalHost. Pure. The work of each state is in `states`, the meaning of a state in [`crate::state`].
//!
//! A plan contains the wanted host object, and the commands for the machine, which are carried out before the object is written. Each
//! reconcile requests the work of a state again until the observed data show that it is done, so nothing is lost when the process ends
//! at any point.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use agent_protocol::{Action, Instruction};
use machinery::clock::rfc3339;
use schemas::metal3::{BareMetalHost, BareMetalHostStatus, DataImage, FirmwareUpdate, HardwareDetails};
use schemas::reboot::is_reboot;

use super::observed::Observed;
use crate::control::Command;
use crate::limits;
use crate::names::{ErrorType, operational};
use crate::state::HostState;

/// The status of a host without a status, which is a new host.
static NEW: LazyLock<BareMetalHostStatus> = LazyLock::new(BareMetalHostStatus::default);

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

/// Makes the plan.
pub fn plan(observed: &Observed) -> Plan {
    let mut planner = Planner::new(observed);
    planner.run();
    planner.plan
}

/// A plan that is being made.
pub(super) struct Planner<'a> {
    pub(super) observed: &'a Observed,
    pub(super) plan: Plan,
}

impl<'a> Planner<'a> {
    fn new(observed: &'a Observed) -> Self {
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
        Self { observed, plan }
    }

    fn run(&mut self) {
        if self.is_paused() {
            // Without even an empty status, because otherwise a status that came with the host could not be restored later.
            self.plan.host.status.clone_from(&self.observed.host.status);
            return;
        }
        if self.restore_status() || self.add_finalizer() {
            return;
        }
        self.take_hardware_details();
        self.note_power();
        if self.report_protection()
            || self.report_unusable()
            || self.report_conflict()
            || self.delay_while_full()
            || self.await_installation()
            || self.begin_deletion()
            || self.leave_detached()
        {
            self.set_conditions();
            return;
        }
        match self.state() {
            HostState::New | HostState::Unmanaged => self.begin(),
            HostState::Registering => self.register(),
            HostState::Inspecting => self.inspect(),
            HostState::MatchProfile | HostState::Preparing => self.prepare(),
            HostState::Available | HostState::Ready => self.rest(),
            HostState::Provisioning => self.provision(),
            HostState::Provisioned | HostState::ExternallyProvisioned => self.serve(),
            HostState::Deprovisioning => self.deprovision(),
            HostState::PoweringOff => self.power_off_for_good(),
            HostState::Deleting => self.finish_deletion(),
            HostState::Unknown => {
                let name = &self.was().provisioning.state;
                let message = format!(
                    "status.provisioning.state is {name:?}, which is no state: set it to one that Metal3 knows, or delete the host"
                );
                self.fail(ErrorType::Registration, message);
            }
        }
        self.set_conditions();
    }

    pub(super) fn status(&mut self) -> &mut BareMetalHostStatus {
        self.plan.host.status.get_or_insert_default()
    }

    pub(super) fn state(&self) -> HostState {
        HostState::of(&self.observed.host)
    }

    /// Returns the status that was read; an empty one for a new host.
    pub(super) fn was(&self) -> &'a BareMetalHostStatus {
        self.observed.host.status.as_ref().unwrap_or(&NEW)
    }

    pub(super) fn annotations(&mut self) -> &mut BTreeMap<String, String> {
        self.plan.host.metadata.annotations.get_or_insert_default()
    }

    pub(super) fn annotation(&self, key: &str) -> Option<&'a str> {
        self.observed.host.metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }

    pub(super) fn is_deleting(&self) -> bool {
        self.observed.host.metadata.deletion_timestamp.is_some()
    }

    /// Returns the time of the plan.
    pub(super) fn now(&self) -> String {
        rfc3339(self.observed.now)
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
        let (now, mode) = (self.now(), self.observed.host.spec.boot_mode.clone());
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
