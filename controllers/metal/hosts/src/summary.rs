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
fn work(agent: &Agent) -> (String, bool) {
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn agent(action: &str, progress: Value) -> Agent {
        let agent = json!({
            "spec": {
                "hostRef": { "namespace": "site", "name": "a" },
                "instruction": { "id": "7", "action": action },
            },
            "status": { "instruction": progress },
        });
        serde_json::from_value(agent).unwrap()
    }

    #[test]
    fn an_agent_works() {
        let running = |rest: Value| {
            let mut progress = json!({ "id": "7", "state": "Running" });
            progress.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            progress
        };
        let written =
            json!({ "message": "writing the image to /dev/vda", "bytesDone": 32, "bytesTotal": 100 });
        let most = json!({ "bytesDone": i64::MAX, "bytesTotal": i64::MAX });
        let cases = [
            ("Wait", Value::Null, "waiting"),
            ("Inspect", Value::Null, "inspecting the machine"),
            ("Inspect", json!({ "id": "6", "state": "Done" }), "inspecting the machine"),
            ("Inspect", running(json!({ "message": "" })), "inspecting the machine"),
            ("Inspect", json!({ "id": "7", "state": "Done" }), "inspected the machine"),
            ("Clean", running(json!({})), "cleaning the disks"),
            ("Clean", running(json!({ "message": "cleaning /dev/vda" })), "cleaning /dev/vda"),
            ("Clean", running(json!({ "bytesDone": 20 << 20 })), "cleaning the disks, 20 MiB"),
            ("Clean", running(json!({ "bytesDone": 0, "bytesTotal": 0 })), "cleaning the disks"),
            ("Clean", json!({ "id": "7", "state": "Failed" }), "cleaning the disks failed"),
            ("Deploy", running(json!({})), "writing the image"),
            ("Deploy", running(written), "writing the image to /dev/vda, 32 %"),
            ("Deploy", running(most), "writing the image, 100 %"),
            ("Restart", running(json!({})), "restarting"),
            (
                "Restart",
                json!({ "id": "7", "state": "Done", "message": "the machine goes down" }),
                "restarted",
            ),
            ("PowerOff", running(json!({})), "switching off"),
        ];
        for (action, progress, expected) in cases {
            let (said, is_busy) = work(&agent(action, progress.clone()));
            assert_eq!(said, expected, "{action} {progress}");
            let is_over = action == "Wait" || (progress["id"] == "7" && progress["state"] != "Running");
            assert_eq!(is_busy, !is_over, "{action} {progress}");
        }
        assert_eq!(work(&Agent::default()), (String::new(), false));
    }

    #[test]
    fn a_host_waits() {
        let asked = json!([{ "type": "WaitingForOperator", "status": "True", "message": "switch it on" }]);
        let paused = json!({ "baremetalhost.metal3.io/paused": "" });
        let booting = json!({ "metal.firstlight.dev/booting": "2026-11-22T09:00:00Z" });
        let off = json!({ "online": false, "image": { "url": "http://a/b" } });
        // Annotations, spec, and the fields of the status besides the state.
        let cases = [
            (Value::Null, json!({}), "", json!({}), "", false),
            (Value::Null, json!({}), "provisioned", json!({}), "", true),
            (
                paused,
                json!({}),
                "provisioned",
                json!({}),
                "paused: remove the annotation baremetalhost.metal3.io/paused",
                true,
            ),
            (Value::Null, json!({}), "available", json!({ "conditions": asked }), "switch it on", false),
            (
                booting.clone(),
                json!({}),
                "inspecting",
                json!({ "operationalStatus": "error", "errorType": "inspection error", "errorMessage": "silence" }),
                "inspection error: silence",
                false,
            ),
            (booting, json!({}), "inspecting", json!({}), "its start over the network", false),
            (Value::Null, off, "available", json!({}), "being switched on: set spec.online to true", true),
        ];
        for (annotations, spec, stage, mut status, waiting_for, rests) in cases {
            status["provisioning"]["state"] = stage.into();
            let metadata = json!({ "namespace": "site", "name": "a", "annotations": annotations });
            let host = json!({ "metadata": metadata, "spec": spec, "status": status });
            let said = HostSummary::of(&serde_json::from_value(host.clone()).unwrap(), &[]);
            assert_eq!((said.waiting_for.as_str(), said.is_settled), (waiting_for, rests), "{host}");
        }
        let host = |name: &str| json!({ "metadata": { "namespace": "site", "name": name } });
        let agents = [agent("Wait", Value::Null)];
        let said = |name: &str| HostSummary::of(&serde_json::from_value(host(name)).unwrap(), &agents).agent;
        assert_eq!((said("a").as_str(), said("b").as_str()), ("waiting", ""));
    }
}
