//! The conditions of a Cluster.

use std::time::Duration;

use chrono::{DateTime, Utc};
use engine::conditions::{
    self, FALSE, Fallback, Priority, Reasons, Summary, TRUE, UNKNOWN, is_false, is_true, is_unknown, word,
};
use engine::initialization::{has_control_plane, has_infrastructure};
use engine::object::is_deleting;
use engine::{ExternalObject, deletion_grace};
use machinery::clock::rfc3339;
use schemas::HasConditions;
use schemas::cluster::{Cluster, ConditionGate};
use schemas::meta::{Condition, ContractVersionedObjectReference};

use super::deletion::Stage;
use super::observed::Observed;
use super::progress::endpoint_problem;
use super::sums;
use crate::change::Reference;
use crate::contract::{self, Field};

/// The connection may be down this long before `RemoteConnectionProbe` becomes false.
const CONNECTION_GRACE: Duration = Duration::from_secs(50);
/// A connection that was never made counts as failed after this many attempts.
const NEVER_CONNECTED_FAILURES: u32 = 5;

/// Sets all conditions of `cluster`. `was_initialized` is whether `ControlPlaneInitialized` was already true.
pub fn set(cluster: &mut Cluster, observed: &Observed, stage: &Stage, was_initialized: bool) {
    let now = observed.now;
    let mut all = vec![infrastructure_ready(cluster, observed), control_plane_available(cluster, observed)];
    if !was_initialized {
        all.push(control_plane_initialized(cluster, observed));
    }
    all.extend(remote_connection(cluster, observed));
    all.extend(sums::all(observed));
    all.push(deleting(stage));
    for condition in all {
        conditions::set(cluster, now, condition);
    }
    let available = available(cluster, &gates(cluster, observed));
    conditions::set(cluster, now, available);
}

/// The inputs of a condition that mirrors a provider's condition.
struct Provider<'a> {
    target: &'static str,
    source: &'static str,
    reference: &'a Reference,
    spec: Option<&'a ContractVersionedObjectReference>,
    is_deleting: bool,
    /// Whether the infrastructure was provisioned, or the control plane initialized, at any time.
    reached: bool,
    fallback: (&'static str, bool),
    reasons: (&'static str, &'static str),
    /// The fields of the contract.
    fields: &'static [Field],
    /// The endpoint of the Cluster never changes, although the object may report another one.
    endpoint_problem: Option<String>,
}

impl Provider<'_> {
    fn condition(&self, has_topology: bool) -> Condition {
        let kind = self.spec.map_or("", |reference| reference.kind.as_str());
        match self.reference {
            Reference::None if has_topology => {
                is_false(self.target, "ObjectDoesNotExist", waits_for_topology(self.is_deleting))
            }
            Reference::None => is_unknown(self.target, "InternalError", engine::messages::INTERNAL_ERROR),
            Reference::Failed(error) => is_unknown(self.target, "InternalError", error),
            Reference::NotFound if self.reached => {
                is_false(self.target, "ObjectDeleted", format!("{kind} has been deleted"))
            }
            Reference::NotFound => {
                is_false(self.target, "ObjectDoesNotExist", format!("{kind} does not exist"))
            }
            Reference::Found(object) => self.mirror(kind, object),
        }
    }

    fn mirror(&self, kind: &str, object: &ExternalObject) -> Condition {
        let (path, value) = self.fallback;
        let (good, bad) = self.reasons;
        let source = match conditions::read(&object.object.data, self.source) {
            Ok(source) => source,
            Err(error) => return is_unknown(self.target, "InvalidConditionReported", error),
        };
        let fallback = Fallback {
            status: word(value),
            reason: if value { good } else { bad },
            message: if value { String::new() } else { format!("{kind} {path} is {value}") },
        };
        let mut condition = conditions::mirror(self.target, self.source, source.as_ref(), Some(fallback));
        if condition.status == TRUE && condition.reason == "NoReasonReported" {
            condition.reason = good.to_owned();
        }
        contract::add_lines(&mut condition.message, &contract::problems(object, self.fields));
        contract::add_lines(&mut condition.message, self.endpoint_problem.as_slice());
        condition
    }
}

/// Returns the message for a missing reference in a Cluster with a topology. When the Cluster is deleted, nothing waits for it any more.
fn waits_for_topology(is_deleting: bool) -> &'static str {
    if is_deleting { "" } else { "Waiting for cluster topology to be reconciled" }
}

fn infrastructure_ready(cluster: &Cluster, observed: &Observed) -> Condition {
    let (provisioned, found) = (has_infrastructure(cluster), observed.infrastructure.found());
    Provider {
        target: "InfrastructureReady",
        source: "Ready",
        reference: &observed.infrastructure,
        spec: cluster.spec.infrastructure_ref.as_ref(),
        is_deleting: is_deleting(cluster),
        reached: provisioned,
        fallback: ("status.initialization.provisioned", provisioned),
        reasons: ("Ready", "NotReady"),
        fields: contract::CLUSTER,
        endpoint_problem: found.and_then(|object| endpoint_problem(cluster, object, provisioned)),
    }
    .condition(cluster.spec.topology.is_some())
}

fn control_plane_available(cluster: &Cluster, observed: &Observed) -> Condition {
    let (initialized, found) = (has_control_plane(cluster), observed.control_plane.found());
    Provider {
        target: "ControlPlaneAvailable",
        source: "Available",
        reference: &observed.control_plane,
        spec: cluster.spec.control_plane_ref.as_ref(),
        is_deleting: is_deleting(cluster),
        reached: initialized,
        fallback: ("status.initialization.controlPlaneInitialized", initialized),
        reasons: ("Available", "NotAvailable"),
        fields: contract::CONTROL_PLANE,
        endpoint_problem: found.and_then(|object| endpoint_problem(cluster, object, initialized)),
    }
    .condition(cluster.spec.topology.is_some())
}

fn control_plane_initialized(cluster: &Cluster, observed: &Observed) -> Condition {
    const TYPE: &str = "ControlPlaneInitialized";
    match &observed.control_plane {
        Reference::None if cluster.spec.topology.is_some() => {
            is_unknown(TYPE, "ObjectDoesNotExist", waits_for_topology(is_deleting(cluster)))
        }
        Reference::NotFound if matches!(observed.infrastructure, Reference::NotFound) => {
            let kind =
                cluster.spec.control_plane_ref.as_ref().map_or("", |reference| reference.kind.as_str());
            is_unknown(TYPE, "ObjectDoesNotExist", format!("{kind} does not exist"))
        }
        Reference::NotFound | Reference::Failed(_) => {
            is_unknown(TYPE, "InternalError", engine::messages::INTERNAL_ERROR)
        }
        Reference::Found(_) if has_control_plane(cluster) => is_true(TYPE, "Initialized"),
        Reference::Found(_) => is_false(TYPE, "NotInitialized", "Control plane not yet initialized"),
        Reference::None if has_control_plane(cluster) => is_true(TYPE, "Initialized"),
        Reference::None => is_false(
            TYPE,
            "NotInitialized",
            "Waiting for the first control plane machine to have status.nodeRef set",
        ),
    }
}

fn remote_connection(cluster: &Cluster, observed: &Observed) -> Option<Condition> {
    const TYPE: &str = "RemoteConnectionProbe";
    let failed = |mut message: String| {
        let line = observed.connection_problem.as_ref().map(|problem| format!("* {problem}"));
        contract::add_lines(&mut message, line.as_slice());
        Some(is_false(TYPE, "ProbeFailed", message))
    };
    match observed.health.last_success {
        // The last process was connected; this one has not tried often enough to know better.
        None if cluster.condition_is_true(TYPE) && observed.health.failures < NEVER_CONNECTED_FAILURES => {
            None
        }
        None => failed("Remote connection not established yet".to_owned()),
        Some(at) if is_stale(at, observed.now) => {
            failed(format!("Remote connection probe failed, probe last succeeded at {}", rfc3339(at)))
        }
        Some(_) => Some(is_true(TYPE, "ProbeSucceeded")),
    }
}

fn is_stale(at: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    (now - at).to_std().is_ok_and(|age| age > CONNECTION_GRACE)
}

/// Returns when to reconcile again while probes fail, since no event reports the end of the grace period.
pub fn requeue(observed: &Observed) -> Option<Duration> {
    let at = observed.health.last_success.filter(|_| observed.health.failures > 0)?;
    let age = (observed.now - at).to_std().ok()?;
    CONNECTION_GRACE.checked_sub(age).map(|left| left + Duration::from_millis(1))
}

fn deleting(stage: &Stage) -> Condition {
    match stage {
        Stage::NotDeleting => is_false("Deleting", "NotDeleting", ""),
        Stage::GracePeriodEnds(message) => {
            conditions::new("Deleting", TRUE, deletion_grace::REASON, message.clone())
        }
        Stage::Waiting(reason, message) => conditions::new("Deleting", TRUE, reason, message.clone()),
        Stage::Completed => conditions::new("Deleting", TRUE, "DeletionCompleted", "Deletion completed"),
    }
}

/// Returns the availability gates of the Cluster, or those of its class if it names none.
fn gates(cluster: &Cluster, observed: &Observed) -> Vec<ConditionGate> {
    let own = &cluster.spec.availability_gates;
    let of_class = observed.class.as_ref().filter(|_| own.is_empty());
    of_class.map_or(own, |class| &class.spec.availability_gates).clone()
}

/// Returns the `Available` condition, the summary of the others.
fn available(cluster: &Cluster, gates: &[ConditionGate]) -> Condition {
    let mut types = vec![
        "Deleting",
        "RemoteConnectionProbe",
        "InfrastructureReady",
        "ControlPlaneAvailable",
        "WorkersAvailable",
        "TopologyReconciled",
    ];
    types.extend(gates.iter().map(|gate| gate.condition_type.as_str()));
    let mut negative = vec!["Deleting"];
    let is_negative = |polarity: &Option<String>| polarity.as_deref() == Some("Negative");
    negative.extend(
        gates.iter().filter(|gate| is_negative(&gate.polarity)).map(|gate| gate.condition_type.as_str()),
    );
    let ignore_if_missing = if cluster.spec.topology.is_none() { vec!["TopologyReconciled"] } else { vec![] };
    let reasons = Reasons { issue: "NotAvailable", unknown: "AvailableUnknown", info: "Available" };
    let summary = Summary { types, negative, ignore_if_missing, reasons };
    conditions::summarize("Available", cluster.conditions(), &summary, |condition| {
        priority(condition, is_deleting(cluster))
    })
}

/// Returns the priority of a condition whose status alone would be misleading; `None` leaves it to the
/// polarity.
fn priority(condition: &Condition, is_deleting: bool) -> Option<Priority> {
    let reason = condition.reason.as_str();
    match condition.type_.as_str() {
        "TopologyReconciled" if condition.status == FALSE => {
            let issue = matches!(reason, "ReconcileFailed" | "ClusterClassNotReconciled");
            Some(if issue { Priority::Issue } else { Priority::Info })
        }
        "InfrastructureReady" | "ControlPlaneAvailable" if is_deleting && condition.status != UNKNOWN => {
            matches!(reason, "ObjectDeleted" | "ObjectDoesNotExist").then_some(Priority::Info)
        }
        _ => None,
    }
}
