//! The status of a KubeadmControlPlane: counters, versions, and the conditions that follow from its Machines.
//! Pure functions.

use std::collections::BTreeMap;

use chrono::{DateTime, Duration, Utc};
use engine::conditions::{self, Source, is_false, is_true};
use engine::names as shared;
use engine::object;
use schemas::HasConditions;
use schemas::cluster::Machine;
use schemas::controlplane::KubeadmControlPlane;
use schemas::meta::{Condition, StatusVersion};

use super::health;
use super::machine_conditions::Blind;
use super::members::Mismatch;
use super::observed::{Observed, Template};
use super::preflight::Preflight;
use super::{addons, authorities};
use crate::names::condition;
use schemas::version::Version;

/// A Machine without an `UpToDate` condition is left out until this time after its creation.
const NEW_MACHINE: Duration = Duration::seconds(10);

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
    counters(control_plane, inputs);
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
    for condition in health::of_control_plane(inputs) {
        set(condition);
    }
    set(rolling_out(inputs));
    set(is_false(condition::REMEDIATING, "NotRemediating", ""));
    set(scaling_up(inputs));
    set(scaling_down(inputs));
    set(machines_ready(inputs));
    set(machines_up_to_date(inputs));
    set(match &inputs.deleting {
        Some((reason, message)) => {
            let failure = inputs.observed.failure.iter().map(|failure| format!("\n* {failure}"));
            let message = std::iter::once(message.clone()).chain(failure).collect::<String>();
            conditions::new(condition::DELETING, conditions::TRUE, reason, message)
        }
        None => is_false(condition::DELETING, "NotDeleting", ""),
    });
    let available = health::available(control_plane, inputs);
    conditions::set(control_plane, now, available);
}

fn counters(control_plane: &mut KubeadmControlPlane, inputs: &Inputs<'_>) {
    let machines = inputs.machines;
    let count = |type_: &str| {
        let found = machines.iter().filter(|machine| machine.condition_is_true(type_)).count();
        Some(i32::try_from(found).unwrap_or(i32::MAX))
    };
    let cluster = inputs.observed.cluster.metadata.name.as_deref().unwrap_or_default();
    let status = control_plane.status.get_or_insert_default();
    status.selector = Some(format!("{}={cluster},{}", shared::CLUSTER_NAME, shared::CONTROL_PLANE));
    status.replicas = Some(i32::try_from(machines.len()).unwrap_or(i32::MAX));
    status.ready_replicas = count(condition::READY);
    status.available_replicas = count(condition::AVAILABLE);
    status.up_to_date_replicas = count(condition::UP_TO_DATE);
    if machines.is_empty() {
        return;
    }
    let mut versions: Vec<(Version, StatusVersion)> = Vec::new();
    for text in machines.iter().filter_map(|machine| machine.spec.version.clone()) {
        let Some(version) = Version::parse(&text) else { continue };
        match versions.iter_mut().find(|(_, present)| present.version == text) {
            Some((_, present)) => present.replicas = present.replicas.map(|count| count + 1),
            None => versions.push((version, StatusVersion { replicas: Some(1), version: text })),
        }
    }
    versions.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.version.cmp(&b.1.version)));
    status.version = versions.first().map(|(_, version)| version.version.clone());
    status.versions = versions.into_iter().map(|(_, version)| version).collect();
}

/// Returns `CertificatesAvailable`; `None` while the certificates are still to be created.
fn certificates(observed: &Observed, now: DateTime<Utc>) -> Option<Condition> {
    let type_ = condition::CERTIFICATES_AVAILABLE;
    if authorities::certificates_complete(observed) {
        let expiring = authorities::expiring_kubeconfig(observed, now).unwrap_or_default();
        return Some(conditions::new(type_, conditions::TRUE, "Available", expiring));
    }
    let missing = authorities::missing_certificates(observed);
    let names: Vec<String> = missing
        .iter()
        .map(|purpose| purpose.secret_name(observed.cluster.metadata.name.as_deref().unwrap_or_default()))
        .collect();
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
        return is_false(condition::ROLLING_OUT, "NotRollingOut", addon_trouble(inputs.observed));
    }
    let mut reasons: Vec<&String> = inputs.outdated.values().flatten().collect();
    reasons.sort_by_key(|reason| (!reason.starts_with("Version"), (*reason).clone()));
    reasons.dedup();
    let mut text = format!("Rolling out {count} not up-to-date replicas");
    for reason in reasons.into_iter().chain(&inputs.observed.failure) {
        text.push_str(&format!("\n* {reason}"));
    }
    conditions::new(condition::ROLLING_OUT, conditions::TRUE, "RollingOut", text)
}

/// Returns the reason why an add-on does not follow the control plane; empty if there is none.
fn addon_trouble(observed: &Observed) -> String {
    let view = observed.workload.as_ref().filter(|_| !object::is_deleting(observed.control_plane.as_ref()));
    let decision = view.map(|view| addons::plan(&view.addons, &observed.control_plane));
    let trouble = decision.and_then(|decision| decision.trouble);
    trouble.map(|trouble| format!("* {trouble}")).unwrap_or_default()
}

fn blocked(text: String, messages: Vec<String>) -> String {
    if messages.is_empty() {
        return text;
    }
    let lines: Vec<String> = messages.iter().map(|message| format!("* {message}")).collect();
    format!("{text} is blocked because:\n{}", lines.join("\n"))
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
    messages.extend(inputs.observed.failure.clone());
    let text = blocked(format!("Scaling up from {current} to {desired} replicas"), messages);
    conditions::new(condition::SCALING_UP, conditions::TRUE, "ScalingUp", text)
}

fn scaling_down(inputs: &Inputs<'_>) -> Condition {
    let (current, desired) = (inputs.machines.len(), inputs.observed.desired_replicas());
    if current <= desired {
        return is_false(condition::SCALING_DOWN, "NotScalingDown", "");
    }
    let mut messages = inputs.preflight.map(Preflight::messages).unwrap_or_default();
    messages.extend(inputs.observed.failure.clone());
    let text = blocked(format!("Scaling down from {current} to {desired} replicas"), messages);
    conditions::new(condition::SCALING_DOWN, conditions::TRUE, "ScalingDown", text)
}

fn sources<'a>(machines: impl Iterator<Item = &'a Machine>) -> Vec<Source<'a>> {
    machines
        .map(|machine| Source {
            kind: Machine::KIND,
            name: machine.metadata.name.as_deref().unwrap_or_default(),
            is_control_plane: true,
            conditions: machine.conditions(),
        })
        .collect()
}

fn machines_ready(inputs: &Inputs<'_>) -> Condition {
    if inputs.machines.is_empty() {
        return is_true(condition::MACHINES_READY, "NoReplicas");
    }
    let reasons = conditions::Reasons { issue: "NotReady", unknown: "ReadyUnknown", info: "Ready" };
    let sources = sources(inputs.machines.iter());
    conditions::aggregate(condition::MACHINES_READY, condition::READY, false, &reasons, &sources)
}

fn machines_up_to_date(inputs: &Inputs<'_>) -> Condition {
    let says = |machine: &&Machine| {
        let created = machine.metadata.creation_timestamp.as_ref().map(engine::time::utc);
        machine.condition(condition::UP_TO_DATE).is_some()
            || created.is_none_or(|created| inputs.now - created >= NEW_MACHINE)
    };
    let sources = sources(inputs.machines.iter().filter(says));
    if sources.is_empty() {
        return is_true(condition::MACHINES_UP_TO_DATE, "NoReplicas");
    }
    let reasons = conditions::Reasons { issue: "NotUpToDate", unknown: "UpToDateUnknown", info: "UpToDate" };
    conditions::aggregate(condition::MACHINES_UP_TO_DATE, condition::UP_TO_DATE, false, &reasons, &sources)
}
