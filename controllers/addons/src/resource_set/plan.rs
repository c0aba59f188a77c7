//! The plan of a ClusterResourceSet: what is applied to which Cluster. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::object::is_deleting;
use engine::{NamespacedName, finalizer, owners, paused};
use schemas::addons::{ClusterResourceSet, ClusterResourceSetBinding, ResourceBinding, ResourceReference};
use schemas::cluster::Cluster;
use schemas::deletion_grace::is_torn_down;

use super::generated;
use super::manifests::{self, Fault, Manifest};
use super::observed::Observed;
use super::record;
use super::source::{Owned, Source};
use crate::names::{FINALIZER, RECONCILE};
use engine::selector;

/// What to do for a ClusterResourceSet.
#[derive(Default)]
pub struct Plan {
    /// The ClusterResourceSet as it should be, without the outcome of the steps.
    pub set: ClusterResourceSet,
    /// The Secrets and ConfigMaps that get the ClusterResourceSet as owner, before anything is applied.
    pub owned: Vec<Owned>,
    /// The names of the Secrets whose type is wrong. If there is one, nothing is applied.
    pub wrong_types: Vec<String>,
    /// The Clusters that the ClusterResourceSet selects.
    pub targets: Vec<Target>,
    /// The bindings that no longer name the ClusterResourceSet, which is being deleted.
    pub released: Vec<Release>,
}

/// A Cluster that a ClusterResourceSet selects.
pub struct Target {
    /// The Cluster.
    pub cluster: NamespacedName,
    /// The resources to apply, in their order.
    pub work: Vec<Work>,
    /// Whether the Cluster must be connected: something is to be applied, or will be when it exists.
    pub needs_connection: bool,
}

/// A resource that is applied to a Cluster.
#[derive(Clone)]
pub struct Work {
    /// The Secret or ConfigMap.
    pub reference: ResourceReference,
    /// Whether its content is a secret.
    pub is_secret: bool,
    /// Its content. All Clusters share it.
    pub content: Arc<Content>,
    /// Whether objects that exist are changed.
    pub updates: bool,
}

/// The content of a resource.
pub struct Content {
    /// The hash of the values.
    pub hash: Option<String>,
    /// The objects, or the reason why they cannot be read.
    pub manifests: Result<Vec<Manifest>, Fault>,
}

/// A binding of a ClusterResourceSet that is being deleted.
pub struct Release {
    /// The binding as it was read.
    pub read: Arc<ClusterResourceSetBinding>,
    /// The binding as it should be; `None` if it is deleted, because it names no ClusterResourceSet any more.
    pub wanted: Option<ClusterResourceSetBinding>,
}

/// Makes the plan.
pub fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
    let set = observed.set.as_ref();
    let mut plan = Plan { set: set.clone(), ..Plan::default() };
    paused::set(&mut plan.set, None, now);
    if is_deleting(set) {
        plan.released = release(observed);
        finalizer::remove(&mut plan.set, FINALIZER);
        return plan;
    }
    plan.set.status.get_or_insert_default().observed_generation = set.metadata.generation;
    let selected: Vec<&Arc<Cluster>> =
        observed.clusters.iter().filter(|cluster| selects(set, cluster)).collect();
    if selected.is_empty() {
        return plan;
    }
    let owner = owners::reference(set, &());
    plan.owned = observed.sources.iter().filter_map(|source| source.owned_by(&owner)).collect();
    plan.wrong_types = resources(observed)
        .filter(|(_, source)| matches!(source, Source::WrongType(_)))
        .map(|(reference, _)| reference.name.clone())
        .collect();
    if !plan.wrong_types.is_empty() {
        return plan;
    }
    let mut contents = Contents::new(observed);
    plan.targets = selected.into_iter().map(|cluster| target(observed, cluster, &mut contents)).collect();
    plan
}

/// Returns whether the set is applied to a Cluster. A paused Cluster is left alone: it may be reconciled by another management cluster.
pub fn selects(set: &ClusterResourceSet, cluster: &Cluster) -> bool {
    selector::matches(&set.spec.cluster_selector, cluster.metadata.labels.as_ref())
        && !is_torn_down(cluster)
        && paused::causes(cluster, Some(cluster)).is_empty()
}

/// Returns the resources of the set with what was found of them.
fn resources(observed: &Observed) -> impl Iterator<Item = (&ResourceReference, &Source)> {
    observed.set.spec.resources.iter().zip(&observed.sources)
}

fn target(observed: &Observed, cluster: &Cluster, contents: &mut Contents<'_>) -> Target {
    let cluster = NamespacedName::of(cluster);
    let binding = observed.bindings.iter().find(|binding| NamespacedName::of(binding.as_ref()) == cluster);
    let updates = observed.set.spec.strategy.as_deref() == Some(RECONCILE);
    let set = observed.set.metadata.name.as_deref().unwrap_or_default();
    let mut target = Target { cluster, work: Vec::new(), needs_connection: false };
    for (index, (reference, source)) in resources(observed).enumerate() {
        let entry = binding.and_then(|binding| record::entry(binding, set, reference));
        if matches!(source, Source::Missing) {
            target.needs_connection |= entry.is_none();
            continue;
        }
        let is_applied = entry.is_some_and(|entry| entry.applied);
        if is_applied && (!updates || is_current(entry, contents.hash(index))) {
            continue;
        }
        target.needs_connection = true;
        target.work.push(Work {
            reference: reference.clone(),
            is_secret: source.is_secret(),
            content: contents.get(index),
            updates,
        });
    }
    target
}

fn is_current(entry: Option<&ResourceBinding>, hash: Option<String>) -> bool {
    hash.is_some() && entry.and_then(|entry| entry.hash.clone()) == hash
}

/// The contents of the resources. Each is read at most once, and only if a Cluster needs it.
struct Contents<'a> {
    set: &'a ClusterResourceSet,
    sources: &'a [Source],
    hashes: BTreeMap<usize, Option<String>>,
    read: BTreeMap<usize, Arc<Content>>,
}

impl<'a> Contents<'a> {
    fn new(observed: &'a Observed) -> Self {
        let (set, sources) = (observed.set.as_ref(), observed.sources.as_slice());
        Self { set, sources, hashes: BTreeMap::new(), read: BTreeMap::new() }
    }

    fn hash(&mut self, index: usize) -> Option<String> {
        let sources = self.sources;
        self.hashes.entry(index).or_insert_with(|| manifests::hash(&sources[index])).clone()
    }

    fn get(&mut self, index: usize) -> Arc<Content> {
        let hash = self.hash(index);
        let (set, sources) = (self.set, self.sources);
        let read = || {
            let manifests = manifests::read(&sources[index]).map(|mut manifests| {
                let uid = set.metadata.uid.as_deref().unwrap_or_default();
                let ResourceReference { kind, name } = &set.spec.resources[index];
                generated::name_all(&[uid, kind, name], &mut manifests);
                manifests
            });
            Arc::new(Content { hash, manifests })
        };
        self.read.entry(index).or_insert_with(read).clone()
    }
}

/// Returns the bindings that name the set, without it. Those of Clusters that are being torn down go with their Clusters.
fn release(observed: &Observed) -> Vec<Release> {
    let is_ending = |binding: &ClusterResourceSetBinding| {
        let cluster = observed.clusters.iter().find(|cluster| cluster.metadata.name == binding.metadata.name);
        cluster.is_some_and(|cluster| is_torn_down(cluster))
    };
    let bindings = observed.bindings.iter().filter(|binding| !is_ending(binding));
    bindings
        .filter_map(|binding| {
            let wanted = record::without(binding, &observed.set)?;
            let wanted = (!wanted.spec.bindings.is_empty()).then_some(wanted);
            Some(Release { read: binding.clone(), wanted })
        })
        .collect()
}
