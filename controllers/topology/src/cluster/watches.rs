//! Which Clusters a change concerns.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use engine::controller::{owner_requests, requests_of};
use engine::names::{CLUSTER_NAME, TOPOLOGY_OWNED};
use engine::object::label;
use engine::{Change, Kind, NamespacedName, Objects, Request};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use kube::api::DynamicObject;
use kube::core::ApiResource;
use schemas::HasConditions;
use schemas::cluster::{
    Cluster, ClusterClass, ClusterSpec, Machine, MachineHealthCheck, MachinePool, UpgradePlanStep,
};
use schemas::meta::Condition;

use super::status::TOPOLOGY_RECONCILED;
use crate::references::{template_key, template_references};

/// Index of Clusters by their class.
const BY_CLASS: &str = "class";
/// Index of ClusterClasses by the templates that they refer to.
const BY_TEMPLATE: &str = "template";

/// Adds the indexes that the functions here use.
pub fn index(clusters: &Objects<Cluster>, classes: &Objects<ClusterClass>) {
    clusters
        .index(BY_CLASS, |cluster| class_of(cluster).map(|class| class.to_string()).into_iter().collect());
    classes.index(BY_TEMPLATE, |class| {
        let namespace = class.metadata.namespace.as_deref().unwrap_or_default();
        let keys = template_references(class).into_iter();
        keys.map(|reference| {
            template_key(namespace, &reference.api_version, &reference.kind, &reference.name)
        })
        .collect()
    });
}

/// Returns whether something of a Cluster changed that its topology depends on or writes. Counters and other conditions change with each Machine.
pub fn matters(change: &Change<Cluster>) -> bool {
    change.old.as_deref().map(Facts::of) != change.new.as_deref().map(Facts::of)
}

#[derive(PartialEq)]
struct Facts<'a> {
    uid: Option<&'a String>,
    labels: Option<&'a BTreeMap<String, String>>,
    annotations: Option<&'a BTreeMap<String, String>>,
    finalizers: Option<&'a Vec<String>>,
    owners: Option<&'a Vec<OwnerReference>>,
    deleted_at: Option<&'a Time>,
    spec: &'a ClusterSpec,
    is_initialized: bool,
    reconciled: Option<&'a Condition>,
    plans: [&'a [UpgradePlanStep]; 2],
}

impl<'a> Facts<'a> {
    fn of(cluster: &'a Cluster) -> Self {
        let (metadata, status) = (&cluster.metadata, cluster.status.as_ref());
        let parts = status.map(|status| [status.control_plane.as_ref(), status.workers.as_ref()]);
        Self {
            uid: metadata.uid.as_ref(),
            labels: metadata.labels.as_ref(),
            annotations: metadata.annotations.as_ref(),
            finalizers: metadata.finalizers.as_ref(),
            owners: metadata.owner_references.as_ref(),
            deleted_at: metadata.deletion_timestamp.as_ref(),
            spec: &cluster.spec,
            is_initialized: cluster.condition_is_true("ControlPlaneInitialized"),
            reconciled: cluster.condition(TOPOLOGY_RECONCILED),
            plans: parts.unwrap_or_default().map(|part| part.map_or(&[][..], |part| &part.upgrade_plan)),
        }
    }
}

/// Returns the name of a Cluster's class, which is in the Cluster's namespace unless the reference names another one.
pub fn class_of(cluster: &Cluster) -> Option<NamespacedName> {
    let reference = &cluster.spec.topology.as_ref()?.class_ref;
    let own = cluster.metadata.namespace.as_deref().unwrap_or_default();
    let namespace = reference.namespace.as_deref().filter(|namespace| !namespace.is_empty()).unwrap_or(own);
    Some(NamespacedName::new(namespace, reference.name.as_str()))
}

/// Returns the Clusters of a class.
pub fn of_class(change: &Change<ClusterClass>, clusters: &Objects<Cluster>) -> Vec<Request> {
    requests_of(&clusters.by_index(BY_CLASS, &change.name().to_string()))
}

/// Returns the Cluster of an object of a topology.
pub fn of_topology<K: Kind>(change: &Change<K>) -> Vec<Request> {
    let owned = change.objects().filter(|object| label(object.as_ref(), TOPOLOGY_OWNED).is_some());
    let clusters = owned.filter_map(|object| {
        let namespace = object.meta().namespace.clone().unwrap_or_default();
        Some(NamespacedName::new(namespace, label(object.as_ref(), CLUSTER_NAME)?))
    });
    let requests: BTreeSet<Request> = clusters.collect();
    requests.into_iter().collect()
}

/// Returns the Cluster of a Machine that came, went, or has another version: only these decide whether an upgrade is complete.
pub fn of_machine(change: &Change<Machine>) -> Vec<Request> {
    let versions = |machine: &Arc<Machine>| {
        let info = machine.status.as_ref().and_then(|status| status.node_info.as_ref());
        (machine.spec.version.clone(), info.map(|info| info.kubelet_version.clone()))
    };
    if change.old.as_ref().map(versions) == change.new.as_ref().map(versions) {
        return Vec::new();
    }
    of_topology(change)
}

/// Returns the Cluster of a health check that somebody changed or deleted.
pub fn of_health_check(change: &Change<MachineHealthCheck>) -> Vec<Request> {
    let wanted = |check: &Arc<MachineHealthCheck>| (check.spec.clone(), check.metadata.labels.clone());
    let is_owned = |check: &Arc<MachineHealthCheck>| label(check.as_ref(), TOPOLOGY_OWNED).is_some();
    if change.old.as_ref().map(wanted) == change.new.as_ref().map(wanted) || !change.objects().any(is_owned) {
        return Vec::new();
    }
    owner_requests(change, Cluster::GROUP, Cluster::KIND)
}

/// Returns the cluster of a Node whose version changed, if it has MachinePools.
pub fn of_node(
    cluster: &NamespacedName,
    change: &Change<Node>,
    pools: &Objects<MachinePool>,
) -> Vec<Request> {
    let version = |node: &Arc<Node>| {
        let info = node.status.as_ref().and_then(|status| status.node_info.as_ref());
        info.map(|info| info.kubelet_version.clone())
    };
    if change.old.as_ref().map(version) == change.new.as_ref().map(version)
        || pools.by_cluster(cluster).is_empty()
    {
        return Vec::new();
    }
    vec![cluster.clone()]
}

/// Returns the Clusters of a provider's object: the Cluster to which it belongs, or those whose class refers to it.
pub fn of_external(
    resource: &ApiResource,
    change: &Change<DynamicObject>,
    clusters: &Objects<Cluster>,
    classes: &Objects<ClusterClass>,
) -> Vec<Request> {
    let mut requests = of_topology(change);
    let name = change.name();
    let key = template_key(&name.namespace, &resource.api_version, &resource.kind, &name.name);
    for class in classes.by_index(BY_TEMPLATE, &key) {
        let class = NamespacedName::of(class.as_ref()).to_string();
        requests.extend(requests_of(&clusters.by_index(BY_CLASS, &class)));
    }
    requests
}
