//! Computes whether the control plane as a whole is healthy and available. Pure functions.

use std::collections::BTreeMap;

use chrono::Duration;
use engine::conditions::{FALSE, TRUE, is_false, is_true, is_unknown, new};
use engine::{messages, object};
use machinery::clock::parse_rfc3339;
use schemas::HasConditions;
use schemas::cluster::Machine;
use schemas::controlplane::KubeadmControlPlane;
use schemas::meta::Condition;

use super::authorities;
use super::etcd_members;
use super::observed::{component_conditions, is_healthy, node_name};
use super::status::Inputs;
use crate::names::{CONTROL_PLANE_ROLE, condition};

/// The time for which a newly initialised control plane may fail to report etcd's members.
const NEW_CONTROL_PLANE: Duration = Duration::minutes(2);
/// The longest list of Machines in a message.
const NAMES: usize = 3;
/// A problem that lasts longer than this is reported even while the control plane is available.
const LASTING: Duration = Duration::seconds(10);

/// Returns the conditions `EtcdClusterHealthy` and `ControlPlaneComponentsHealthy`.
pub fn of_control_plane(inputs: &Inputs<'_>) -> Vec<Condition> {
    let control_plane = inputs.observed.control_plane.as_ref();
    let managed = inputs.observed.is_etcd_managed();
    let types: &[&str] = if managed {
        &[condition::ETCD_CLUSTER_HEALTHY, condition::COMPONENTS_HEALTHY]
    } else {
        &[condition::COMPONENTS_HEALTHY]
    };
    if object::is_deleting(control_plane) && inputs.machines.is_empty() {
        return Vec::new();
    }
    if let Some(blind) = inputs.blind {
        return types
            .iter()
            .filter_map(|type_| blind.condition(type_, control_plane.condition(type_)))
            .collect();
    }
    types
        .iter()
        .map(|type_| {
            if *type_ == condition::ETCD_CLUSTER_HEALTHY {
                aggregate(inputs.machines, type_, &[condition::ETCD_MEMBER], inputs.mismatch.errors.clone())
            } else {
                aggregate(inputs.machines, type_, &component_conditions(managed), stray_nodes(inputs))
            }
        })
        .collect()
}

/// Lists control plane Nodes without a Machine; empty while a Machine still waits for its Node.
fn stray_nodes(inputs: &Inputs<'_>) -> Vec<String> {
    let Some(view) = &inputs.observed.workload else { return Vec::new() };
    if etcd_members::is_provisioning(inputs.observed) || inputs.observed.is_mixed() {
        return Vec::new();
    }
    let known = |name: &str| inputs.machines.iter().any(|machine| node_name(machine) == Some(name));
    view.nodes
        .iter()
        .filter(|(name, node)| object::label(node.as_ref(), CONTROL_PLANE_ROLE).is_some() && !known(name))
        .map(|(name, _)| format!("Control plane Node {name} does not have a corresponding Machine"))
        .collect()
}

/// The contribution of one Machine to an aggregated condition.
enum Finding {
    Nothing,
    Well,
    Unknown(String),
    Wrong(String),
}

fn finding(machine: &Machine, types: &[&str]) -> Finding {
    let found: Vec<&Condition> = types.iter().filter_map(|type_| machine.condition(type_)).collect();
    if found.is_empty() {
        return Finding::Nothing;
    }
    // The components of a Machine without a provider ID do not exist yet, so unknown conditions are expected.
    let begins = machine.spec.provider_id.as_deref().is_none_or(str::is_empty);
    let is_wrong = |condition: &Condition| condition.status == FALSE;
    let is_unknown = |condition: &Condition| condition.status != FALSE && condition.status != TRUE && !begins;
    let bad: Vec<&&Condition> = found.iter().filter(|found| is_wrong(found) || is_unknown(found)).collect();
    if bad.is_empty() {
        return Finding::Well;
    }
    let same = found.len() > 1 && found.iter().all(|condition| condition.message == found[0].message);
    let lines = if same {
        format!("  * Control plane components: {}", found[0].message)
    } else {
        let line = |condition: &&&Condition| format!("  * {}: {}", condition.type_, condition.message);
        bad.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    if bad.iter().any(|condition| is_wrong(condition)) {
        Finding::Wrong(lines)
    } else {
        Finding::Unknown(lines)
    }
}

fn aggregate(machines: &[Machine], target: &str, types: &[&str], errors: Vec<String>) -> Condition {
    let mut texts: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let (mut wrong, mut unknown, mut well) = (!errors.is_empty(), false, false);
    for machine in machines {
        let name = machine.metadata.name.as_deref().unwrap_or_default();
        match finding(machine, types) {
            Finding::Nothing => {}
            Finding::Well => well = true,
            Finding::Unknown(text) => {
                unknown = true;
                texts.entry(text).or_default().push(name);
            }
            Finding::Wrong(text) => {
                wrong = true;
                texts.entry(text).or_default().push(name);
            }
        }
    }
    let mut groups: Vec<(String, Vec<&str>)> = texts.into_iter().collect();
    groups.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| a.1.cmp(&b.1)));
    let mut lines: Vec<String> = groups
        .iter()
        .map(|(text, names)| {
            let noun = if names.len() == 1 { "Machine" } else { "Machines" };
            format!("* {noun} {}:\n{text}", messages::names(names, NAMES))
        })
        .collect();
    lines.extend(errors.iter().map(|error| format!("* {error}")));
    let text = lines.join("\n");
    match (wrong, unknown, well) {
        (true, _, _) => is_false(target, "NotHealthy", text),
        (_, true, _) => is_unknown(target, "HealthUnknown", text),
        (_, _, true) => is_true(target, "Healthy"),
        _ => is_unknown(target, "HealthUnknown", "No Machines reporting status"),
    }
}

/// Returns the `Available` condition.
pub fn available(control_plane: &KubeadmControlPlane, inputs: &Inputs<'_>) -> Condition {
    let type_ = condition::AVAILABLE;
    let observed = inputs.observed;
    if !observed.is_initialized() {
        return is_false(type_, "NotAvailable", "Control plane not yet initialized");
    }
    let managed = observed.is_etcd_managed();
    let unknown = managed && observed.etcd().is_none();
    if unknown && !object::is_deleting(control_plane) {
        let since = control_plane.condition(condition::INITIALIZED);
        let since = since.and_then(|since| parse_rfc3339(&since.last_transition_time));
        return if since.is_some_and(|since| inputs.now - since < NEW_CONTROL_PLANE) {
            is_false(type_, "NotAvailable", "Waiting for etcd to report the list of members")
        } else {
            is_unknown(type_, "InspectionFailed", "Failed to get etcd members")
        };
    }
    if managed && !unknown && inputs.mismatch.matters {
        let text = "The list of etcd members does not match the list of Machines and Nodes";
        return is_false(type_, "NotAvailable", text);
    }
    judged(control_plane, inputs, managed && !unknown)
}

fn judged(control_plane: &KubeadmControlPlane, inputs: &Inputs<'_>, with_etcd: bool) -> Condition {
    let type_ = condition::AVAILABLE;
    let managed = inputs.observed.is_etcd_managed();
    let total = inputs.machines.len();
    let healthy = inputs.machines.iter().filter(|machine| is_healthy(machine, managed)).count();
    let lasting = inputs.machines.iter().any(|machine| is_lastingly_unwell(machine, inputs));
    let (mut wrong, mut notes) = (Vec::new(), Vec::new());
    if object::is_deleting(control_plane) {
        wrong.push("* Control plane metadata.deletionTimestamp is set".to_owned());
    }
    if !authorities::certificates_complete(inputs.observed) {
        wrong.push("* Control plane certificates are not available".to_owned());
    }
    if is_doomed(control_plane, inputs.machines) {
        wrong.push(
            "* All Machines are being deleted, and each waits for another one to take over its etcd data: save what the workload cluster must \
             keep, then delete the Cluster"
                .to_owned(),
        );
    }
    if with_etcd && let Some(etcd) = inputs.observed.etcd() {
        let (well, voting, needed) = etcd_members::quorum(etcd, inputs.machines);
        let verb = if well == 1 { "is" } else { "are" };
        let text = format!(
            "* {well} of {voting} etcd members {verb} healthy, at least {needed} healthy member required for etcd quorum"
        );
        if well < needed {
            wrong.push(text);
        } else if well < voting && lasting {
            notes.push(text);
        }
    }
    if healthy == 0 {
        wrong.push(
            "* There are no Machines with healthy control plane components, at least 1 required".to_owned(),
        );
    } else if healthy < total && lasting {
        notes.push(format!(
            "* {healthy} of {total} Machines have healthy control plane components, at least 1 required"
        ));
    }
    if wrong.is_empty() {
        return new(type_, TRUE, "Available", notes.join("\n"));
    }
    is_false(type_, "NotAvailable", wrong.join("\n"))
}

/// Returns whether all Machines are being deleted although the control plane is not. New Machines could only join those that go.
fn is_doomed(control_plane: &KubeadmControlPlane, machines: &[Machine]) -> bool {
    !object::is_deleting(control_plane) && machines.len() > 1 && machines.iter().all(object::is_deleting)
}

/// Returns whether a Machine with a provider ID is unhealthy for longer than [`LASTING`].
fn is_lastingly_unwell(machine: &Machine, inputs: &Inputs<'_>) -> bool {
    if machine.spec.provider_id.as_deref().is_none_or(str::is_empty) {
        return false;
    }
    let mut types = component_conditions(inputs.observed.is_etcd_managed());
    types.push(condition::ETCD_MEMBER);
    types.iter().any(|type_| {
        let found = machine.condition(type_).filter(|found| found.status != TRUE);
        let since = found.and_then(|found| parse_rfc3339(&found.last_transition_time));
        since.is_some_and(|since| inputs.now - since > LASTING)
    })
}
