//! The Pod Security Standards: which pods the labels of a namespace allow. The checks and their words are those of
//! `k8s.io/pod-security-admission`.

mod baseline;
mod policy;
mod restricted;

use serde_json::Value;

pub use policy::{Level, LevelVersion, Policy, Version};

use super::defaults::CONTAINERS;
use crate::fields::{list, text};

/// The version in which checks have changed last.
const NEWEST: u32 = 35;

/// What a check forbids: the reason in a word or two, and which parts of the pod break the rule.
pub struct Violation {
    reason: &'static str,
    detail: String,
}

/// A pod, or the template of one.
struct Pod<'a> {
    annotations: &'a Value,
    spec: &'a Value,
    /// The minor version of the standards.
    version: u32,
}

impl<'a> Pod<'a> {
    fn containers(&self) -> impl Iterator<Item = &'a Value> {
        let spec = self.spec;
        CONTAINERS.into_iter().flat_map(move |field| list(spec, field))
    }

    /// Returns the names of the containers for which `is_bad` holds.
    fn bad(&self, is_bad: impl Fn(&'a Value) -> bool) -> Vec<&'a str> {
        let bad = self.containers().filter(|container| is_bad(container));
        bad.map(|container| text(container, "name")).collect()
    }

    fn is_windows(&self) -> bool {
        self.spec["os"]["name"] == "windows"
    }

    /// Returns whether root in the pod is another user on the node.
    fn has_own_users(&self) -> bool {
        self.spec["hostUsers"] == false
    }
}

type Check = fn(&Pod<'_>) -> Option<Violation>;

/// Returns what a level forbids in a pod with these annotations.
pub fn violations(policy: LevelVersion, annotations: &Value, spec: &Value) -> Vec<Violation> {
    let pod = Pod { annotations, spec, version: policy.version.minor().min(NEWEST) };
    let baseline = baseline::CHECKS.iter().filter(|(replaced, _)| match policy.level {
        Level::Privileged => false,
        Level::Baseline => true,
        Level::Restricted => pod.version < *replaced,
    });
    let restricted = restricted::CHECKS.iter();
    let restricted =
        restricted.filter(|(since, _)| policy.level == Level::Restricted && pod.version >= *since);
    baseline.chain(restricted).filter_map(|(_, check)| check(&pod)).collect()
}

/// Returns the reasons alone.
pub fn reasons(violations: &[Violation]) -> String {
    violations.iter().map(|one| one.reason).collect::<Vec<_>>().join(", ")
}

/// Returns the reasons with their details.
pub fn details(violations: &[Violation]) -> String {
    let shown = violations.iter().map(|one| format!("{} ({})", one.reason, one.detail));
    shown.collect::<Vec<_>>().join(", ")
}

/// Returns the security context of a container or of the spec of a pod.
fn context(holder: &Value) -> &Value {
    &holder["securityContext"]
}

fn violation(reason: &'static str, detail: String) -> Option<Violation> {
    Some(Violation { reason, detail })
}

fn plural<'w>(count: usize, one: &'w str, many: &'w str) -> &'w str {
    if count == 1 { one } else { many }
}

fn quoted<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| format!("\"{}\"", item.as_ref())).collect();
    items.join(", ")
}

/// Returns `container "a"` or `containers "a", "b"`.
fn containers(names: &[&str]) -> String {
    format!("{} {}", plural(names.len(), "container", "containers"), quoted(names))
}

/// Returns who sets something: the pod, containers, or both; `None` if nobody does.
fn setters(pod: bool, names: &[&str]) -> Option<String> {
    let pod = pod.then(|| "pod".to_owned());
    let names = (!names.is_empty()).then(|| containers(names));
    let all: Vec<String> = pod.into_iter().chain(names).collect();
    (!all.is_empty()).then(|| all.join(" and "))
}
