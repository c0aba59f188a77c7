//! The health of one Machine, by the checks of a MachineHealthCheck.

use chrono::{DateTime, Duration, Utc};
use engine::conditions::{self, TRUE};
use engine::names::{CONTROL_PLANE, REMEDIATE_MACHINE};
use engine::object::{annotation, is_deleting, label};
use engine::time::{go_duration, utc};
use k8s_openapi::api::core::v1::Node;
use machinery::clock::parse_rfc3339;
use schemas::HasConditions;
use schemas::cluster::{Cluster, HealthChecks, Machine};
use schemas::defaults::NODE_STARTUP_TIMEOUT_SECONDS;

use super::observed::MachineNode;

/// The health of a Machine.
#[derive(Debug, PartialEq, Eq)]
pub enum Health {
    /// No check fails.
    Healthy,
    /// A check fails; holds reason and message of the condition `HealthCheckSucceeded`.
    Unhealthy(&'static str, String),
    /// No check fails, but one does after this time unless something changes. Such a Machine does not count as healthy.
    Failing(DateTime<Utc>),
    /// The Machine has no Node yet or is being deleted. It does not count as healthy.
    Unknown,
}

/// Applies the checks to a Machine and its Node.
pub fn of(
    checks: &HealthChecks,
    cluster: &Cluster,
    machine: &Machine,
    node: &MachineNode,
    now: DateTime<Utc>,
) -> Health {
    if annotation(machine, REMEDIATE_MACHINE).is_some() {
        let message =
            format!("Health check failed: marked for remediation via {REMEDIATE_MACHINE} annotation");
        return Health::Unhealthy("HasRemediateAnnotation", message);
    }
    if !is_evaluated(cluster, machine) {
        return without_failure(machine, node);
    }
    let mut of_machine = Limits::new(now);
    machine_conditions(&mut of_machine, checks, machine);
    let mut of_node = Limits::new(now);
    let reason = match node {
        MachineNode::Found(node) => {
            node_conditions(&mut of_node, checks, node);
            "UnhealthyNode"
        }
        MachineNode::Deleted(name) => {
            of_node.failures.push(format!("Node {name} has been deleted"));
            "NodeDeleted"
        }
        MachineNode::None => {
            if of_machine.failures.is_empty() {
                startup(&mut of_node, checks, cluster, machine);
            }
            "NodeStartupTimeout"
        }
    };
    let reason = if of_machine.failures.is_empty() { reason } else { "UnhealthyMachine" };
    let mut failures = of_node.failures;
    failures.append(&mut of_machine.failures);
    if !failures.is_empty() {
        let lines: String = failures.iter().map(|failure| format!("\n  * {failure}")).collect();
        return Health::Unhealthy(reason, format!("Health check failed:{lines}"));
    }
    let next = of_node.next.into_iter().chain(of_machine.next).min();
    next.map_or_else(|| without_failure(machine, node), Health::Failing)
}

fn without_failure(machine: &Machine, node: &MachineNode) -> Health {
    let has_node = matches!(node, MachineNode::Found(_));
    if has_node && !is_deleting(machine) { Health::Healthy } else { Health::Unknown }
}

/// Returns whether the checks apply. While a cluster comes up, its Machines are not to blame; but its first control plane Machine can be.
fn is_evaluated(cluster: &Cluster, machine: &Machine) -> bool {
    let has_control_plane =
        cluster.condition_is_true("ControlPlaneInitialized") || label(machine, CONTROL_PLANE).is_some();
    has_control_plane && cluster.condition_is_true("InfrastructureReady")
}

/// The states that last too long, and the earliest time at which another one does.
struct Limits {
    now: DateTime<Utc>,
    failures: Vec<String>,
    next: Option<DateTime<Utc>>,
}

impl Limits {
    fn new(now: DateTime<Utc>) -> Self {
        Self { now, failures: Vec::new(), next: None }
    }

    /// Notes a state that may last for `seconds`. `failure` says what is wrong if it lasts longer.
    fn note(&mut self, since: DateTime<Utc>, seconds: i32, failure: impl FnOnce() -> String) {
        let end = since + Duration::seconds(i64::from(seconds));
        if end < self.now {
            self.failures.push(failure());
        } else {
            self.next = Some(self.next.map_or(end, |next| next.min(end)));
        }
    }
}

fn machine_conditions(limits: &mut Limits, checks: &HealthChecks, machine: &Machine) {
    for check in &checks.unhealthy_machine_conditions {
        let found = machine.condition(&check.type_).filter(|found| found.status == check.status);
        let Some(found) = found else { continue };
        let since = parse_rfc3339(&found.last_transition_time).unwrap_or(limits.now);
        limits.note(since, check.timeout_seconds, || {
            failed(&check.type_, "Machine", &check.status, &found.reason, check.timeout_seconds)
        });
    }
}

fn node_conditions(limits: &mut Limits, checks: &HealthChecks, node: &Node) {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    for check in &checks.unhealthy_node_conditions {
        let found = conditions.iter().find(|condition| condition.type_ == check.type_);
        let Some(found) = found.filter(|found| found.status == check.status) else { continue };
        let since = found.last_transition_time.as_ref().map_or(limits.now, utc);
        let reason = found.reason.as_deref().unwrap_or_default();
        limits.note(since, check.timeout_seconds, || {
            failed(&check.type_, "Node", &check.status, reason, check.timeout_seconds)
        });
    }
}

fn failed(type_: &str, of: &str, status: &str, reason: &str, seconds: i32) -> String {
    let reason = if reason.is_empty() { String::new() } else { format!(" with reason {reason}") };
    let limit = go_duration(i64::from(seconds));
    format!("Condition {type_} on {of} is reporting status {status}{reason} for more than {limit}")
}

/// Checks the time that the Node takes to start. It counts from the time when everything was there that the Node needs.
fn startup(limits: &mut Limits, checks: &HealthChecks, cluster: &Cluster, machine: &Machine) {
    let seconds = checks.node_startup_timeout_seconds.unwrap_or(NODE_STARTUP_TIMEOUT_SECONDS);
    if seconds == 0 {
        return;
    }
    let created = machine.metadata.creation_timestamp.as_ref().map(utc);
    let since = created
        .into_iter()
        .chain(true_since(cluster, "ControlPlaneInitialized"))
        .chain(true_since(cluster, "InfrastructureReady"))
        .chain(true_since(machine, "InfrastructureReady"))
        .max();
    limits.note(since.unwrap_or(limits.now), seconds, || {
        format!("Node failed to report startup in {}", go_duration(i64::from(seconds)))
    });
}

fn true_since<K: HasConditions>(object: &K, type_: &str) -> Option<DateTime<Utc>> {
    let condition =
        conditions::find(object.conditions(), type_).filter(|condition| condition.status == TRUE)?;
    parse_rfc3339(&condition.last_transition_time)
}
