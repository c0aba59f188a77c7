//! The texts of a drain: the lines about Pods in the condition, and the reasons of refused evictions.

use std::collections::BTreeMap;

use engine::NamespacedName;
use kube::core::Status;

use engine::messages;

/// Part of the line about Pods that a PodDisruptionBudget protects.
const BUDGET: &str = "cannot evict pod as it would violate the pod's disruption budget.";
/// The line about Pods that are being deleted.
const TERMINATING: &str = "deletionTimestamp set, but still not removed from the Node";
/// Begin of the line about Pods whose eviction failed.
const FAILED: &str = "failed to evict Pod";
/// The line about Pods that end by themselves.
const COMPLETION: &str = "waiting for completion";
const BUDGET_UPPERCASE: &str = "Cannot evict pod as it would violate the pod's disruption budget.";
const NAMESPACE_TERMINATING: &str = "cannot evict pod from terminating namespace: unable to create eviction \
                                     (kube-controller-manager should set deletionTimestamp)";
/// The maximum number of names in a line.
const NAMES: usize = 3;
/// The maximum number of lines about refused evictions.
const REFUSALS: usize = 5;
/// The maximum number of characters of a refusal: it comes from a webhook or API server of the workload cluster.
pub const REFUSAL_LENGTH: usize = 500;

/// Returns the reason of a refused eviction for the condition.
pub fn refusal(error: &kube::Error) -> String {
    let text = match error {
        kube::Error::Api(status) if status.code == 429 => {
            let text = [vec![status.message.clone()], vec![causes(status)]].concat().join(" ");
            text.trim_end().replace(BUDGET_UPPERCASE, BUDGET)
        }
        kube::Error::Api(status) if status.code == 403 && is_namespace_terminating(status) => {
            NAMESPACE_TERMINATING.to_owned()
        }
        kube::Error::Api(status) => format!("{FAILED}, {}", status.message),
        error => format!("{FAILED}, {error}"),
    };
    let is_known = text.starts_with(BUDGET) || text.starts_with(FAILED) || text == NAMESPACE_TERMINATING;
    let text = if is_known { text } else { format!("{FAILED}, {text}") };
    match text.char_indices().nth(REFUSAL_LENGTH) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// Returns the reason of an eviction that was not answered within the time limit.
pub fn too_late() -> String {
    let limit = super::EVICTION_LIMIT.as_secs();
    format!("{FAILED}, eviction timeout of {limit}s reached, eviction will be retried")
}

fn causes(status: &Status) -> String {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.map(|cause| cause.message.as_str()).collect::<Vec<_>>().join(",")
}

fn is_namespace_terminating(status: &Status) -> bool {
    let mut causes = status.details.iter().flat_map(|details| &details.causes);
    causes.any(|cause| cause.reason == "NamespaceTerminating")
}

/// Returns the likely causes of a slow drain, from the message of its condition.
pub fn delay_causes(message: &str) -> Vec<&'static str> {
    let causes = [
        (BUDGET, "PodDisruptionBudgets"),
        (TERMINATING, "Pods not terminating"),
        (FAILED, "Pod eviction errors"),
        (COMPLETION, "Pods not completed yet"),
    ];
    causes.into_iter().filter(|(text, _)| message.contains(text)).map(|(_, cause)| cause).collect()
}

/// Pods by what the drain waits for.
#[derive(Default)]
pub struct Rows {
    /// Pods that are being deleted.
    pub terminating: Vec<NamespacedName>,
    /// Pods whose eviction was refused, by the reason.
    pub refused: BTreeMap<String, Vec<NamespacedName>>,
    /// Pods whose eviction is requested now for the first time.
    pub requested: Vec<NamespacedName>,
    /// Pods that end by themselves.
    pub waiting: Vec<NamespacedName>,
    /// Pods of a higher order, to be evicted.
    pub later: Vec<NamespacedName>,
    /// Pods of a higher order that end by themselves.
    pub waiting_later: Vec<NamespacedName>,
}

impl Rows {
    /// Returns the lines for the condition.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut now = |pods: &[NamespacedName], what: &str| {
            if !pods.is_empty() {
                let noun = if pods.len() == 1 { "Pod" } else { "Pods" };
                lines.push(format!("* {noun} {}: {what}", names(pods)));
            }
        };
        now(&self.terminating, TERMINATING);
        for (reason, pods) in self.refused.iter().take(REFUSALS) {
            now(pods, reason);
        }
        now(&self.requested, "eviction requested");
        now(&self.waiting, COMPLETION);
        match self.refused.values().skip(REFUSALS).map(Vec::len).sum::<usize>() {
            0 => {}
            1 => lines.push("* 1 Pod with other issues".to_owned()),
            more => lines.push(format!("* {more} Pods with other issues")),
        }
        let mut later = |pods: &[NamespacedName], what: &str| {
            if !pods.is_empty() {
                lines.push(format!(
                    "After above Pods have been removed from the Node, {what}: {}",
                    names(pods)
                ));
            }
        };
        later(&self.later, "the following Pods will be evicted");
        later(&self.waiting_later, "waiting for the following Pods to complete without eviction");
        lines
    }
}

fn names(pods: &[NamespacedName]) -> String {
    let names: Vec<String> = pods.iter().map(ToString::to_string).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    messages::names(&names, NAMES)
}
