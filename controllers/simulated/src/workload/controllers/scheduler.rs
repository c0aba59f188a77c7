//! The choice of a Node for a Pod, by the required rules of Kubernetes' scheduler: taints, selectors and affinities. Nodes have no limits.
//! Pure functions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use engine::owners;
use k8s_openapi::api::core::v1::{Pod, PodSpec, Taint};

use super::affinity::{avoided, means, selects_node, tolerates, tolerates_taint, wanted};
use super::view::{Candidate, Nodes, PodName, has_ended, node_of};

/// The effects of taints that keep Pods away.
pub(super) const NO_SCHEDULE: [&str; 2] = ["NoSchedule", "NoExecute"];

const UNSCHEDULABLE: &str = "node(s) were unschedulable";
const TAINTS: &str = "node(s) had untolerated taint(s)";
const SELECTORS: &str = "node(s) didn't match Pod's node affinity/selector";
const AFFINITY: &str = "node(s) didn't match pod affinity rules";
const ANTI_AFFINITY: &str = "node(s) didn't match pod anti-affinity rules";
const OTHERS: &str = "node(s) didn't satisfy existing pods anti-affinity rules";

/// A label of Nodes, and its value.
type Topology = (String, String);

/// Where other Pods want a Pod to be, or not.
struct Neighbours<'a> {
    /// Where none of the Pods are that it wants: for each term, the label and the values with such Pods; `None` if it may be anywhere.
    wanted: Vec<(&'a str, Option<BTreeSet<String>>)>,
    avoided: BTreeSet<Topology>,
    avoiding: BTreeSet<Topology>,
}

/// Returns the Node for a Pod, or why there is none.
///
/// # Errors
/// Says in the words of Kubernetes' scheduler what is wrong with how many Nodes.
pub(super) fn choose(pod: &Pod, nodes: &Nodes, pods: &BTreeMap<PodName, Arc<Pod>>) -> Result<String, String> {
    if nodes.is_empty() {
        return Err("no nodes available to schedule pods".to_owned());
    }
    let spec = pod.spec.clone().unwrap_or_default();
    let placed: Vec<(&Candidate, &Pod)> = pods
        .values()
        .filter(|other| !has_ended(other))
        .filter_map(|other| Some((nodes.get(node_of(other)?)?, other.as_ref())))
        .collect();
    let neighbours = neighbours(pod, &placed);
    let (mut fitting, mut reasons) = (Vec::new(), BTreeMap::<&str, usize>::new());
    for (name, node) in nodes {
        match refusal(&spec, name, node, &neighbours) {
            None => fitting.push(name),
            Some(reason) => *reasons.entry(reason).or_default() += 1,
        }
    }
    let owner = owners::controller(pod).map(|owner| owner.uid.as_str());
    let mut load: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (_, other) in &placed {
        let (siblings, all) = load.entry(node_of(other).unwrap_or_default()).or_default();
        *all += 1;
        *siblings += usize::from(owner.is_some_and(|owner| owners::is_controlled_by(*other, owner)));
    }
    // Pods of one owner are spread, and then all.
    let least = fitting.into_iter().min_by_key(|name| load.get(name.as_str()).copied().unwrap_or_default());
    least.cloned().ok_or_else(|| {
        let mut reasons: Vec<String> =
            reasons.into_iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        reasons.sort_unstable();
        format!("0/{} nodes are available: {}.", nodes.len(), reasons.join(", "))
    })
}

fn topology(node: &Candidate, key: &str) -> Option<Topology> {
    Some((key.to_owned(), node.labels.get(key)?.clone()))
}

fn neighbours<'a>(pod: &'a Pod, placed: &[(&Candidate, &Pod)]) -> Neighbours<'a> {
    let mut found = Neighbours { wanted: Vec::new(), avoided: BTreeSet::new(), avoiding: BTreeSet::new() };
    for term in wanted(pod) {
        let meant = placed.iter().filter(|(_, other)| means(pod, term, other));
        let values: BTreeSet<String> =
            meant.filter_map(|(node, _)| node.labels.get(&term.topology_key).cloned()).collect();
        // The first of Pods that want to be together may be anywhere.
        let is_first = values.is_empty() && means(pod, term, pod);
        found.wanted.push((&term.topology_key, (!is_first).then_some(values)));
    }
    for (node, other) in placed {
        let own = avoided(pod).iter().filter(|term| means(pod, term, other));
        found.avoided.extend(own.filter_map(|term| topology(node, &term.topology_key)));
        let theirs = avoided(other).iter().filter(|term| means(other, term, pod));
        found.avoiding.extend(theirs.filter_map(|term| topology(node, &term.topology_key)));
    }
    found
}

/// Returns why a Pod cannot be on a Node, in the order of the scheduler.
fn refusal(
    spec: &PodSpec,
    name: &str,
    node: &Candidate,
    neighbours: &Neighbours<'_>,
) -> Option<&'static str> {
    let tolerations = spec.tolerations.as_deref().unwrap_or_default();
    let cordon = Taint {
        key: "node.kubernetes.io/unschedulable".to_owned(),
        effect: "NoSchedule".to_owned(),
        ..Taint::default()
    };
    let is_in =
        |places: &BTreeSet<Topology>| places.iter().any(|(key, value)| node.labels.get(key) == Some(value));
    let has_wanted = |(key, values): &(&str, Option<BTreeSet<String>>)| {
        let value = node.labels.get(*key);
        value.is_some_and(|value| values.as_ref().is_none_or(|values| values.contains(value)))
    };
    if node.spec.unschedulable == Some(true)
        && !tolerations.iter().any(|toleration| tolerates_taint(toleration, &cordon))
    {
        return Some(UNSCHEDULABLE);
    }
    if !tolerates(tolerations, node, &NO_SCHEDULE) {
        return Some(TAINTS);
    }
    if !selects_node(spec, name, node) {
        return Some(SELECTORS);
    }
    if !neighbours.wanted.iter().all(has_wanted) {
        return Some(AFFINITY);
    }
    if is_in(&neighbours.avoided) {
        return Some(ANTI_AFFINITY);
    }
    is_in(&neighbours.avoiding).then_some(OTHERS)
}
