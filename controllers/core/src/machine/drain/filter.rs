//! What a drain does with one Pod. The filters are those of `kubectl drain`, followed by the Pod's label and
//! the MachineDrainRules; the first that leaves the Pod alone, or waits for it, decides.

use chrono::{DateTime, Utc};
use engine::object::{annotation, label};
use engine::{NamespacedName, owners, time};
use k8s_openapi::api::core::v1::Pod;

use super::rules::Rules;
use crate::machine::observed::NodePods;

const DRAIN_LABEL: &str = "cluster.x-k8s.io/drain";
const MIRROR: &str = "kubernetes.io/config.mirror";
const ORPHANED: &str = "its DaemonSet does not exist any more";
const LOCAL_STORAGE: &str = "its local storage is lost";
const UNREPLICATED: &str = "it has no controller that replaces it";

/// What the drain does with a Pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behavior {
    /// Leaves it alone.
    Skip,
    /// Waits until it ends by itself.
    WaitCompleted,
    /// It has ended by itself, as it was to. Its object may stay.
    Completed,
    /// Evicts it once no Pod of a lower order is left.
    Drain(i32),
}

/// What the drain does with a Pod, and what to warn of.
#[derive(Debug, PartialEq, Eq)]
pub struct Judgement {
    pub behavior: Behavior,
    pub warnings: Vec<&'static str>,
}

impl Judgement {
    fn of(behavior: Behavior) -> Self {
        Self { behavior, warnings: Vec::new() }
    }

    /// Returns the group in which the drain evicts the Pod or waits for it; `None` if it does neither.
    pub fn order(&self) -> Option<i32> {
        match self.behavior {
            Behavior::Skip | Behavior::Completed => None,
            Behavior::WaitCompleted => Some(0),
            Behavior::Drain(order) => Some(order),
        }
    }
}

/// Returns what the drain does with `pod`.
pub fn judge(
    pod: &Pod,
    unreachable: bool,
    on_node: &NodePods,
    rules: &Rules<'_>,
    now: DateTime<Utc>,
) -> Judgement {
    // An unreachable kubelet never confirms the deletion of its Pods.
    if unreachable && is_terminating_for_a_second(pod, now) {
        return Judgement::of(Behavior::Skip);
    }
    let orphaned = match daemon_set(pod) {
        Some(set) if on_node.missing_daemon_sets.contains(&set) => true,
        // The DaemonSet would replace it on the cordoned Node, too.
        Some(_) => return Judgement::of(Behavior::Skip),
        None => false,
    };
    if annotation(pod, MIRROR).is_some() {
        return Judgement::of(Behavior::Skip);
    }
    let finished = is_finished(pod);
    let warnings = [
        (orphaned, ORPHANED),
        (!finished && has_local_storage(pod), LOCAL_STORAGE),
        (!finished && owners::controller(pod).is_none(), UNREPLICATED),
    ];
    let wanted = of_label(pod).or_else(|| rules.behavior(pod, &on_node.namespaces));
    match wanted.unwrap_or(Behavior::Drain(0)) {
        Behavior::Skip => Judgement::of(Behavior::Skip),
        Behavior::WaitCompleted if finished => Judgement::of(Behavior::Completed),
        Behavior::WaitCompleted => Judgement::of(Behavior::WaitCompleted),
        drain => Judgement {
            behavior: drain,
            warnings: warnings.into_iter().filter(|(holds, _)| *holds).map(|(_, text)| text).collect(),
        },
    }
}

/// Returns what the Pod's own label asks for.
fn of_label(pod: &Pod) -> Option<Behavior> {
    let wanted = label(pod, DRAIN_LABEL)?.to_ascii_lowercase();
    match wanted.replacen('-', "", 1).as_str() {
        "skip" => Some(Behavior::Skip),
        "waitcompleted" => Some(Behavior::WaitCompleted),
        _ => None,
    }
}

/// Returns the DaemonSet that controls the Pod; `None` for a finished Pod, which can be removed.
pub fn daemon_set(pod: &Pod) -> Option<NamespacedName> {
    let owner = owners::controller(pod).filter(|owner| owner.kind == "DaemonSet")?;
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    (!is_finished(pod)).then(|| NamespacedName::new(namespace, owner.name.as_str()))
}

fn is_finished(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

fn has_local_storage(pod: &Pod) -> bool {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    volumes.into_iter().any(|volume| volume.empty_dir.is_some())
}

fn is_terminating_for_a_second(pod: &Pod, now: DateTime<Utc>) -> bool {
    let since = pod.metadata.deletion_timestamp.as_ref().map(time::utc);
    since.is_some_and(|since| now - since > chrono::Duration::seconds(1))
}
