//! Compares a Machine with the spec of its KubeadmControlPlane. Pure functions.

use chrono::{DateTime, Duration, Utc};
use engine::conditions::{TRUE, is_false, is_true};
use engine::in_place;
use machinery::clock::parse_rfc3339;
use schemas::HasConditions;
use schemas::bootstrap::{JoinConfiguration, JoinControlPlane, KubeadmConfigSpec};
use schemas::cluster::Machine;
use schemas::controlplane::KubeadmControlPlane;
use schemas::defaults::CERTIFICATE_VALIDITY_DAYS;
use schemas::meta::Condition;
use serde_json::{Value, json};

use super::desired::{self, Entry};
use super::observed::{ControlPlaneMachine, Observed};
use crate::names::condition;

/// Returns the reasons why a Machine must be replaced; empty if it is up to date.
pub fn reasons(observed: &Observed, member: &ControlPlaneMachine, now: DateTime<Utc>) -> Vec<String> {
    let control_plane = observed.control_plane.as_ref();
    let mut reasons = Vec::new();
    let version = member.machine.spec.version.as_deref().unwrap_or_default();
    if version != control_plane.spec.version {
        reasons.push(format!("Version {version}, {} required", control_plane.spec.version));
    }
    if member.config.as_ref().is_some_and(|config| !config_matches(observed, &config.spec)) {
        reasons.push("KubeadmConfig is not up-to-date".to_owned());
    }
    if !infrastructure_matches(observed, member) {
        reasons.push(format!("{} is not up-to-date", member.machine.spec.infrastructure_ref.kind));
    }
    let rollout = control_plane.spec.rollout.as_ref();
    if rollout.and_then(|rollout| rollout.after.as_deref()).is_some_and(|after| passed(member, after, now)) {
        reasons.push("KubeadmControlPlane spec.rollout.after expired".to_owned());
    }
    let before = rollout.and_then(|rollout| rollout.before.as_ref());
    if before
        .and_then(|before| before.certificates_expiry_days)
        .is_some_and(|days| expires(observed, member, days, now))
    {
        reasons.push("Certificates will expire soon, spec.rollout.before expired".to_owned());
    }
    reasons
}

/// Returns whether `spec.rollout.after` has passed and the Machine is older than that.
fn passed(member: &ControlPlaneMachine, after: &str, now: DateTime<Utc>) -> bool {
    let Some(after) = parse_rfc3339(after) else { return false };
    let created = member.machine.metadata.creation_timestamp.as_ref().map(engine::time::utc);
    after <= now && created.is_some_and(|created| created < after)
}

fn expires(observed: &Observed, member: &ControlPlaneMachine, days: i32, now: DateTime<Utc>) -> bool {
    certificates_expiry(member).is_some_and(|date| date < now + renewal(observed, days))
}

/// Returns how long before their expiry certificates are renewed, if `spec` asks for `days`. Where they live no longer
/// than that, a new Machine would be outdated at once: then it is half of their life.
pub(super) fn renewal(observed: &Observed, days: i32) -> Duration {
    let config = observed.control_plane.spec.kubeadm_config_spec.as_ref();
    let configuration = config.and_then(|config| config.cluster_configuration.as_ref());
    let life = configuration.and_then(|configuration| configuration.certificate_validity_period_days);
    let life = life.filter(|days| *days > 0).unwrap_or(CERTIFICATE_VALIDITY_DAYS);
    if days < life { Duration::days(i64::from(days)) } else { Duration::days(i64::from(life)) / 2 }
}

/// Returns when the certificates of a Machine expire, or `None` if it is not known.
pub(super) fn certificates_expiry(member: &ControlPlaneMachine) -> Option<DateTime<Utc>> {
    member.machine.status.as_ref()?.certificates_expiry_date.as_deref().and_then(parse_rfc3339)
}

fn infrastructure_matches(observed: &Observed, member: &ControlPlaneMachine) -> bool {
    let template = &observed.control_plane.spec.machine_template.spec.infrastructure_ref;
    match &member.cloned_from {
        // Without an object, or without cloned-from annotations, nothing can be compared.
        None => true,
        Some((name, group_kind)) if name.is_empty() || group_kind.is_empty() => true,
        Some((name, group_kind)) => {
            *name == template.name && *group_kind == desired::template_group_kind(&observed.control_plane)
        }
    }
}

/// Returns whether a KubeadmConfig equals that of a new Machine, compared as joining or, if it once
/// initialised the cluster, as initialising.
fn config_matches(observed: &Observed, current: &KubeadmConfigSpec) -> bool {
    let (present, new) = compared(&observed.control_plane, current);
    if present == new {
        return true;
    }
    let init = || comparable(&desired::kubeadm_config(&observed.control_plane, Entry::Init), Entry::Init);
    !has_joined(current) && comparable(current, Entry::Init) == init()
}

/// Returns whether a KubeadmConfig is that of a Machine that joined the cluster. Cluster API 1.11 could leave one without
/// `joinConfiguration.controlPlane`: then the arguments of the kubelet, which nearly every cluster has, tell it from that of the Machine
/// which initialised the cluster.
fn has_joined(config: &KubeadmConfigSpec) -> bool {
    config.join_configuration.as_ref().is_some_and(|join| {
        let registration = join.node_registration.as_ref();
        join.control_plane.is_some()
            || registration.is_some_and(|registration| !registration.kubelet_extra_args.is_empty())
    })
}

/// Returns the spec without the fields whose difference is no reason to replace the Machine.
fn comparable(spec: &KubeadmConfigSpec, entry: Entry) -> Value {
    let mut value = json!(spec);
    default(&mut value, "format", json!("cloud-config"));
    remove(&mut value, &["clusterConfiguration", "controlPlaneEndpoint"]);
    remove(&mut value, &["clusterConfiguration", "dns"]);
    for node in ["initConfiguration", "joinConfiguration"] {
        remove(&mut value, &[node, "timeouts", "controlPlaneComponentHealthCheckSeconds"]);
        let registration = value.get_mut(node).and_then(|node| node.get_mut("nodeRegistration"));
        if let Some(registration) = registration {
            default(registration, "imagePullPolicy", json!("IfNotPresent"));
            if *registration == json!({"imagePullPolicy": "IfNotPresent"}) {
                *registration = json!({});
            }
        }
    }
    remove(&mut value, &["joinConfiguration", "discovery"]);
    match entry {
        Entry::Init => remove(&mut value, &["joinConfiguration"]),
        Entry::Join => remove(&mut value, &["initConfiguration"]),
    }
    prune(&mut value);
    value
}

fn default(value: &mut Value, key: &str, text: Value) {
    if let Value::Object(map) = value
        && map.get(key).is_none_or(|present| present.is_null() || *present == "")
    {
        map.insert(key.to_owned(), text);
    }
}

fn remove(value: &mut Value, path: &[&str]) {
    let Some((last, parents)) = path.split_last() else { return };
    let mut parent = Some(value);
    for key in parents {
        parent = parent.and_then(|value| value.get_mut(*key));
    }
    if let Some(Value::Object(map)) = parent {
        map.remove(*last);
    }
}

/// Removes empty values, since absent and empty are equivalent. An empty list of taints is the exception: it
/// means "no taints".
fn prune(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(prune);
            map.retain(|key, value| match value {
                Value::Null => false,
                Value::Object(inner) => !inner.is_empty(),
                Value::Array(list) => !list.is_empty() || key == "taints",
                Value::String(text) => !text.is_empty(),
                _ => true,
            });
        }
        Value::Array(list) => list.iter_mut().for_each(prune),
        _ => {}
    }
}

/// Returns whether the Machine must go because of its age, or that of its certificates.
pub(super) fn is_too_old(observed: &Observed, member: &ControlPlaneMachine, now: DateTime<Utc>) -> bool {
    let Some(rollout) = &observed.control_plane.spec.rollout else { return false };
    let days = rollout.before.as_ref().and_then(|before| before.certificates_expiry_days);
    rollout.after.as_deref().is_some_and(|after| passed(member, after, now))
        || days.is_some_and(|days| expires(observed, member, days, now))
}

/// Returns the spec of a present KubeadmConfig and that of a new one as they are compared, both as those of a Machine that joins.
pub(super) fn compared(control_plane: &KubeadmControlPlane, present: &KubeadmConfigSpec) -> (Value, Value) {
    let new = desired::kubeadm_config(control_plane, Entry::Join);
    let mut present = present.clone();
    if !has_joined(&present) {
        let init = present.init_configuration.take().unwrap_or_default();
        present.join_configuration = Some(JoinConfiguration {
            // Only a Machine that joins can have it, and it means nothing for one that did not.
            ca_cert_path: new.join_configuration.as_ref().and_then(|join| join.ca_cert_path.clone()),
            control_plane: Some(JoinControlPlane { local_api_endpoint: init.local_api_endpoint }),
            discovery: None,
            node_registration: init.node_registration,
            patches: init.patches,
            skip_phases: init.skip_phases,
            timeouts: init.timeouts,
        });
    }
    (comparable(&present, Entry::Join), comparable(&new, Entry::Join))
}

/// Returns the `UpToDate` condition of a Machine that is updated in place; `None` if it is not.
pub(super) fn updating(machine: &Machine) -> Option<Condition> {
    if !in_place::is_in_progress(machine) {
        return None;
    }
    let told =
        machine.condition("Updating").filter(|found| found.status == TRUE && !found.message.is_empty());
    let message = told.map_or("In-place update in progress", |found| found.message.as_str());
    Some(is_false(condition::UP_TO_DATE, "Updating", format!("* {message}")))
}

/// Returns the `UpToDate` condition of a Machine.
pub fn condition(reasons: &[String]) -> Condition {
    if reasons.is_empty() {
        return is_true(condition::UP_TO_DATE, "UpToDate");
    }
    let lines: Vec<String> = reasons.iter().map(|reason| format!("* {reason}")).collect();
    is_false(condition::UP_TO_DATE, "NotUpToDate", lines.join("\n"))
}
