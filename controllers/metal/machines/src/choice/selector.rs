//! The selector of hosts. Operators are those of Kubernetes' label selectors in any case, and those of its text form.

use std::cmp::Ordering;

use engine::object::label;
use schemas::infrastructure::{HostSelector, HostSelectorRequirement};
use schemas::metal3::BareMetalHost;

use crate::names::ARCHITECTURE;

/// Returns the first requirement that the host does not meet, as text; `None` if it meets all.
pub(super) fn unmet(selector: &HostSelector, host: &BareMetalHost) -> Option<String> {
    for (key, value) in &selector.match_labels {
        if label_of(host, key) != Some(value.as_str()) {
            return Some(format!("{key}={value}"));
        }
    }
    selector.match_expressions.iter().find(|requirement| !is_met(requirement, host)).map(text)
}

fn is_met(requirement: &HostSelectorRequirement, host: &BareMetalHost) -> bool {
    let value = label_of(host, &requirement.key);
    let is_listed = value.is_some_and(|value| requirement.values.iter().any(|listed| listed == value));
    let compared = || {
        let value = value?.parse::<i64>().ok()?;
        let [bound] = requirement.values.as_slice() else { return None };
        Some(value.cmp(&bound.parse().ok()?))
    };
    match requirement.operator.to_lowercase().as_str() {
        "in" | "=" | "==" => is_listed,
        "notin" | "!=" => !is_listed,
        "exists" => value.is_some(),
        "!" | "doesnotexist" => value.is_none(),
        "gt" => compared() == Some(Ordering::Greater),
        "lt" => compared() == Some(Ordering::Less),
        _ => false,
    }
}

fn text(requirement: &HostSelectorRequirement) -> String {
    let HostSelectorRequirement { key, operator, values } = requirement;
    match values.is_empty() {
        true => format!("{key} {operator}"),
        false => format!("{key} {operator} ({})", values.join(", ")),
    }
}

fn label_of<'a>(host: &'a BareMetalHost, key: &str) -> Option<&'a str> {
    label(host, key).or_else(|| (key == ARCHITECTURE).then(|| architecture(host)).flatten())
}

/// Returns the architecture of a host by Kubernetes' name.
fn architecture(host: &BareMetalHost) -> Option<&str> {
    let hardware = || host.status.as_ref()?.hardware.as_ref()?.cpu.as_ref()?.arch.as_deref();
    match host.spec.architecture.as_deref().or_else(hardware)? {
        "x86_64" => Some("amd64"),
        "aarch64" => Some("arm64"),
        other => Some(other),
    }
}
