//! The conditions of a control plane Machine: its Node, its static Pods, its etcd member. Pure functions.

use chrono::{DateTime, Duration, Utc};
use engine::conditions::{is_false, is_true, is_unknown};
use engine::etcd::AlarmType;
use k8s_openapi::api::core::v1::{ContainerStatus, Node, Pod};
use machinery::clock::rfc3339;
use schemas::HasConditions;
use schemas::meta::Condition;

use super::observed::{ControlPlaneMachine, Observed, View};
use crate::etcd::Etcd;
use crate::names::{CONTROL_PLANE_ROLE, condition};

/// The time for which the connection may be down before the conditions become `Unknown`.
const GRACE: Duration = Duration::minutes(5);

const DELETING: &str = "Machine is deleting";

/// The static Pods and the condition of each.
const PODS: &[(&str, &str)] = &[
    ("kube-apiserver", condition::API_SERVER_POD),
    ("kube-controller-manager", condition::CONTROLLER_MANAGER_POD),
    ("kube-scheduler", condition::SCHEDULER_POD),
];

/// Returns why the state of the Machines cannot be read; `None` if the workload cluster is connected.
pub fn blind(observed: &Observed, now: DateTime<Utc>) -> Option<Blind> {
    if !engine::initialization::has_infrastructure(&observed.cluster) {
        return Some(Blind::Inspection("Waiting for Cluster status.infrastructureReady to be true"));
    }
    if !observed.is_initialized() {
        return Some(Blind::Inspection("Waiting for Cluster control plane to be initialized"));
    }
    if observed.workload.is_some() {
        return None;
    }
    match observed.health.last_success {
        Some(at) if now - at < GRACE => Some(Blind::Keep),
        Some(at) => Some(Blind::Connection(format!("Last successful probe at {}", rfc3339(at)), true)),
        None => Some(Blind::Connection("Remote connection not established yet".to_owned(), false)),
    }
}

/// The reason why the state of the Machines cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blind {
    /// The cluster is not ready to be inspected; holds the condition's message.
    Inspection(&'static str),
    /// The connection is down; the flag says whether that replaces present conditions.
    Connection(String, bool),
    /// The connection is down, but not for long, so present conditions are kept.
    Keep,
}

impl Blind {
    /// Returns the condition of this type, or `None` to keep the present one.
    pub fn condition(&self, type_: &str, present: Option<&Condition>) -> Option<Condition> {
        match self {
            Self::Inspection(message) => Some(is_unknown(type_, "InspectionFailed", *message)),
            Self::Connection(message, overrides) => (*overrides || present.is_none())
                .then(|| is_unknown(type_, "ConnectionDown", message.clone())),
            Self::Keep => None,
        }
    }
}

/// Returns the conditions of one Machine.
pub fn of_machine(
    observed: &Observed,
    member: &ControlPlaneMachine,
    blind: Option<&Blind>,
) -> Vec<Condition> {
    let managed = observed.is_etcd_managed();
    let mut types = vec![condition::NODE_LABELS_AND_TAINTS_SET];
    types.extend(super::observed::component_conditions(managed));
    if managed {
        types.push(condition::ETCD_MEMBER);
    }
    let all =
        |make: &dyn Fn(&str) -> Option<Condition>| types.iter().filter_map(|type_| make(type_)).collect();
    if let Some(blind) = blind {
        return all(&|type_| blind.condition(type_, member.machine.condition(type_)));
    }
    let Some(view) = &observed.workload else { return Vec::new() };
    if member.machine.spec.provider_id.as_deref().is_none_or(str::is_empty) {
        let kind = &member.machine.spec.infrastructure_ref.kind;
        let message = format!("Waiting for {kind} to report spec.providerID");
        return all(&|type_| Some(waiting(type_, member, &message)));
    }
    let Some(node) = member.node() else {
        let id = member.machine.spec.provider_id.as_deref().unwrap_or_default();
        let message = format!("Waiting for a Node with spec.providerID {id} to exist");
        return all(&|type_| Some(waiting(type_, member, &message)));
    };
    let mut conditions =
        vec![node_condition(observed, member, view.nodes.get(node).map(AsRef::as_ref), node)];
    for (component, type_) in PODS {
        conditions.push(pod_condition(member, view, node, component, type_));
    }
    if managed {
        conditions.push(pod_condition(member, view, node, "etcd", condition::ETCD_POD));
        conditions.extend(member_condition(observed, member, view, node));
    }
    conditions
}

fn waiting(type_: &str, member: &ControlPlaneMachine, message: &str) -> Condition {
    if member.is_deleting() {
        return is_false(type_, "Deleting", DELETING);
    }
    is_unknown(type_, "InspectionFailed", message)
}

fn node_condition(
    observed: &Observed,
    member: &ControlPlaneMachine,
    node: Option<&Node>,
    name: &str,
) -> Condition {
    let type_ = condition::NODE_LABELS_AND_TAINTS_SET;
    let Some(node) = node else {
        return waiting(type_, member, &format!("Node {name} does not exist"));
    };
    let labelled = engine::object::label(node, CONTROL_PLANE_ROLE).is_some();
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    let tainted = taints
        .into_iter()
        .flatten()
        .any(|taint| taint.key == CONTROL_PLANE_ROLE && taint.effect == "NoSchedule");
    let mut missing = Vec::new();
    if !labelled {
        missing.push(format!("label {CONTROL_PLANE_ROLE}"));
    }
    if !tainted && expects_taint(observed, member) {
        missing.push(format!("taint {CONTROL_PLANE_ROLE}:NoSchedule"));
    }
    if missing.is_empty() {
        return is_true(type_, "Set");
    }
    is_false(type_, "NotSet", format!("Node {name} does not have the {}", missing.join(" and the ")))
}

/// Returns whether kubeadm taints the node: the taints are unset, or contain the control plane taint.
fn expects_taint(observed: &Observed, member: &ControlPlaneMachine) -> bool {
    let spec = member.config.as_ref().map(|config| &config.spec);
    let spec = spec.or(observed.control_plane.spec.kubeadm_config_spec.as_ref());
    let Some(spec) = spec else { return true };
    let join = spec.join_configuration.as_ref().filter(|join| join.control_plane.is_some());
    let registration = match join {
        Some(join) => join.node_registration.as_ref(),
        None => spec.init_configuration.as_ref().and_then(|init| init.node_registration.as_ref()),
    };
    let taints = registration.and_then(|registration| registration.taints.as_ref());
    taints.is_none_or(|taints| {
        taints.iter().any(|taint| taint.key == CONTROL_PLANE_ROLE && taint.effect == "NoSchedule")
    })
}

/// Returns whether the Node's kubelet stopped reporting, so that the status of its Pods is outdated.
pub(super) fn is_unreachable(node: &Node) -> bool {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    let tainted = taints.into_iter().flatten().any(|taint| taint.key == "node.kubernetes.io/unreachable");
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    let ready = conditions.into_iter().flatten().find(|condition| condition.type_ == "Ready");
    tainted || ready.is_some_and(|ready| ready.status == "Unknown")
}

fn pod_condition(
    member: &ControlPlaneMachine,
    view: &View,
    node: &str,
    component: &str,
    type_: &str,
) -> Condition {
    if member.is_deleting() {
        return is_false(type_, "Deleting", DELETING);
    }
    match view.nodes.get(node) {
        None => return is_unknown(type_, "InspectionFailed", format!("Node {node} does not exist")),
        Some(found) if is_unreachable(found) => {
            return is_unknown(type_, "InspectionFailed", format!("Node {node} is unreachable"));
        }
        Some(_) => {}
    }
    match view.pods.get(&format!("{component}-{node}")) {
        None => is_false(type_, "DoesNotExist", "Pod does not exist"),
        Some(pod) => pod_state(type_, pod),
    }
}

fn pod_state(type_: &str, pod: &Pod) -> Condition {
    let status = pod.status.clone().unwrap_or_default();
    let conditions = status.conditions.unwrap_or_default();
    let is =
        |name: &str| conditions.iter().any(|condition| condition.type_ == name && condition.status == "True");
    let containers = status.container_statuses.unwrap_or_default();
    match status.phase.as_deref() {
        Some("Pending") => match containers.iter().find_map(waits_after_failure) {
            Some(text) => is_false(type_, "Failed", text),
            None if !is("PodScheduled") => is_false(type_, "Provisioning", "Waiting to be scheduled"),
            None => is_false(type_, "Provisioning", "Waiting for its containers to start"),
        },
        Some("Running") if is("Ready") => is_true(type_, "Running"),
        Some("Running") => {
            let failed = containers.iter().find_map(|container| {
                let terminated = container.state.as_ref()?.terminated.as_ref()?;
                Some(format!("Container {} ended with exit code {}", container.name, terminated.exit_code))
            });
            match failed.or_else(|| containers.iter().find_map(waits_after_failure)) {
                Some(text) => is_false(type_, "Failed", text),
                None => is_false(type_, "Provisioning", "Waiting for startup or readiness probes"),
            }
        }
        Some("Succeeded" | "Failed") => is_false(type_, "Failed", "All the containers have been terminated"),
        _ => is_unknown(type_, "InspectionFailed", "Pod is reporting Unknown status"),
    }
}

/// Describes a container that waits because it failed earlier or its image cannot be pulled; otherwise
/// `None`.
fn waits_after_failure(container: &ContainerStatus) -> Option<String> {
    let waiting = container.state.as_ref()?.waiting.as_ref()?;
    let reason = waiting.reason.as_deref().unwrap_or_default();
    let failed = container.last_state.as_ref().is_some_and(|state| state.terminated.is_some());
    (failed
        || matches!(reason, "CrashLoopBackOff" | "ImagePullBackOff" | "ErrImagePull" | "InvalidImageName"))
    .then(|| format!("Container {} is waiting: {reason}", container.name))
}

/// Returns `EtcdMemberHealthy`; `None` keeps the present condition, since etcd is not read while the control
/// plane is being deleted.
fn member_condition(
    observed: &Observed,
    member: &ControlPlaneMachine,
    view: &View,
    node: &str,
) -> Option<Condition> {
    let type_ = condition::ETCD_MEMBER;
    match &view.etcd {
        Some(Ok(etcd)) => Some(member_state(etcd, member, node)),
        _ if member.is_deleting() => Some(is_false(type_, "Deleting", DELETING)),
        _ if engine::object::is_deleting(observed.control_plane.as_ref()) => None,
        Some(Err(_)) => Some(is_unknown(type_, "InspectionFailed", "Failed to connect to etcd")),
        None => Some(is_unknown(type_, "InspectionFailed", "Waiting for etcd to report the list of members")),
    }
}

fn member_state(etcd: &Etcd, member: &ControlPlaneMachine, node: &str) -> Condition {
    let type_ = condition::ETCD_MEMBER;
    let Some(found) = etcd.member(node) else {
        return is_false(type_, "NotHealthy", format!("Etcd doesn't have an etcd member for Node {node}"));
    };
    if member.is_deleting() {
        return is_false(type_, "Deleting", DELETING);
    }
    if etcd.silent.contains(&found.id) {
        return is_false(type_, "NotHealthy", "The etcd member does not answer, or sees no leader");
    }
    if found.is_learner {
        return is_false(type_, "NotHealthy", "Waiting for the etcd member to be promoted to voting member");
    }
    let alarms: Vec<&str> = etcd.alarms_of(found.id).map(|alarm| alarm_name(alarm.alarm())).collect();
    if !alarms.is_empty() {
        return is_false(type_, "NotHealthy", format!("Etcd member reports alarms: {}", alarms.join(", ")));
    }
    is_true(type_, "Healthy")
}

/// Returns etcd's name of an alarm.
fn alarm_name(alarm: AlarmType) -> &'static str {
    match alarm {
        AlarmType::None => "NONE",
        AlarmType::NoSpace => "NOSPACE",
        AlarmType::Corrupt => "CORRUPT",
    }
}
