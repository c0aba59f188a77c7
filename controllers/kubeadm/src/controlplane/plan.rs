//! The rules of the KubeadmControlPlane controller, in their order. Pure functions.

use std::time::Duration;

use chrono::{DateTime, Utc};
use engine::{finalizer, object};
use schemas::cluster::Machine;
use schemas::controlplane::KubeadmControlPlane;

use super::observed::{Kubeconfig, Observed, Template};
use super::remediation::outcome::Remediation;
use super::removal::{terminate, terminate_blindly, unexpected_member};
use super::situation::{Decision, Situation};
use super::{adoption, authorities, deletion, in_place, remediation, scaling, status, wake};
use crate::certificates::Purpose;
use crate::names;

pub use super::situation::Event;
pub use super::step::Step;

/// The changes that a control plane needs.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The Machines with their new conditions, in the order of [`Observed::machines`].
    pub machines: Vec<Machine>,
    /// The control plane with its new metadata and status.
    pub control_plane: KubeadmControlPlane,
    /// The steps in order; the first failure ends the reconcile.
    pub steps: Vec<Step>,
    /// The name of the Machine that the steps delete because it is unhealthy.
    pub remediates: Option<String>,
    /// Why scaling, a deletion or an adoption waits.
    pub event: Option<Event>,
    /// Errors that only a change of an object ends.
    pub errors: Vec<String>,
    /// When to reconcile again without an event.
    pub requeue: Option<Duration>,
}

/// Computes the plan. Pure function.
pub fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
    let mut situation = Situation::of(observed, now);
    let is_deleting = object::is_deleting(observed.control_plane.as_ref());
    let decision = if is_deleting { deletion::delete(&situation) } else { normal(&situation, now) };
    let mut control_plane = observed.control_plane.as_ref().clone();
    if let Some(remediation) = &decision.remediation {
        situation.machines.iter_mut().for_each(|machine| remediation.write(machine, now));
        record(&mut control_plane, remediation);
    }
    if is_deleting && observed.machines.is_empty() && observed.workers.is_empty() {
        finalizer::remove(&mut control_plane, names::FINALIZER);
    }
    engine::paused::set(&mut control_plane, Some(&observed.cluster), now);
    status::write(
        &mut control_plane,
        &status::Inputs {
            observed,
            machines: &situation.machines,
            outdated: &situation.outdated,
            blind: situation.blind.as_ref(),
            mismatch: &situation.mismatch,
            addons: &situation.addons,
            preflight: decision.preflight.as_ref(),
            deleting: decision.deleting.clone(),
            now,
        },
    );
    control_plane.status.get_or_insert_default().observed_generation =
        observed.control_plane.metadata.generation;
    let due = decision.remediation.as_ref().and_then(|remediation| remediation.due);
    Plan {
        requeue: wake::requeue(observed, &control_plane, due, now),
        event: decision.event(),
        remediates: decision.remediation.and_then(|remediation| remediation.deletes),
        machines: situation.machines,
        control_plane,
        steps: decision.steps,
        errors: decision.errors,
    }
}

/// Writes the record of the remediation in progress into the control plane, or removes it.
fn record(control_plane: &mut KubeadmControlPlane, remediation: &Remediation) {
    let key = names::REMEDIATION_IN_PROGRESS;
    match &remediation.record {
        Some(text) => {
            let annotations = control_plane.metadata.annotations.get_or_insert_default();
            annotations.insert(key.to_owned(), text.clone());
        }
        None => {
            if let Some(annotations) = &mut control_plane.metadata.annotations {
                annotations.remove(key);
            }
        }
    }
}

fn normal(situation: &Situation<'_>, now: DateTime<Utc>) -> Decision {
    let observed = situation.observed;
    if let Some(decision) = adoption::plan(observed) {
        return decision;
    }
    let mut first = Vec::new();
    if observed.template == Template::Unowned {
        first.push(Step::OwnTemplate);
    }
    if !engine::initialization::has_infrastructure(&observed.cluster) {
        return Decision::steps(first);
    }
    let foreign: Vec<Purpose> =
        observed.secrets.iter().filter(|(_, owned)| !**owned).map(|(purpose, _)| *purpose).collect();
    if !foreign.is_empty() {
        first.push(Step::OwnSecrets(foreign));
    }
    let missing = authorities::missing_certificates(observed);
    // Once the control plane is initialised, new certificates would not match it. It lacks them only for new Machines.
    if !missing.is_empty() && !observed.was_initialized() {
        if authorities::missing_given_certificates(observed).is_empty() {
            first.push(Step::MakeCertificates(missing));
        }
        return Decision::steps(first);
    }
    if !observed.has_endpoint() {
        return Decision::steps(first);
    }
    let is_usable = authorities::trouble(observed).is_empty();
    // The condition says what the user has to do; the change of a Secret is an event.
    if !is_usable && !observed.was_initialized() {
        return Decision::steps(first);
    }
    if is_usable && !missing.contains(&Purpose::ClusterAuthority) {
        first.extend(kubeconfig(observed, now));
    }
    if !observed.leftovers.is_empty() {
        first.push(Step::DeleteLeftovers(observed.leftovers.clone()));
    }
    first.push(Step::SyncMachines);
    let mut decision = machines(situation, now);
    first.append(&mut decision.steps);
    decision.steps = first;
    decision
}

fn kubeconfig(observed: &Observed, now: DateTime<Utc>) -> Option<Step> {
    match observed.kubeconfig {
        Kubeconfig::Missing => Some(Step::MakeKubeconfig),
        Kubeconfig::Unowned => Some(Step::OwnKubeconfig),
        Kubeconfig::Ours(expires) => {
            let can_renew = !observed.keyless.contains(&Purpose::ClusterAuthority);
            (can_renew && authorities::is_renewal_due(expires, now)).then_some(Step::MakeKubeconfig)
        }
        // Somebody may have replaced it on purpose, so it is not overwritten.
        Kubeconfig::Broken | Kubeconfig::Given => None,
    }
}

fn machines(situation: &Situation<'_>, now: DateTime<Utc>) -> Decision {
    let observed = situation.observed;
    if observed.machines.is_empty() {
        return scaling::initialize(observed);
    }
    let checks = || Decision { preflight: scaling::first_checks(situation), ..Decision::default() };
    if !observed.is_initialized() {
        // There is no workload cluster to ask, and none to lose.
        return terminate_blindly(observed)
            .unwrap_or_else(|| remediate(remediation::plan(situation, now), checks));
    }
    // All further decisions need the current state of the workload cluster.
    if situation.blind.is_some() || observed.workload.is_none() {
        return terminate_blindly(observed).unwrap_or_else(checks);
    }
    if let Some(step) = unexpected_member(situation) {
        return Decision::steps(vec![step]);
    }
    if let Some(decision) = terminate(situation) {
        return decision;
    }
    let starts = in_place::unfinished(observed);
    if !starts.is_empty() {
        return Decision::steps(starts);
    }
    remediate(remediation::plan(situation, now), || scaling::replace_or_scale(situation))
}

/// Returns the steps of the remediation, or else those of the other work.
fn remediate(mut remediation: Remediation, work: impl FnOnce() -> Decision) -> Decision {
    let mut decision = remediation.steps.take().map_or_else(work, Decision::steps);
    decision.remediation = Some(remediation);
    decision
}
