//! Chooses the failure domain of the next Machine, and the next Machine to delete. Pure functions.

use std::collections::BTreeMap;

use engine::names::DELETE_MACHINE;
use engine::object;
use schemas::HasConditions;

use super::observed::{ControlPlaneMachine, Observed, component_conditions};

/// Returns the failure domains for control planes, in order of name.
fn domains(observed: &Observed) -> Vec<&str> {
    let status = observed.cluster.status.as_ref();
    let mut all: Vec<&str> = status
        .into_iter()
        .flat_map(|status| &status.failure_domains)
        .filter(|domain| domain.control_plane == Some(true))
        .map(|domain| domain.name.as_str())
        .collect();
    all.sort_unstable();
    all
}

fn domain(member: &ControlPlaneMachine) -> &str {
    let status = member.machine.status.as_ref().and_then(|status| status.failure_domain.as_deref());
    let spec = member.machine.spec.failure_domain.as_deref();
    status.or(spec).unwrap_or_default()
}

/// Returns the failure domain with the fewest Machines; ties go to the one with the fewest up-to-date
/// Machines, then to the first by name.
pub fn domain_to_scale_up(observed: &Observed, up_to_date: &[&str]) -> Option<String> {
    domains(observed)
        .into_iter()
        .min_by_key(|name| {
            let inside: Vec<&ControlPlaneMachine> =
                observed.machines.iter().filter(|member| domain(member) == *name).collect();
            let current = inside.iter().filter(|member| up_to_date.contains(&member.name())).count();
            (inside.len(), current, (*name).to_owned())
        })
        .map(str::to_owned)
}

/// Returns the next Machine to delete among those not being deleted. `outdated` has the names of the Machines
/// to be replaced.
pub fn machine_to_scale_down<'a>(
    observed: &'a Observed,
    outdated: &[&str],
) -> Option<&'a ControlPlaneMachine> {
    let present: Vec<&ControlPlaneMachine> =
        observed.machines.iter().filter(|member| !member.is_deleting()).collect();
    let marked =
        |member: &ControlPlaneMachine| object::annotation(member.machine.as_ref(), DELETE_MACHINE).is_some();
    let old = |member: &ControlPlaneMachine| outdated.contains(&member.name());
    let unwell = |member: &ControlPlaneMachine| {
        let types = component_conditions(observed.is_etcd_managed());
        types.iter().any(|type_| member.machine.condition(type_).is_some_and(|found| found.status == "False"))
    };
    type Rule<'r> = &'r dyn Fn(&ControlPlaneMachine) -> bool;
    let (old_and_marked, old_and_unwell) = (
        |member: &ControlPlaneMachine| old(member) && marked(member),
        |member: &ControlPlaneMachine| old(member) && unwell(member),
    );
    let rules: [Rule<'_>; 5] = [&old_and_marked, &marked, &old_and_unwell, &old, &|_| true];
    let eligible: Vec<&ControlPlaneMachine> = rules
        .iter()
        .map(|rule| present.iter().copied().filter(|member| rule(member)).collect::<Vec<_>>())
        .find(|found| !found.is_empty())?;
    oldest_in_fullest_domain(observed, &present, eligible)
}

fn oldest_in_fullest_domain<'a>(
    observed: &Observed,
    present: &[&ControlPlaneMachine],
    eligible: Vec<&'a ControlPlaneMachine>,
) -> Option<&'a ControlPlaneMachine> {
    let known = domains(observed);
    let lost = |member: &ControlPlaneMachine| !known.is_empty() && !known.contains(&domain(member));
    let age = |member: &&ControlPlaneMachine| {
        (member.machine.metadata.creation_timestamp.clone().map(|at| at.0), member.name().to_owned())
    };
    if let Some(member) = eligible.iter().copied().filter(|member| lost(member)).min_by_key(age) {
        return Some(member);
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for member in present {
        *counts.entry(domain(member)).or_default() += 1;
    }
    let fullest = |member: &&ControlPlaneMachine| {
        std::cmp::Reverse(counts.get(domain(member)).copied().unwrap_or_default())
    };
    eligible.into_iter().min_by_key(|member| (fullest(member), domain(member).to_owned(), age(member)))
}
