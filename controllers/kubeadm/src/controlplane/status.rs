//! The status of a KubeadmControlPlane: counters, versions, and the conditions that follow from its Machines.
//! Pure functions.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::conditions::{self, is_false, is_true};
use engine::names as shared;
use engine::{aggregates, object, versions};
use schemas::HasConditions;
use schemas::cluster::Machine;
use schemas::controlplane::{KubeadmControlPlane, LastRemediation};
use schemas::meta::Condition;
use schemas::version::Version;

use super::control_plane_conditions;
use super::etcd_members::Mismatch;
use super::machine_conditions::Blind;
use super::observed::{Observed, Template};
use super::preflight::Preflight;
use super::record::Record;
use super::{addons, authorities, v1beta1};
use crate::names::{self, condition};

/// What stands between a scaling and the reasons why it waits.
const BLOCKED: &str = " is blocked because:";

/// The inputs of the status besides the observed state.
pub struct Inputs<'a> {
    /// The observed state.
    pub observed: &'a Observed,
    /// The Machines with the conditions of this reconcile.
    pub machines: &'a [Machine],
    /// The reasons why Machines are outdated, by name.
    pub outdated: &'a BTreeMap<String, Vec<String>>,
    /// The reason why the state of the Machines cannot be read.
    pub blind: Option<&'a Blind>,
    /// The mismatches between etcd's members and the Machines.
    pub mismatch: &'a Mismatch,
    /// The changes of the add-ons.
    pub addons: &'a addons::Decision,
    /// The preflight checks of the attempted scaling.
    pub preflight: Option<&'a Preflight>,
    /// Reason and message of the `Deleting` condition.
    pub deleting: Option<(&'static str, String)>,
    /// The time of this reconcile.
    pub now: DateTime<Utc>,
}

/// Writes the whole status.
pub fn write(control_plane: &mut KubeadmControlPlane, inputs: &Inputs<'_>) {
    let now = inputs.now;
    let machines: Vec<Arc<Machine>> = inputs.machines.iter().cloned().map(Arc::new).collect();
    counters(control_plane, inputs.observed, &machines);
    let initialized = inputs.observed.is_initialized();
    if initialized {
        let status = control_plane.status.get_or_insert_default();
        status.initialization.get_or_insert_default().control_plane_initialized = Some(true);
    }
    let mut set = |condition: Condition| conditions::set(control_plane, now, condition);
    set(match initialized {
        true => is_true(condition::INITIALIZED, "Initialized"),
        false => is_false(condition::INITIALIZED, "NotInitialized", ""),
    });
    if let Some(condition) = certificates(inputs.observed, now) {
        set(condition);
    }
    for condition in control_plane_conditions::of_control_plane(inputs) {
        set(condition);
    }
    set(rolling_out(inputs));
    set(aggregates::remediating(&machines, " by KubeadmControlPlane"));
    set(scaling_up(inputs));
    set(scaling_down(inputs));
    set(aggregates::machines_ready(condition::MACHINES_READY, &machines));
    set(aggregates::machines_up_to_date(condition::MACHINES_UP_TO_DATE, &machines, now));
    set(match &inputs.deleting {
        Some((reason, message)) => {
            conditions::new(condition::DELETING, conditions::TRUE, reason, message.as_str())
        }
        None => is_false(condition::DELETING, "NotDeleting", ""),
    });
    let available = control_plane_conditions::available(control_plane, inputs);
    conditions::set(control_plane, now, available);
    v1beta1::set(control_plane, inputs);
}

fn counters(control_plane: &mut KubeadmControlPlane, observed: &Observed, machines: &[Arc<Machine>]) {
    let count = |type_: &str| Some(aggregates::count_true(machines, type_));
    let cluster = observed.cluster_name();
    let last_remediation = last_remediation(control_plane, machines);
    let status = control_plane.status.get_or_insert_default();
    status.selector = Some(format!("{}={cluster},{}", shared::CLUSTER_NAME, shared::CONTROL_PLANE));
    status.replicas = Some(i32::try_from(machines.len()).unwrap_or(i32::MAX));
    status.ready_replicas = count(condition::READY);
    status.available_replicas = count(condition::AVAILABLE);
    status.up_to_date_replicas = count(condition::UP_TO_DATE);
    if last_remediation.is_some() {
        status.last_remediation = last_remediation;
    }
    if machines.is_empty() {
        return;
    }
    let texts = machines.iter().filter_map(|machine| machine.spec.version.as_deref());
    let valid = texts.filter(|text| Version::parse(text).is_some());
    status.versions = versions::count(valid.map(|text| (text, 1)));
    status.version = status.versions.first().map(|lowest| lowest.version.clone());
}

/// Returns the remediation in progress, or else the latest one that a Machine continues.
fn last_remediation(
    control_plane: &KubeadmControlPlane,
    machines: &[Arc<Machine>],
) -> Option<LastRemediation> {
    let read = |key: &str, text: Option<&str>| Record::parse(key, text?).ok();
    let key = names::REMEDIATION_IN_PROGRESS;
    let current = read(key, object::annotation(control_plane, key));
    let continued = machines.iter().filter_map(|machine| {
        read(names::REMEDIATION_FOR, object::annotation(machine.as_ref(), names::REMEDIATION_FOR))
    });
    current.or_else(|| continued.max_by_key(Record::time))?.status()
}

/// Returns `CertificatesAvailable`; `None` while the certificates are still to be created.
fn certificates(observed: &Observed, now: DateTime<Utc>) -> Option<Condition> {
    let type_ = condition::CERTIFICATES_AVAILABLE;
    if authorities::certificates_complete(observed) {
        let expiring = authorities::expiring_kubeconfig(observed, now).unwrap_or_default();
        return Some(conditions::new(type_, conditions::TRUE, "Available", expiring));
    }
    let missing = authorities::missing_certificates(observed);
    let names: Vec<String> =
        missing.iter().map(|purpose| purpose.secret_name(observed.cluster_name())).collect();
    if missing.is_empty() {
        return Some(is_false(type_, "NotAvailable", authorities::trouble(observed).join("\n")));
    }
    let given = authorities::missing_given_certificates(observed);
    (observed.was_initialized() || !given.is_empty())
        .then(|| is_false(type_, "NotAvailable", format!("Missing Secrets: {}", names.join(", "))))
}

fn rolling_out(inputs: &Inputs<'_>) -> Condition {
    let count = inputs.outdated.len();
    if count == 0 {
        return is_false(condition::ROLLING_OUT, "NotRollingOut", addon_trouble(inputs.addons));
    }
    let mut reasons: Vec<&String> = inputs.outdated.values().flatten().collect();
    reasons.sort_by_key(|reason| (!reason.starts_with("Version"), (*reason).clone()));
    reasons.dedup();
    let mut text = format!("Rolling out {count} not up-to-date replicas");
    for reason in reasons {
        text.push_str(&format!("\n* {reason}"));
    }
    conditions::new(condition::ROLLING_OUT, conditions::TRUE, "RollingOut", text)
}

/// Returns the reason why an add-on does not follow the control plane; empty if there is none.
fn addon_trouble(addons: &addons::Decision) -> String {
    addons.trouble.as_ref().map(|trouble| format!("* {trouble}")).unwrap_or_default()
}

fn blocked(text: String, messages: Vec<String>) -> String {
    if messages.is_empty() {
        return text;
    }
    let lines: Vec<String> = messages.iter().map(|message| format!("* {message}")).collect();
    format!("{text}{BLOCKED}\n{}", lines.join("\n"))
}

fn missing_template(observed: &Observed) -> Option<String> {
    let kind = &observed.control_plane.spec.machine_template.spec.infrastructure_ref.kind;
    (observed.template == Template::Missing).then(|| format!("{kind} does not exist"))
}

fn scaling_up(inputs: &Inputs<'_>) -> Condition {
    let (current, desired) = (inputs.machines.len(), inputs.observed.desired_replicas());
    let mut messages: Vec<String> = missing_template(inputs.observed).into_iter().collect();
    if current >= desired {
        let text = match messages.first() {
            Some(message) if !object::is_deleting(inputs.observed.control_plane.as_ref()) => {
                format!("Scaling up would be blocked because {message}")
            }
            _ => String::new(),
        };
        return is_false(condition::SCALING_UP, "NotScalingUp", text);
    }
    messages.extend(inputs.preflight.map(Preflight::messages).unwrap_or_default());
    let text = blocked(format!("Scaling up from {current} to {desired} replicas"), messages);
    conditions::new(condition::SCALING_UP, conditions::TRUE, "ScalingUp", text)
}

fn scaling_down(inputs: &Inputs<'_>) -> Condition {
    let (current, desired) = (inputs.machines.len(), inputs.observed.desired_replicas());
    if current <= desired {
        return is_false(condition::SCALING_DOWN, "NotScalingDown", "");
    }
    let messages = inputs.preflight.map(Preflight::messages).unwrap_or_default();
    let text = blocked(format!("Scaling down from {current} to {desired} replicas"), messages);
    conditions::new(condition::SCALING_DOWN, conditions::TRUE, "ScalingDown", text)
}

/// The conditions of the work that a failure may prevent.
const WORK: &[&str] = &[
    condition::ROLLING_OUT,
    condition::REMEDIATING,
    condition::SCALING_DOWN,
    condition::SCALING_UP,
    condition::DELETING,
];

/// Adds failures to the conditions of the work in progress, or else to `Available`.
pub fn report(control_plane: &mut KubeadmControlPlane, errors: &[&engine::Error]) {
    let lines: String = errors.iter().map(|error| format!("\n* {error}")).collect();
    let mut is_working = false;
    for found in control_plane.conditions_mut() {
        let type_ = found.type_.as_str();
        if found.status != conditions::TRUE || !WORK.contains(&type_) {
            continue;
        }
        is_working = true;
        let scales = [condition::SCALING_UP, condition::SCALING_DOWN].contains(&type_);
        if scales && !found.message.contains(BLOCKED) {
            found.message.push_str(BLOCKED);
        }
        found.message.push_str(&lines);
    }
    let available = |found: &&mut Condition| !is_working && found.type_ == condition::AVAILABLE;
    if let Some(found) = control_plane.conditions_mut().iter_mut().find(available) {
        found.message = format!("{}{lines}", found.message).trim_start().to_owned();
    }
}
