//! Scaling and rollout: which Machine is created or deleted next. Pure functions.

use std::cmp::Ordering;

use engine::object;
use schemas::controlplane::KubeadmControlPlane;
use schemas::defaults::MAX_SURGE;
use schemas::int_value::int_value;

use super::desired::Entry;
use super::expiry::api_server_pod;
use super::in_place::{self, Attempt};
use super::observed::{ControlPlaneMachine, Observed, Template, is_ready};
use super::preflight::{self, Preflight};
use super::removal::forward_leadership;
use super::situation::{Decision, Situation};
use super::step::Step;
use super::{addons, authorities, choose};
use crate::names;

/// Creates the first Machine, which initialises the cluster.
pub(super) fn initialize(observed: &Observed) -> Decision {
    if observed.desired_replicas() == 0
        || observed.template == Template::Missing
        || !authorities::certificates_complete(observed)
    {
        return Decision::default();
    }
    let domain = choose::domain_to_scale_up(observed, &[]);
    Decision::steps(vec![Step::CreateMachine(Entry::Init, domain)])
}

/// Replaces outdated Machines, or else brings their number to the wanted one.
pub(super) fn replace_or_scale(situation: &Situation<'_>) -> Decision {
    let observed = situation.observed;
    if in_place::is_any_updated(observed) {
        // Its end is an event.
        return Decision::default();
    }
    if observed.machines.len() > observed.desired_replicas()
        && observed.machines.iter().any(ControlPlaneMachine::is_deleting)
    {
        // One Machine at a time: the deletion of the current one is an event.
        return Decision::default();
    }
    let outdated = situation.outdated_machines();
    let (current, desired) = (observed.machines.len(), observed.desired_replicas());
    if !outdated.is_empty() {
        let limit = desired + max_surge(&observed.control_plane);
        return if current < limit { scale_up(situation, true) } else { scale_down(situation, &outdated) };
    }
    match current.cmp(&desired) {
        Ordering::Less => scale_up(situation, false),
        Ordering::Greater => scale_down(situation, &outdated),
        Ordering::Equal => Decision::steps(settled(situation)),
    }
}

/// Returns the preflight checks of a scaling that has to wait, for the conditions.
pub(super) fn first_checks(situation: &Situation<'_>) -> Option<Preflight> {
    let (current, desired) = (situation.machines.len(), situation.observed.desired_replicas());
    (current != desired && current > 0)
        .then(|| preflight::check(situation.observed, &situation.machines, current < desired, None))
}

/// Returns the number of Machines above `replicas` that may exist during a rollout.
fn max_surge(control_plane: &KubeadmControlPlane) -> usize {
    let rollout = control_plane.spec.rollout.as_ref();
    let strategy = rollout.and_then(|rollout| rollout.strategy.as_ref());
    let surge = strategy
        .and_then(|strategy| strategy.rolling_update.as_ref())
        .and_then(|update| update.max_surge.as_ref());
    // Admission lets nothing through but 0 and 1.
    let most = usize::try_from(MAX_SURGE).unwrap_or_default();
    if surge.is_some_and(|surge| int_value(surge) == 0) { 0 } else { most }
}

/// Returns the steps that prepare the workload cluster for Nodes of the present spec.
///
/// # Errors
/// The reason why no Node can join; a change of kubeadm's configuration, which is an event, ends it.
fn preparation(observed: &Observed) -> Result<Vec<Step>, String> {
    let Some(view) = &observed.workload else { return Ok(Vec::new()) };
    let changes = addons::upgrade::changes(&view.addons, &observed.control_plane)?;
    Ok(changes.into_iter().map(Step::ChangeAddon).collect())
}

fn scale_up(situation: &Situation<'_>, replaces: bool) -> Decision {
    let observed = situation.observed;
    let checks = preflight::check(observed, &situation.machines, true, None);
    if !checks.passed() || observed.template == Template::Missing {
        return Decision { preflight: Some(checks), ..Decision::default() };
    }
    let current: Vec<&str> = observed
        .machines
        .iter()
        .map(ControlPlaneMachine::name)
        .filter(|name| !situation.outdated.contains_key(*name))
        .collect();
    let create = Step::CreateMachine(Entry::Join, choose::domain_to_scale_up(observed, &current));
    if replaces { prepared(observed, [create]) } else { Decision::steps(vec![create]) }
}

fn scale_down(situation: &Situation<'_>, outdated: &[&str]) -> Decision {
    let observed = situation.observed;
    let victim = choose::machine_to_scale_down(observed, outdated);
    if let (Some(victim), false) = (victim, outdated.is_empty()) {
        let step = |step: fn(String) -> Step| step(victim.name().to_owned());
        match in_place::attempt(situation, victim) {
            Attempt::Wait(checks) => return Decision { preflight: Some(checks), ..Decision::default() },
            Attempt::Ask => return prepared(observed, [step(Step::AskForUpdate)]),
            Attempt::Start => return prepared(observed, [step(Step::StartUpdate)]),
            Attempt::Delete => {}
        }
    }
    let checks =
        preflight::check(observed, &situation.machines, false, victim.map(ControlPlaneMachine::name));
    let (Some(victim), true) = (victim, checks.passed()) else {
        return Decision { preflight: Some(checks), ..Decision::default() };
    };
    let leadership = forward_leadership(observed, victim);
    let steps = leadership.into_iter().chain([Step::DeleteMachine(victim.name().to_owned())]);
    if outdated.is_empty() { Decision::steps(steps.collect()) } else { prepared(observed, steps) }
}

/// Returns the steps after those that prepare the workload cluster.
fn prepared(observed: &Observed, steps: impl IntoIterator<Item = Step>) -> Decision {
    match preparation(observed) {
        Ok(preparation) => Decision::steps(preparation.into_iter().chain(steps).collect()),
        Err(why) => Decision { errors: vec![why], ..Decision::default() },
    }
}

/// Returns the steps when nothing needs scaling or replacement: update the add-ons, read missing certificate
/// expiries.
fn settled(situation: &Situation<'_>) -> Vec<Step> {
    let mut steps: Vec<Step> = situation.addons.changes.iter().cloned().map(Step::ChangeAddon).collect();
    let unknown: Vec<String> = situation
        .observed
        .machines
        .iter()
        .filter(|member| !member.is_deleting() && shows_certificate(situation.observed, member))
        .filter(|member| {
            member.config.as_ref().is_some_and(|config| {
                object::annotation(config.as_ref(), names::CERTIFICATES_EXPIRY).is_none()
            })
        })
        .map(|member| member.name().to_owned())
        .collect();
    if !unknown.is_empty() {
        steps.push(Step::ReadCertificateExpiry(unknown));
    }
    steps
}

/// Returns whether the API server of a Machine runs. Another one is asked in vain, and then not again for minutes.
fn shows_certificate(observed: &Observed, member: &ControlPlaneMachine) -> bool {
    let (Some(node), Some(view)) = (member.node(), &observed.workload) else { return false };
    view.pods.get(&api_server_pod(node)).is_some_and(|pod| is_ready(pod))
}
