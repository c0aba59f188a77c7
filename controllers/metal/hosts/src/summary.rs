//! Describes the state of a bare metal host and of its agent, for all views. Pure.

use agent_protocol::{Action, State};
use engine::NamespacedName;
use kube::ResourceExt;
use schemas::HasConditions;
use schemas::metal3::BareMetalHost;
use schemas::netboot::Agent;

use crate::host::host_of;
use crate::names::{self, operational};
use crate::state::HostState;

/// The described state of a host.
#[derive(Debug, PartialEq)]
pub struct HostSummary {
    /// `status.provisioning.state`, or `new` if it is empty.
    pub stage: String,
    /// `on` or `off`; empty if unknown.
    pub power: &'static str,
    /// The agent's current or last instruction, with its progress; empty if there is no agent.
    pub agent: String,
    /// Whether the agent is carrying out that instruction.
    pub is_busy: bool,
    /// The event for which the host waits, or its error; empty if there is neither.
    pub waiting_for: String,
    /// Whether the host is in a state of rest, without an error and without a request to a person.
    pub is_settled: bool,
}

impl HostSummary {
    /// Describes `host`, whose agent may be among `agents`.
    pub fn of(host: &BareMetalHost, agents: &[Agent]) -> Self {
        let status = host.status.as_ref();
        let stage = status.map_or("", |status| status.provisioning.state.as_str());
        let state = HostState::of(host);
        let power = match status {
            Some(status) if state.is_managed() => {
                if status.powered_on {
                    "on"
                } else {
                    "off"
                }
            }
            _ => "",
        };
        let has_failed = status.is_some_and(|status| status.operational_status == operational::ERROR);
        let agent = agents.iter().find(|agent| is_of(agent, host));
        let (agent, is_busy) = agent.map(work).unwrap_or_default();
        Self {
            stage: if stage.is_empty() { "new" } else { stage }.to_owned(),
            power,
            agent,
            is_busy,
            waiting_for: waiting_for(host, state),
            is_settled: state.is_settled() && !has_failed && asked(host).is_none(),
        }
    }
}

/// Returns whether the agent runs on the host's machine.
fn is_of(agent: &Agent, host: &BareMetalHost) -> bool {
    host_of(agent).is_some_and(|known| known == NamespacedName::of(host))
}

/// Returns the task of a person at the machine, if there is one.
fn asked(host: &BareMetalHost) -> Option<&str> {
    let condition = host.condition(names::WAITING_FOR_OPERATOR)?;
    (condition.status == "True").then_some(condition.message.as_str())
}

/// Returns the most urgent reason for which the host waits.
fn waiting_for(host: &BareMetalHost, state: HostState) -> String {
    if host.annotations().contains_key(names::PAUSED) {
        return format!("paused: remove the annotation {}", names::PAUSED);
    }
    if let Some(message) = asked(host) {
        return message.to_owned();
    }
    let Some(status) = &host.status else { return "the controller".to_owned() };
    let has_image = host.spec.image.is_some() || host.spec.custom_deploy.is_some();
    match status.operational_status.as_str() {
        operational::ERROR => match &status.error_type {
            Some(kind) => format!("{kind}: {}", status.error_message),
            None => status.error_message.clone(),
        },
        operational::DETACHED => format!("detached: remove the annotation {}", names::DETACHED),
        operational::DELAYED => "its turn: as many hosts are busy as may be".to_owned(),
        _ if state == HostState::Unmanaged => {
            format!("a way to switch it on: set spec.bmc, or the annotation {}", names::POWER)
        }
        _ if state == HostState::Available && has_image && !host.spec.online => {
            "being switched on: set spec.online to true".to_owned()
        }
        _ if host.annotations().contains_key(names::BOOTING) => "its start over the network".to_owned(),
        _ => String::new(),
    }
}

/// Returns the agent's current instruction (`writing the image to /dev/vda, 32 %`) or its last one, and whether it is busy; empty if it
/// has no instruction.
pub fn work(agent: &Agent) -> (String, bool) {
    let Some(instruction) = &agent.spec.instruction else { return Default::default() };
    let (doing, done) = match Action::from_name(&instruction.action) {
        Some(Action::Wait) => return ("waiting".to_owned(), false),
        Some(Action::Inspect) => ("inspecting the machine", "inspected the machine"),
        Some(Action::Clean { .. }) => ("cleaning the disks", "cleaned the disks"),
        Some(Action::Deploy(_)) => ("writing the image", "wrote the image"),
        Some(Action::Restart) => ("restarting", "restarted"),
        Some(Action::PowerOff) => ("switching off", "switched off"),
        None => (instruction.action.as_str(), instruction.action.as_str()),
    };
    // The progress of an earlier instruction is ignored.
    let progress = agent.status.as_ref().and_then(|status| status.instruction.as_ref());
    let Some(progress) = progress.filter(|progress| progress.id == instruction.id) else {
        return (doing.to_owned(), true);
    };
    match State::from_name(&progress.state) {
        Some(State::Done) => return (done.to_owned(), false),
        Some(State::Failed) => return (format!("{doing} failed"), false),
        Some(State::Running) | None => {}
    }
    let doing = progress.message.as_deref().filter(|message| !message.is_empty()).unwrap_or(doing);
    let bytes_done = progress.bytes_done.unwrap_or_default();
    let doing = match progress.bytes_total.filter(|total| *total > 0) {
        Some(total) => format!("{doing}, {} %", i128::from(bytes_done) * 100 / i128::from(total)),
        None if bytes_done > 0 => format!("{doing}, {}", bytes(bytes_done)),
        None => doing.to_owned(),
    };
    (doing, true)
}

/// Returns a number of bytes with at least two digits of a unit, for example `940 MiB`.
pub fn bytes(number: i64) -> String {
    const UNITS: [(&str, i64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.iter().find(|(_, size)| number >= 10 * size) {
        Some((unit, size)) => format!("{} {unit}", number / size),
        None => format!("{number} bytes"),
    }
}
