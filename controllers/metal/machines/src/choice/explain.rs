//! Says which hosts were looked at, and why each of them does not fit.

use std::collections::BTreeMap;

use super::Misfit;
use crate::limits::{HOSTS_NAMED, REASONS_NAMED};

/// Returns the reasons as one text. Hosts with the same reason are listed together, and of many hosts only the first are named.
pub fn explain(misfits: &[(String, Misfit)]) -> String {
    if misfits.is_empty() {
        return "there is no BareMetalHost in the namespace".to_owned();
    }
    let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, misfit) in misfits {
        groups.entry(reason(misfit)).or_default().push(name);
    }
    let mut groups: Vec<(String, Vec<&str>)> = groups.into_iter().collect();
    // If there are too many reasons, the rare ones are left out.
    groups.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    let mut parts: Vec<String> = groups
        .iter()
        .take(REASONS_NAMED)
        .map(|(reason, names)| format!("{} {reason}", hosts(names)))
        .collect();
    if let Some(rest) = groups.len().checked_sub(REASONS_NAMED).filter(|rest| *rest > 0) {
        parts.push(format!("{rest} more reasons"));
    }
    parts.join("; ")
}

/// Returns the number of hosts for each reason, without names and messages: for somebody who may not see the hosts.
pub fn count(misfits: &[(String, Misfit)]) -> String {
    if misfits.is_empty() {
        return "there is no BareMetalHost in these namespaces".to_owned();
    }
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    for (_, misfit) in misfits {
        let reason = match misfit {
            Misfit::Error(_) => "has an error".to_owned(),
            Misfit::KeptFor(_) => "is kept for other machines (node reuse)".to_owned(),
            other => reason(other),
        };
        *numbers.entry(reason).or_default() += 1;
    }
    let mut numbers: Vec<(String, usize)> = numbers.into_iter().collect();
    numbers.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
    let parts = numbers.iter().take(REASONS_NAMED).map(|(reason, number)| match number {
        1 => format!("1 host {reason}"),
        number => format!("{number} hosts: {reason}"),
    });
    parts.collect::<Vec<_>>().join("; ")
}

fn hosts(names: &[&str]) -> String {
    let named = names.iter().take(HOSTS_NAMED).copied().collect::<Vec<_>>().join(", ");
    match names.len() {
        1 => named,
        count if count <= HOSTS_NAMED => format!("{count} hosts ({named}):"),
        count => format!("{count} hosts ({named}, …):"),
    }
}

fn reason(misfit: &Misfit) -> String {
    match misfit {
        Misfit::Selector(requirement) => format!("does not match hostSelector {requirement}"),
        Misfit::Used(_) => "is used by another consumer".to_owned(),
        Misfit::KeptFor(other) => format!("is kept for machines of {other} (node reuse)"),
        Misfit::Deleting => "is being deleted".to_owned(),
        Misfit::Error(message) => format!("has an error: {message}"),
        Misfit::Paused => "is paused".to_owned(),
        Misfit::Unhealthy => {
            "was given up by a remediation (annotation capm3.metal3.io/unhealthy)".to_owned()
        }
        Misfit::State(state) if state.is_empty() => "is new".to_owned(),
        Misfit::State(state) => format!("is {state}"),
    }
}
