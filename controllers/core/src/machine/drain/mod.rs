//! Draining a Node: which of its Pods are evicted now, and what the drain waits for.

mod filter;
mod messages;
mod rules;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use engine::NamespacedName;
use engine::object::{is_deleting, uid};
use k8s_openapi::api::core::v1::{Node, Pod, Volume};

pub use messages::{REFUSAL_LENGTH, delay_causes, refusal, too_late};

use super::observed::{NodePods, Observed};
use filter::{Behavior, Judgement};
use messages::Rows;
use rules::Rules;

/// Delay before a refused eviction is tried again.
pub const RETRY: Duration = Duration::from_secs(20);
/// The evictions of one reconcile may take this long; the remaining ones follow in the next reconcile.
pub const EVICTION_LIMIT: Duration = Duration::from_secs(10);
/// Grace period of Pods whose kubelet does not report: nothing is left that could end them in an orderly way.
const GRACE_UNREACHABLE: u32 = 1;
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// The eviction of a Pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Eviction {
    /// The Pod.
    pub pod: NamespacedName,
    /// Its UID: one that has taken its name since then may run on another Node.
    pub uid: String,
    /// Grace period in seconds in place of the Pod's own.
    pub grace: Option<u32>,
    /// What is lost or not replaced with the Pod.
    pub warnings: Vec<&'static str>,
}

/// The planned treatment of a Node's Pods.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The evictions, in this order.
    pub evict: Vec<Eviction>,
    /// The reasons why the drain is not complete, one line each; empty if it is complete.
    pub messages: Vec<String>,
}

/// Plans the drain. Only the Pods with the lowest order are evicted or waited for, so that those with a
/// higher order run until these are gone.
///
/// # Errors
/// A MachineDrainRule has an invalid selector.
pub fn plan(observed: &Observed, node: &Node, on_node: &NodePods) -> Result<Outcome, String> {
    let rules = Rules::of(observed)?;
    let unreachable = is_unreachable(node);
    let mut pods: Vec<(NamespacedName, &Pod, Judgement)> = on_node
        .pods
        .iter()
        .map(|pod| {
            let judgement = filter::judge(pod, unreachable, on_node, &rules, observed.now);
            (NamespacedName::of(pod.as_ref()), pod.as_ref(), judgement)
        })
        .filter(|(_, _, judgement)| judgement.order().is_some())
        .collect();
    pods.sort_by(|(one, ..), (other, ..)| one.cmp(other));
    let first = pods.iter().filter_map(|(_, _, judgement)| judgement.order()).min();
    let (mut outcome, mut rows) = (Outcome::default(), Rows::default());
    for (key, pod, judgement) in pods {
        let now = judgement.order() == first;
        match judgement.behavior {
            Behavior::Skip | Behavior::Completed => {}
            Behavior::WaitCompleted if now => rows.waiting.push(key),
            Behavior::WaitCompleted => rows.waiting_later.push(key),
            Behavior::Drain(_) if is_deleting(pod) => rows.terminating.push(key),
            Behavior::Drain(_) if !now => rows.later.push(key),
            Behavior::Drain(_) => {
                let last = observed.evictions.get(&key);
                if last.is_none_or(|last| is_due(observed, last.at)) {
                    let grace = unreachable.then_some(GRACE_UNREACHABLE);
                    let (uid, warnings) = (uid(pod).to_owned(), judgement.warnings);
                    outcome.evict.push(Eviction { pod: key.clone(), uid, grace, warnings });
                }
                match last.map(|last| last.refused.clone()) {
                    None => rows.requested.push(key),
                    Some(None) => rows.terminating.push(key),
                    Some(Some(refused)) => rows.refused.entry(refused).or_default().push(key),
                }
            }
        }
    }
    // An eviction that takes long, or is refused again, does not use up the time of those not tried yet.
    outcome.evict.sort_by_key(|eviction| observed.evictions.get(&eviction.pod).map(|last| last.at));
    outcome.messages = rows.lines();
    Ok(outcome)
}

/// Returns whether an eviction is tried again. One that is still to come was tried while the clock was ahead.
fn is_due(observed: &Observed, last: DateTime<Utc>) -> bool {
    (observed.now - last).to_std().map_or(true, |age| age >= RETRY)
}

/// Returns the PersistentVolumeClaims of Pods that the drain leaves alone, whose volumes stay attached.
///
/// # Errors
/// A MachineDrainRule has an invalid selector.
pub fn claims_of_skipped(
    observed: &Observed,
    node: &Node,
    on_node: &NodePods,
) -> Result<Vec<NamespacedName>, String> {
    let rules = Rules::of(observed)?;
    let unreachable = is_unreachable(node);
    let is_skipped = |pod: &&Arc<Pod>| {
        let judgement = filter::judge(pod, unreachable, on_node, &rules, observed.now);
        matches!(judgement.behavior, Behavior::Skip)
    };
    Ok(on_node.pods.iter().filter(is_skipped).flat_map(|pod| claims(pod)).collect())
}

fn claims(pod: &Pod) -> Vec<NamespacedName> {
    let key = NamespacedName::of(pod);
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    let name = |volume: &Volume| match &volume.persistent_volume_claim {
        Some(claim) => Some(claim.claim_name.clone()),
        None => volume.ephemeral.as_ref().map(|_| format!("{}-{}", key.name, volume.name)),
    };
    volumes.filter_map(name).map(|name| NamespacedName::new(key.namespace.as_str(), name)).collect()
}

/// Returns whether a MachineDrainRule that holds for the Machine selects namespaces. A rule that is invalid
/// needs none.
pub fn needs_namespaces(observed: &Observed) -> bool {
    Rules::of(observed).is_ok_and(|rules| rules.select_namespaces())
}

/// Returns the DaemonSets that control a running Pod.
pub fn daemon_sets<'a>(pods: impl IntoIterator<Item = &'a Pod>) -> Vec<NamespacedName> {
    let mut found: Vec<NamespacedName> = pods.into_iter().filter_map(filter::daemon_set).collect();
    found.sort();
    found.dedup();
    found
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

/// Returns whether no new Pods are scheduled to the Node.
pub fn is_cordoned(node: &Node) -> bool {
    node.spec.as_ref().is_some_and(|spec| spec.unschedulable == Some(true))
}

/// Returns the cordoned Node; `None` if it is already cordoned.
pub fn cordoned(node: &Node) -> Option<Node> {
    if is_cordoned(node) {
        return None;
    }
    let mut wanted = node.clone();
    wanted.spec.get_or_insert_default().unschedulable = Some(true);
    Some(wanted)
}
