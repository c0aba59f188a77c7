//! From a new host to an available one: register, inspect, prepare.

use agent_protocol::{Action, State};
use schemas::metal3::BareMetalHostSpec;

use super::firmware;
use crate::host::draft::Draft;
use crate::host::observed::{Means, Observed};
use crate::host::power;
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

/// Handles a new host, or a host that cannot be managed, because it has neither a BMC nor a power annotation.
pub(crate) fn begin(observed: &Observed, draft: &mut Draft) {
    if observed.means == Means::None {
        if observed.state() == HostState::New {
            draft.event("Discovered", "Discovered host with no BMC details");
            draft.enter(HostState::Unmanaged);
        }
        draft.status().operational_status = operational::DISCOVERED.to_owned();
        return;
    }
    draft.recover();
    draft.enter(HostState::Registering);
}

/// Waits for the first answer of the BMC, and sets the parts of the status that need no inspection.
pub(crate) fn register(observed: &Observed, draft: &mut Draft) {
    if let Err(fault) = &observed.power {
        let message = fault.message.clone();
        draft.fail(ErrorType::Registration, message);
        let count = draft.status().error_count;
        draft.again_after(limits::first_contact(count));
        return;
    }
    let spec = &observed.host.spec;
    let (hints, profile) = (spec.root_device_hints.clone(), spec.hardware_profile.clone());
    let now = observed.now();
    let id = observed.host.metadata.uid.clone().unwrap_or_default();
    let status = draft.status();
    status.provisioning.root_device_hints = hints;
    status.hardware_profile = Some(profile.unwrap_or_else(|| "unknown".to_owned()));
    if status.provisioning.id.is_empty() {
        status.provisioning.id = id;
    }
    if let Some(register) = &mut status.operation_history.get_or_insert_default().register {
        register.end = Some(now);
    }
    draft.event("Registered", "Registered new host");
    draft.succeed();
    let next = if observed.host.spec.externally_provisioned == Some(true) {
        HostState::ExternallyProvisioned
    } else if observed.inspection_is_disabled() {
        HostState::Preparing
    } else {
        HostState::Inspecting
    };
    draft.enter(next);
}

/// Lets the agent inspect the machine.
pub(crate) fn inspect(observed: &Observed, draft: &mut Draft) {
    if observed.annotation(names::INSPECT).is_some() {
        draft.annotations().remove(names::INSPECT);
    }
    if !power::ensure_agent(observed, draft, ErrorType::Inspection) {
        return;
    }
    let id = format!("inspect/{}", observed.started(|history| history.inspect.as_ref()));
    let Some(agent) = observed.agent.as_ref() else { return };
    if agent.id != id {
        draft.drop_reboots();
        draft.event("InspectionStarted", "Hardware inspection started");
        draft.instruct(id, Action::Inspect);
        return;
    }
    match (agent.state, &agent.hardware) {
        (Some(State::Failed), _) => repeat(observed, draft, ErrorType::Inspection, agent.message.clone()),
        (Some(State::Done), Some(hardware)) => {
            let (hardware, now) = (hardware.clone(), observed.now());
            draft.note_hardware(hardware.clone());
            let status = draft.status();
            status.hardware = Some(hardware);
            if let Some(inspect) = &mut status.operation_history.get_or_insert_default().inspect {
                inspect.end = Some(now);
            }
            draft.event("InspectionComplete", "Hardware inspection completed");
            draft.succeed();
            draft.enter(HostState::Preparing);
        }
        _ => draft.again_after(limits::SILENCE),
    }
}

/// Records a failure of the agent, and starts the state's work again with a new start time, which changes the instruction's
/// identifier.
pub(crate) fn repeat(observed: &Observed, draft: &mut Draft, error: ErrorType, message: String) {
    let state = observed.state();
    draft.enter(state);
    draft.fail(error, message);
}

/// Prepares a machine before it becomes available. The requested settings are recorded in the status, so that later changes are
/// noticed.
pub(crate) fn prepare(observed: &Observed, draft: &mut Draft) {
    let spec = &observed.host.spec;
    if let Some(problem) = raid_problem(spec) {
        draft.fail(ErrorType::Preparation, problem);
        return;
    }
    if !firmware::prepare_firmware(observed, draft) {
        return;
    }
    let hints = spec.root_device_hints.clone();
    draft.status().provisioning.root_device_hints = hints;
    let architecture =
        draft.status().hardware.as_ref().and_then(|hardware| hardware.cpu.as_ref()?.arch.clone());
    if observed.host.spec.architecture.is_none() {
        draft.host().spec.architecture = architecture;
    }
    draft.succeed();
    draft.enter(HostState::Available);
}
