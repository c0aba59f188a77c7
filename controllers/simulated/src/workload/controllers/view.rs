//! What the controllers know of the Nodes and Pods of the cluster, and what is to be reconciled.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use engine::object::is_deleting;
use engine::owners;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Node, NodeSpec, Pod, PodStatus};
use kube::{Resource, ResourceExt};
use store::{Event, EventKind, Stored};

use super::key::{Key, Kind};
use super::objects::parse;

/// The annotation on Pods of a kubelet's own, which no controller touches.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// A Node, as a scheduler sees it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Candidate {
    pub labels: BTreeMap<String, String>,
    pub spec: NodeSpec,
}

/// The Nodes by their names.
pub(super) type Nodes = BTreeMap<String, Candidate>;

/// Namespace and name of a Pod.
pub(super) type PodName = (String, String);

/// The Nodes and Pods, and what is to be reconciled.
#[derive(Default)]
pub(super) struct View {
    pub nodes: Nodes,
    /// All Pods but mirror Pods, without what only a kubelet reads.
    pub pods: BTreeMap<PodName, Arc<Pod>>,
    /// The Pods by the UID of their controller.
    owned: BTreeMap<String, BTreeSet<PodName>>,
    /// The Pods whose Node has been deleted.
    pub orphans: BTreeSet<PodName>,
    /// The Pods without a Node.
    waiting: BTreeSet<PodName>,
    daemon_sets: BTreeSet<PodName>,
    /// The generations of Jobs.
    generations: BTreeMap<PodName, Option<i64>>,
    /// The Jobs of which a Pod or the status has changed.
    jobs: BTreeSet<Key>,
    /// What is reconciled in this round.
    round: BTreeSet<Key>,
    /// What is reconciled in the next round, so that nothing waits for what has itself reconciled again and again.
    dirty: BTreeSet<Key>,
}

impl View {
    /// Returns the view of a cluster with these objects, all of which are to be reconciled.
    pub fn of(objects: &[Arc<Stored>]) -> Self {
        let mut view = Self::default();
        for stored in objects {
            view.change(stored, false);
        }
        view
    }

    /// Takes a change into the view.
    pub fn observe(&mut self, event: &Event) {
        self.change(&event.object, event.kind == EventKind::Deleted);
    }

    /// Returns what is reconciled next.
    pub fn next(&mut self) -> Option<Key> {
        if self.round.is_empty() {
            std::mem::swap(&mut self.round, &mut self.dirty);
        }
        self.round.pop_first()
    }

    /// Has objects reconciled.
    pub fn mark_all(&mut self, keys: BTreeSet<Key>) {
        keys.into_iter().for_each(|key| self.insert(key));
    }

    /// Returns the Pods of a controller.
    pub fn pods_of(&self, owner: &str) -> Vec<Arc<Pod>> {
        let names = self.owned.get(owner).into_iter().flatten();
        names.filter_map(|name| self.pods.get(name)).cloned().collect()
    }

    /// Returns the Jobs of which Pods or the status have changed since this was asked. They are not reconciled at each of these changes.
    pub fn take_jobs(&mut self) -> BTreeSet<Key> {
        std::mem::take(&mut self.jobs)
    }

    fn change(&mut self, object: &Stored, is_gone: bool) {
        let key = &object.key;
        let namespace = key.namespace().unwrap_or_default().to_owned();
        let name = (namespace, key.name().to_owned());
        match (key.group(), key.resource()) {
            ("", "pods") => {
                let pod = parse::<Pod>(&object.value).filter(|_| !is_gone);
                let pod = pod.filter(|pod| !pod.annotations().contains_key(MIRROR));
                self.pod(name, pod);
            }
            ("", "nodes") => {
                let node = parse::<Node>(&object.value).filter(|_| !is_gone);
                self.node(name.1, node);
            }
            ("apps", "deployments") => self.mark(Kind::Deployment, name),
            ("apps", "replicasets") => {
                if let Some(set) = parse::<ReplicaSet>(&object.value) {
                    self.mark_owner(&set);
                }
                self.mark(Kind::ReplicaSet, name);
            }
            ("apps", "statefulsets") => self.mark(Kind::StatefulSet, name),
            ("apps", "daemonsets") => {
                match is_gone {
                    true => drop(self.daemon_sets.remove(&name)),
                    false => drop(self.daemon_sets.insert(name.clone())),
                }
                self.mark(Kind::DaemonSet, name);
            }
            ("batch", "jobs") => {
                let generation = parse::<Job>(&object.value).and_then(|job| job.metadata.generation);
                let before = match is_gone {
                    true => self.generations.remove(&name),
                    false => self.generations.insert(name.clone(), generation),
                };
                // A status that was written is no reason for more Pods at once.
                match before == Some(generation) {
                    true => self.put_off(name),
                    false => self.mark(Kind::Job, name),
                }
            }
            _ => {}
        }
    }

    fn mark(&mut self, kind: Kind, (namespace, name): PodName) {
        self.insert(Key { kind, namespace, name });
    }

    fn put_off(&mut self, (namespace, name): PodName) {
        self.jobs.insert(Key { kind: Kind::Job, namespace, name });
    }

    fn insert(&mut self, key: Key) {
        // What this round has not reached yet sees the change there.
        if !self.round.contains(&key) {
            self.dirty.insert(key);
        }
    }

    fn mark_owner<K: Resource>(&mut self, object: &K) {
        let owner = owners::controller(object);
        let kind = owner.and_then(|owner| Kind::of_owner(&owner.kind));
        let namespace = object.namespace().unwrap_or_default();
        match (owner, kind) {
            (Some(owner), Some(Kind::Job)) => self.put_off((namespace, owner.name.clone())),
            (Some(owner), Some(kind)) => self.mark(kind, (namespace, owner.name.clone())),
            _ => {}
        }
    }

    fn pod(&mut self, name: PodName, pod: Option<Pod>) {
        let now = pod.map(|pod| Arc::new(slim(pod)));
        let before = match &now {
            Some(pod) => self.pods.insert(name.clone(), pod.clone()),
            None => {
                self.orphans.remove(&name);
                self.pods.remove(&name)
            }
        };
        self.index(&name, before.as_deref(), now.as_deref());
        for pod in [&before, &now].into_iter().flatten() {
            self.mark_owner(pod.as_ref());
        }
        match now.as_ref().is_some_and(|pod| node_of(pod).is_none() && is_active(pod)) {
            true => drop(self.waiting.insert(name.clone())),
            false => drop(self.waiting.remove(&name)),
        }
        // Where a Pod is, others may have to be, or not.
        if before.as_deref().and_then(placement) != now.as_deref().and_then(placement) {
            self.mark_waiting();
        }
        if now.is_some() {
            self.mark(Kind::Pod, name);
        }
    }

    fn index(&mut self, name: &PodName, before: Option<&Pod>, now: Option<&Pod>) {
        let owner = |pod: Option<&Pod>| Some(owners::controller(pod?)?.uid.clone());
        let (before, now) = (owner(before), owner(now));
        if before == now {
            return;
        }
        if let Some(owner) = before
            && let Some(pods) = self.owned.get_mut(&owner)
        {
            pods.remove(name);
            if pods.is_empty() {
                self.owned.remove(&owner);
            }
        }
        if let Some(owner) = now {
            self.owned.entry(owner).or_default().insert(name.clone());
        }
    }

    fn node(&mut self, name: String, node: Option<Node>) {
        let now = node.map(|node| Candidate {
            labels: node.metadata.labels.unwrap_or_default(),
            spec: node.spec.unwrap_or_default(),
        });
        if self.nodes.get(&name) == now.as_ref() {
            return;
        }
        let is_gone = now.is_none();
        let before = match now {
            Some(node) => self.nodes.insert(name.clone(), node),
            None => self.nodes.remove(&name),
        };
        if is_gone || before.is_none() {
            let here = self.pods.iter().filter(|(_, pod)| node_of(pod) == Some(&name));
            let here: Vec<PodName> = here.map(|(name, _)| name.clone()).collect();
            for pod in here {
                match is_gone {
                    true => drop(self.orphans.insert(pod.clone())),
                    false => drop(self.orphans.remove(&pod)),
                }
                self.mark(Kind::Pod, pod);
            }
        }
        let sets: Vec<PodName> = self.daemon_sets.iter().cloned().collect();
        sets.into_iter().for_each(|set| self.mark(Kind::DaemonSet, set));
        self.mark_waiting();
    }

    fn mark_waiting(&mut self) {
        let waiting: Vec<PodName> = self.waiting.iter().cloned().collect();
        waiting.into_iter().for_each(|pod| self.mark(Kind::Pod, pod));
    }
}

/// Returns the name of a Pod's Node.
pub(super) fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref().filter(|node| !node.is_empty())
}

/// Returns the phase of a Pod.
pub(super) fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending")
}

/// Returns whether the containers of a Pod have ended for good.
pub(super) fn has_ended(pod: &Pod) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// Returns whether a Pod has not ended, and does not have to.
pub(super) fn is_active(pod: &Pod) -> bool {
    !is_deleting(pod) && !has_ended(pod)
}

/// Returns what the scheduler considers of a Pod that has a Node and has not ended.
fn placement(pod: &Pod) -> Option<(&str, &BTreeMap<String, String>)> {
    node_of(pod).filter(|_| !has_ended(pod)).map(|node| (node, pod.labels()))
}

/// Leaves out what only a kubelet reads: there may be many Pods.
fn slim(mut pod: Pod) -> Pod {
    pod.metadata.managed_fields = None;
    pod.metadata.annotations = None;
    if let Some(spec) = &mut pod.spec {
        spec.containers = Vec::new();
        spec.init_containers = None;
        spec.volumes = None;
    }
    if let Some(status) = pod.status.take() {
        let (phase, conditions) = (status.phase, status.conditions);
        pod.status = Some(PodStatus { phase, conditions, ..PodStatus::default() });
    }
    pod
}
