//! From a new host to an available one: register, inspect, prepare.

use agent_protocol::{Action, State};
use schemas::metal3::BareMetalHostSpec;

use crate::host::observed::Means;
use crate::host::plan::Planner;
use crate::limits;
use crate::names::{self, ErrorType, operational};
use crate::state::HostState;

/// Returns why the requested RAID volumes are not possible. An empty list is accepted only for software RAID, whose volumes the
/// cleaning removes; for a RAID controller it would mean deleting all volumes.
fn raid_problem(spec: &BareMetalHostSpec) -> Option<&'static str> {
    let raid = spec.raid.as_ref()?;
    if raid.hardware_raid_volumes.is_some() {
        return Some(
            "spec.raid.hardwareRAIDVolumes: volumes of RAID controllers are neither made nor deleted here: do it in the controller's own \
             set-up, and remove the field, which leaves them as they are",
        );
    }
    raid.software_raid_volumes.as_ref().filter(|volumes| !volumes.is_empty())?;
    Some(
        "spec.raid.softwareRAIDVolumes: software RAID is not made here: remove the field, and have the image's own system make it",
    )
}

impl Planner<'_> {
    /// Handles a new host, or a host that cannot be managed, because it has neither a BMC nor a power annotation.
    pub(in crate::host) fn begin(&mut self) {
        if self.observed.means == Means::None {
            if self.state() == HostState::New {
                self.event("Discovered", "Discovered host with no BMC details");
                self.enter(HostState::Unmanaged);
            }
            self.status().operational_status = operational::DISCOVERED.to_owned();
            return;
        }
        self.recover();
        self.enter(HostState::Registering);
    }

    /// Waits for the first answer of the BMC, and sets the parts of the status that need no inspection.
    pub(in crate::host) fn register(&mut self) {
        if let Err(fault) = &self.observed.power {
            let message = fault.message.clone();
            self.fail(ErrorType::Registration, message);
            let count = self.status().error_count;
            self.again_after(limits::first_contact(count));
            return;
        }
        let spec = &self.observed.host.spec;
        let (hints, profile) = (spec.root_device_hints.clone(), spec.hardware_profile.clone());
        let now = self.now();
        let id = self.observed.host.metadata.uid.clone().unwrap_or_default();
        let status = self.status();
        status.provisioning.root_device_hints = hints;
        status.hardware_profile = Some(profile.unwrap_or_else(|| "unknown".to_owned()));
        if status.provisioning.id.is_empty() {
            status.provisioning.id = id;
        }
        if let Some(register) = &mut status.operation_history.get_or_insert_default().register {
            register.end = Some(now);
        }
        self.event("Registered", "Registered new host");
        self.succeed();
        let next = if self.observed.host.spec.externally_provisioned == Some(true) {
            HostState::ExternallyProvisioned
        } else if self.inspection_is_disabled() {
            HostState::Preparing
        } else {
            HostState::Inspecting
        };
        self.enter(next);
    }

    /// Lets the agent inspect the machine.
    pub(in crate::host) fn inspect(&mut self) {
        if self.annotation(names::INSPECT).is_some() {
            self.annotations().remove(names::INSPECT);
        }
        if !self.ensure_agent(ErrorType::Inspection) {
            return;
        }
        let id = format!("inspect/{}", self.started(|history| history.inspect.as_ref()));
        let Some(agent) = self.observed.agent.as_ref() else { return };
        if agent.id != id {
            self.drop_reboots();
            self.event("InspectionStarted", "Hardware inspection started");
            self.instruct(id, Action::Inspect);
            return;
        }
        match (agent.state, &agent.hardware) {
            (Some(State::Failed), _) => self.repeat(ErrorType::Inspection, agent.message.clone()),
            (Some(State::Done), Some(hardware)) => {
                let (hardware, now) = (hardware.clone(), self.now());
                self.plan.hardware = Some(hardware.clone());
                let status = self.status();
                status.hardware = Some(hardware);
                if let Some(inspect) = &mut status.operation_history.get_or_insert_default().inspect {
                    inspect.end = Some(now);
                }
                self.event("InspectionComplete", "Hardware inspection completed");
                self.succeed();
                self.enter(HostState::Preparing);
            }
            _ => self.again_after(limits::SILENCE),
        }
    }

    /// Records a failure of the agent, and starts the state's work again with a new start time, which changes the instruction's
    /// identifier.
    pub(in crate::host) fn repeat(&mut self, error: ErrorType, message: String) {
        let state = self.state();
        self.enter(state);
        self.fail(error, message);
    }

    /// Prepares a machine before it becomes available. The requested settings are recorded in the status, so that later changes are
    /// noticed.
    pub(in crate::host) fn prepare(&mut self) {
        let spec = &self.observed.host.spec;
        if let Some(problem) = raid_problem(spec) {
            self.fail(ErrorType::Preparation, problem);
            return;
        }
        if !self.prepare_firmware() {
            return;
        }
        let hints = spec.root_device_hints.clone();
        self.status().provisioning.root_device_hints = hints;
        let architecture =
            self.status().hardware.as_ref().and_then(|hardware| hardware.cpu.as_ref()?.arch.clone());
        if self.observed.host.spec.architecture.is_none() {
            self.plan.host.spec.architecture = architecture;
        }
        self.succeed();
        self.enter(HostState::Available);
    }
}
