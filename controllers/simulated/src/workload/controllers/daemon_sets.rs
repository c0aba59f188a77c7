//! DaemonSets: one Pod on each Node that it selects, and another one when the template changes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use engine::object::{is_deleting, uid};
use k8s_openapi::api::apps::v1::{DaemonSet, DaemonSetStatus};
use k8s_openapi::api::core::v1::{Pod, Toleration};
use kube::ResourceExt;
use workloads::deployment::rollout::part;
use workloads::pods::{REVISION_HASH, hash};
use workloads::readiness::ready_since;

use super::affinity::{selects_node, tolerates};
use super::key::{Key, Outcome};
use super::objects::Objects;
use super::scheduler::NO_SCHEDULE;
use super::view::{Candidate, Nodes, View, has_ended, node_of};

/// The taints that no DaemonSet minds, with their effects.
const TOLERATED: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];
const NETWORK_UNAVAILABLE: (&str, &str) = ("node.kubernetes.io/network-unavailable", "NoSchedule");

/// What is to be done for a DaemonSet.
struct Plan {
    /// The Nodes that get a Pod.
    create: Vec<String>,
    delete: Vec<Arc<Pod>>,
    status: DaemonSetStatus,
    /// When a Pod becomes available without an event.
    again: Option<Duration>,
}

/// Reconciles a DaemonSet.
pub(super) async fn reconcile(objects: &Objects, view: &View, key: &Key) -> Outcome {
    let Some(mut set) = objects.get::<DaemonSet>(key) else { return Ok(None) };
    if is_deleting(&set) {
        return Ok(None);
    }
    let hash = hash(&set.spec.template);
    let spec = set.spec.template.spec.get_or_insert_default();
    let network = (spec.host_network == Some(true)).then_some(NETWORK_UNAVAILABLE);
    let tolerated = TOLERATED.into_iter().chain(network).map(|(key, effect)| Toleration {
        key: Some(key.to_owned()),
        operator: Some("Exists".to_owned()),
        effect: Some(effect.to_owned()),
        ..Toleration::default()
    });
    spec.tolerations.get_or_insert_default().extend(tolerated);
    let plan = plan(&set, &hash, &view.nodes, &view.pods_of(uid(&set)), objects.now());
    for pod in &plan.delete {
        objects.delete_pod(pod).await?;
    }
    for node in plan.create {
        let mut pod = workloads::pods::pod(&set, &set.spec.template, format!("{}-{node}", key.name));
        pod.labels_mut().insert(REVISION_HASH.to_owned(), hash.clone());
        pod.spec.get_or_insert_default().node_name = Some(node);
        objects.create(&pod).await?;
    }
    objects.write_status(key, &set.status, &plan.status).await?;
    Ok(plan.again)
}

/// Returns whether a Node gets a Pod, and whether one that is there stays.
fn judge(set: &DaemonSet, name: &str, node: &Candidate) -> (bool, bool) {
    let Some(spec) = &set.spec.template.spec else { return (false, false) };
    let tolerations = spec.tolerations.as_deref().unwrap_or_default();
    let is_selected = selects_node(spec, name, node);
    let gets = is_selected && tolerates(tolerations, node, &NO_SCHEDULE);
    (gets, is_selected && tolerates(tolerations, node, &["NoExecute"]))
}

/// What is to be done on one Node.
#[derive(Default)]
struct OnNode<'a> {
    /// Whether the set wants a Pod there.
    gets: bool,
    /// Whether a Pod of the set runs there, or ends.
    is_taken: bool,
    /// The Pod that stays.
    pod: Option<&'a Arc<Pod>>,
    delete: Vec<Arc<Pod>>,
}

fn look<'a>(set: &DaemonSet, name: &str, node: &Candidate, here: &[&'a Arc<Pod>]) -> OnNode<'a> {
    let (gets, stays) = judge(set, name, node);
    let (ended, running): (Vec<&Arc<Pod>>, Vec<&Arc<Pod>>) = here.iter().partition(|pod| has_ended(pod));
    let mut place = OnNode { gets, is_taken: !running.is_empty(), ..OnNode::default() };
    place.pod = running.iter().find(|pod| stays && !is_deleting(pod.as_ref())).copied();
    let is_kept = |pod: &Arc<Pod>| place.pod.is_some_and(|kept| Arc::ptr_eq(kept, pod));
    let going = ended.into_iter().chain(running).filter(|pod| !is_deleting(pod.as_ref()) && !is_kept(pod));
    place.delete = going.cloned().collect();
    place
}

fn plan(set: &DaemonSet, hash: &str, nodes: &Nodes, pods: &[Arc<Pod>], now: DateTime<Utc>) -> Plan {
    let least = TimeDelta::seconds(set.spec.min_ready_seconds.unwrap_or_default().into());
    let mut on_nodes: BTreeMap<&str, Vec<&Arc<Pod>>> = BTreeMap::new();
    for pod in pods {
        on_nodes.entry(node_of(pod).unwrap_or_default()).or_default().push(pod);
    }
    let is_current = |pod: &Pod| pod.labels().get(REVISION_HASH).is_some_and(|own| own == hash);
    let is_available = |pod: &Pod| ready_since(pod).is_some_and(|since| since + least <= now);
    let (mut create, mut delete) = (Vec::new(), Vec::new());
    let (mut wanted, mut misplaced, mut placed) = (0, 0, Vec::new());
    for (name, node) in nodes {
        let here = on_nodes.remove(name.as_str()).unwrap_or_default();
        let place = look(set, name, node, &here);
        delete.extend(place.delete);
        if !place.gets {
            misplaced += i32::from(place.is_taken);
            continue;
        }
        wanted += 1;
        placed.extend(place.pod);
        if !place.is_taken {
            create.push(name.clone());
        }
    }
    let count = |holds: &dyn Fn(&Pod) -> bool| {
        i32::try_from(placed.iter().filter(|pod| holds(pod)).count()).unwrap_or(i32::MAX)
    };
    let available = count(&is_available);
    let status = DaemonSetStatus {
        observed_generation: set.metadata.generation,
        desired_number_scheduled: wanted,
        current_number_scheduled: count(&|_| true),
        number_misscheduled: misplaced,
        number_ready: count(&|pod| ready_since(pod).is_some()),
        number_available: Some(available).filter(|count| *count > 0),
        number_unavailable: Some(wanted - available).filter(|count| *count > 0),
        updated_number_scheduled: Some(count(&is_current)).filter(|count| *count > 0),
        ..set.status.clone().unwrap_or_default()
    };
    if replaces(set) {
        let old = placed.iter().copied().filter(|pod| !is_current(pod));
        let (ready, broken): (Vec<&Arc<Pod>>, Vec<&Arc<Pod>>) = old.partition(|pod| is_available(pod));
        let room = rolling(set, wanted) - (wanted - available);
        let going = ready.into_iter().take(usize::try_from(room).unwrap_or_default());
        // What is not available is not missed.
        delete.extend(broken.into_iter().chain(going).cloned());
    }
    let next = pods.iter().filter_map(|pod| ready_since(pod)).map(|since| since + least);
    let again = next.filter(|time| *time > now).min().and_then(|time| (time - now).to_std().ok());
    Plan { create, delete, status, again }
}

/// Returns whether a new template replaces Pods.
fn replaces(set: &DaemonSet) -> bool {
    let strategy = set.spec.update_strategy.as_ref().and_then(|strategy| strategy.type_.as_deref());
    strategy != Some("OnDelete")
}

/// Returns how many Pods may be unavailable.
fn rolling(set: &DaemonSet, desired: i32) -> i32 {
    let strategy = set.spec.update_strategy.as_ref().and_then(|strategy| strategy.rolling_update.as_ref());
    let given = strategy.and_then(|rolling| rolling.max_unavailable.clone());
    given.map_or(1, |given| part(Some(given), desired, true)).max(1)
}
