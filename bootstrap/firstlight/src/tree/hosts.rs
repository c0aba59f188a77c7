//! The tree's entries for bare metal: each host with its state, its agent's progress, and the reason for which it waits. Pure.

use chrono::{DateTime, Utc};
use engine::time::utc;
use kube::ResourceExt;
use machinery::clock::parse_rfc3339;
use metal::summary::HostSummary;
use schemas::metal3::BareMetalHost;
use schemas::netboot::Agent;

use super::model::{Entry, Objects, State};

/// Returns all hosts, and the machines that wait for approval, sorted by namespace and name.
pub fn entries(objects: &Objects) -> Vec<Entry> {
    let mut hosts: Vec<&BareMetalHost> = objects.hosts.iter().collect();
    hosts.sort_by_key(|host| (host.namespace(), host.name_any()));
    let mut unknown: Vec<&Agent> =
        objects.agents.iter().filter(|agent| agent.spec.host_ref.is_none()).collect();
    unknown.sort_by_key(|agent| agent.name_any());
    let known = hosts.into_iter().map(|host| host_entry(host, &objects.agents));
    known.chain(unknown.into_iter().map(unknown_entry)).collect()
}

fn host_entry(host: &BareMetalHost, agents: &[Agent]) -> Entry {
    let HostSummary { stage, power, agent, is_busy, waiting_for, is_settled } = HostSummary::of(host, agents);
    let state = match (&host.metadata.deletion_timestamp, is_settled) {
        (Some(_), _) => State::Deleting,
        (None, true) => State::Good,
        (None, false) => State::Waiting,
    };
    let causes = match (state, waiting_for.is_empty()) {
        (State::Good, _) => Vec::new(),
        (_, false) => vec![waiting_for],
        (_, true) if is_busy => vec![agent],
        (_, true) => vec!["its next step".to_owned()],
    };
    let key = format!("BareMetalHost {}/{}", host.namespace().unwrap_or_default(), host.name_any());
    Entry {
        depth: 0,
        label: key.clone(),
        key,
        state,
        summary: if power.is_empty() { stage } else { format!("{stage}, power {power}") },
        causes,
        since: begun(host),
        starts: None,
    }
}

/// Returns the start time of the latest operation, or else the creation time of the host.
fn begun(host: &BareMetalHost) -> Option<DateTime<Utc>> {
    let history = host.status.as_ref().and_then(|status| status.operation_history.as_ref());
    let operations = history
        .map(|history| [&history.register, &history.inspect, &history.provision, &history.deprovision]);
    let starts =
        operations.into_iter().flatten().flatten().filter_map(|operation| operation.start.as_deref());
    starts.filter_map(parse_rfc3339).max().or_else(|| host.metadata.creation_timestamp.as_ref().map(utc))
}

fn unknown_entry(agent: &Agent) -> Entry {
    let name = agent.name_any();
    let address = agent.status.as_ref().and_then(|status| status.address.as_deref()).unwrap_or_default();
    Entry {
        depth: 0,
        key: format!("Agent {name}"),
        label: format!("Agent {name}"),
        state: State::Waiting,
        summary: format!("unknown machine at {address}"),
        causes: vec![format!("approval: firstlight metal approve {name}")],
        since: agent.metadata.creation_timestamp.as_ref().map(utc),
        starts: None,
    }
}
