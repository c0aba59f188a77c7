//! Entries of bare metal: each host with its stage, how far its agent is, and what it waits for. Pure.

use machinery::clock::parse_rfc3339;
use serde_json::Value;

use super::model::{Entry, Objects, State};

/// States in which a host rests as it should.
const RESTING: &[&str] = &["available", "ready", "provisioned", "externally provisioned"];

/// All hosts, and the machines that wait for an operator's approval, by namespace and name.
pub fn entries(objects: &Objects) -> Vec<Entry> {
    let mut hosts: Vec<&Value> = objects.hosts.iter().collect();
    hosts.sort_by_key(|host| (text(host, "/metadata/namespace"), text(host, "/metadata/name")));
    let mut unknown: Vec<&Value> =
        objects.agents.iter().filter(|agent| agent.pointer("/spec/hostRef/name").is_none()).collect();
    unknown.sort_by_key(|agent| text(agent, "/metadata/name"));
    let known = hosts.into_iter().map(|host| host_entry(host, agent_of(host, objects)));
    known.chain(unknown.into_iter().map(unknown_entry)).collect()
}

/// A text below `pointer`, empty where there is none.
fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn agent_of<'a>(host: &Value, objects: &'a Objects) -> Option<&'a Value> {
    objects.agents.iter().find(|agent| {
        text(agent, "/spec/hostRef/namespace") == text(host, "/metadata/namespace")
            && text(agent, "/spec/hostRef/name") == text(host, "/metadata/name")
    })
}

fn host_entry(host: &Value, agent: Option<&Value>) -> Entry {
    let stage = text(host, "/status/provisioning/state");
    let has_failed = text(host, "/status/operationalStatus") == "error";
    let rests = RESTING.contains(&stage) && !has_failed;
    let state = match (host.pointer("/metadata/deletionTimestamp"), rests && asked(host).is_none()) {
        (Some(_), _) => State::Deleting,
        (None, true) => State::Good,
        (None, false) => State::Waiting,
    };
    let power = if host.pointer("/status/poweredOn") == Some(&Value::Bool(true)) { "on" } else { "off" };
    let stage = if stage.is_empty() { "new" } else { stage };
    let key = format!("BareMetalHost {}/{}", text(host, "/metadata/namespace"), text(host, "/metadata/name"));
    Entry {
        depth: 0,
        label: key.clone(),
        key,
        state,
        summary: format!("{stage}, power {power}"),
        waiting_for: if state == State::Good { String::new() } else { reason(host, agent, has_failed) },
        since: parse_rfc3339(begun(host)),
    }
}

/// What a person has to do.
fn asked(host: &Value) -> Option<&str> {
    let conditions = host.pointer("/status/conditions")?.as_array()?;
    let asked = conditions.iter().find(|known| known["type"] == metal::names::WAITING_FOR_OPERATOR)?;
    (asked["status"] == "True").then(|| text(asked, "/message"))
}

fn reason(host: &Value, agent: Option<&Value>, has_failed: bool) -> String {
    if has_failed {
        return text(host, "/status/errorMessage").to_owned();
    }
    if let Some(message) = asked(host) {
        return message.to_owned();
    }
    let is_booting =
        host.pointer("/metadata/annotations").is_some_and(|all| all.get(metal::names::BOOTING).is_some());
    match agent {
        _ if is_booting => "its start over the network".to_owned(),
        Some(agent) if agent.pointer("/status/instruction/id").is_some() => progress(agent),
        _ => "its next step".to_owned(),
    }
}

/// `writing the image, 45 %`.
fn progress(agent: &Value) -> String {
    let number = |pointer: &str| agent.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
    let (done, total) = (number("/status/instruction/bytesDone"), number("/status/instruction/bytesTotal"));
    let message = text(agent, "/status/instruction/message");
    let message = if message.is_empty() { text(agent, "/spec/instruction/action") } else { message };
    match (done.saturating_mul(100)).checked_div(total) {
        Some(percent) => format!("{message}, {percent} %"),
        None if done > 0 => format!("{message}, {} MiB", done >> 20),
        None => message.to_owned(),
    }
}

/// When the newest operation began.
fn begun(host: &Value) -> &str {
    let history = ["register", "inspect", "provision", "deprovision"];
    let starts =
        history.iter().map(|operation| text(host, &format!("/status/operationHistory/{operation}/start")));
    starts
        .max()
        .filter(|start| !start.is_empty())
        .unwrap_or_else(|| text(host, "/metadata/creationTimestamp"))
}

fn unknown_entry(agent: &Value) -> Entry {
    let name = text(agent, "/metadata/name");
    Entry {
        depth: 0,
        key: format!("Agent {name}"),
        label: format!("Agent {name}"),
        state: State::Waiting,
        summary: format!("unknown machine at {}", text(agent, "/status/address")),
        waiting_for: format!("approval: firstlight metal approve {name}"),
        since: parse_rfc3339(text(agent, "/metadata/creationTimestamp")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn host(state: &str, status: Value) -> Value {
        let mut host =
            json!({"metadata": {"namespace": "metal", "name": "a", "annotations": {}}, "status": status});
        host["status"]["provisioning"]["state"] = state.into();
        host
    }

    #[test]
    fn each_host_says_what_it_waits_for() {
        let agent = json!({
            "spec": {"hostRef": {"namespace": "metal", "name": "a"}, "instruction": {"action": "Deploy"}},
            "status": {"instruction": {"id": "deploy/1", "message": "writing the image", "bytesDone": 45, "bytesTotal": 100}},
        });
        let operator = json!({"conditions": [{"type": "WaitingForOperator", "status": "True", "message": "switch on a"}]});
        let cases = [
            (host("provisioned", json!({"poweredOn": true})), State::Good, "provisioned, power on", ""),
            (
                host("provisioning", json!({})),
                State::Waiting,
                "provisioning, power off",
                "writing the image, 45 %",
            ),
            (host("inspecting", operator), State::Waiting, "inspecting, power off", "switch on a"),
            (
                host("available", json!({"operationalStatus": "error", "errorMessage": "no answer"})),
                State::Waiting,
                "available, power off",
                "no answer",
            ),
        ];
        for (host, state, summary, waiting_for) in cases {
            let objects = Objects { hosts: vec![host], agents: vec![agent.clone()], ..Objects::default() };
            let found = entries(&objects);
            assert_eq!(found.len(), 1);
            let found = (found[0].state, found[0].summary.as_str(), found[0].waiting_for.as_str());
            assert_eq!(found, (state, summary, waiting_for));
        }
    }

    #[test]
    fn unknown_machines_wait_for_approval() {
        let agent = json!({"metadata": {"name": "52-54-00-00-00-01"}, "status": {"address": "10.0.0.9"}});
        let found = entries(&Objects { agents: vec![agent], ..Objects::default() });
        assert_eq!(found[0].waiting_for, "approval: firstlight metal approve 52-54-00-00-00-01");
    }
}
