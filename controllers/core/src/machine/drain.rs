//! Draining a Node: cordon it, evict its Pods, and wait until they are gone.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use engine::object::{annotation, is_deleting, label};
use engine::{NamespacedName, owners, time};
use k8s_openapi::api::core::v1::{Node, Pod};

use engine::messages;

/// Delay before retrying an eviction that a PodDisruptionBudget forbids.
pub const RETRY: Duration = Duration::from_secs(20);
const DRAIN_LABEL: &str = "cluster.x-k8s.io/drain";
const MIRROR: &str = "kubernetes.io/config.mirror";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const LISTED: usize = 5;

/// The planned treatment of a Node's Pods.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Pods to evict.
    pub evict: Vec<NamespacedName>,
    /// The reasons why the drain is not complete, one line each; empty if it is complete.
    pub messages: Vec<String>,
}

enum Behavior {
    Skip,
    WaitCompleted,
    Drain,
}

/// Plans the eviction of the Pods that a drain must remove.
pub fn plan(node: &Node, pods: &[Arc<Pod>], now: DateTime<Utc>) -> Outcome {
    let mut outcome = Outcome::default();
    let (mut terminating, mut waiting, mut evicted) = (Vec::new(), Vec::new(), Vec::new());
    for pod in pods {
        let key = NamespacedName::of(pod.as_ref());
        match behavior(pod) {
            Behavior::Skip => {}
            // An unreachable kubelet never confirms the deletion of its Pods.
            _ if is_unreachable(node) && is_terminating_for_a_second(pod, now) => {}
            Behavior::WaitCompleted => {
                if !is_finished(pod) {
                    waiting.push(key.to_string());
                }
            }
            Behavior::Drain if is_deleting(pod.as_ref()) => terminating.push(key.to_string()),
            Behavior::Drain => {
                evicted.push(key.to_string());
                outcome.evict.push(key);
            }
        }
    }
    let rows = [
        (terminating, "deletionTimestamp set, but still not removed from the Node"),
        (evicted, "eviction requested"),
        (waiting, "waiting for completion"),
    ];
    for (names, what) in rows {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        if !names.is_empty() {
            let noun = if names.len() == 1 { "Pod" } else { "Pods" };
            outcome.messages.push(format!("* {noun} {}: {what}", messages::names(&names, LISTED)));
        }
    }
    outcome
}

fn behavior(pod: &Pod) -> Behavior {
    let owner = owners::controller(pod).map(|owner| owner.kind.as_str());
    if annotation(pod, MIRROR).is_some() || owner == Some("Node") {
        return Behavior::Skip;
    }
    if owner == Some("DaemonSet") && !is_finished(pod) {
        return Behavior::Skip;
    }
    let wanted = label(pod, DRAIN_LABEL).unwrap_or_default().to_ascii_lowercase();
    match wanted.replacen('-', "", 1).as_str() {
        "skip" => Behavior::Skip,
        "waitcompleted" => Behavior::WaitCompleted,
        _ => Behavior::Drain,
    }
}

fn is_finished(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

fn is_terminating_for_a_second(pod: &Pod, now: DateTime<Utc>) -> bool {
    let since = pod.metadata.deletion_timestamp.as_ref().map(time::utc);
    since.is_some_and(|since| now - since > chrono::Duration::seconds(1))
}

/// Returns whether the Node's kubelet stopped reporting: `Ready` is unknown and the Node has the unreachable
/// taint.
pub fn is_unreachable(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    let unknown = conditions
        .into_iter()
        .flatten()
        .any(|condition| condition.type_ == "Ready" && condition.status == "Unknown");
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    unknown && taints.into_iter().flatten().any(|taint| taint.key == UNREACHABLE)
}

/// Returns the cordoned Node; `None` if it is already cordoned.
pub fn cordoned(node: &Node) -> Option<Node> {
    if node.spec.as_ref().is_some_and(|spec| spec.unschedulable == Some(true)) {
        return None;
    }
    let mut wanted = node.clone();
    wanted.spec.get_or_insert_default().unschedulable = Some(true);
    Some(wanted)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(value: Value) -> Arc<Pod> {
        Arc::new(serde_json::from_value(value).unwrap())
    }

    #[test]
    fn evicts_what_must_go_and_waits_for_what_goes() {
        let controlled = |name: &str, kind: &str| {
            let owner =
                json!({"apiVersion": "v1", "kind": kind, "name": "x", "uid": "1", "controller": true});
            pod(json!({"metadata": {"name": name, "namespace": "n", "ownerReferences": [owner]}}))
        };
        let labelled = |name: &str, value: &str| {
            pod(
                json!({"metadata": {"name": name, "namespace": "n", "labels": {"cluster.x-k8s.io/drain": value}}}),
            )
        };
        let pods = [
            controlled("app", "ReplicaSet"),
            controlled("daemon", "DaemonSet"),
            pod(json!({"metadata": {"name": "etcd", "namespace": "n", "annotations": {MIRROR: "x"}}})),
            pod(
                json!({"metadata": {"name": "going", "namespace": "n", "deletionTimestamp": "2026-01-01T00:00:00Z"}}),
            ),
            labelled("stays", "Skip"),
            labelled("job", "wait-completed"),
        ];
        let outcome = plan(&Node::default(), &pods, DateTime::UNIX_EPOCH);
        assert_eq!(outcome.evict, [NamespacedName::new("n", "app")]);
        assert_eq!(
            outcome.messages,
            [
                "* Pod n/going: deletionTimestamp set, but still not removed from the Node",
                "* Pod n/app: eviction requested",
                "* Pod n/job: waiting for completion",
            ]
        );
    }
}
