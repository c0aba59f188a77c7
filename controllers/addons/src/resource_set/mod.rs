//! The ClusterResourceSet controller.

mod apply;
pub mod generated;
pub mod manifests;
mod observe;
mod observed;
mod order;
pub mod outcome;
pub mod plan;
pub mod record;
pub mod remote;
pub mod source;
pub mod status;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::controller::{owner_requests, requests_of};
use engine::{
    Change, Controller, Descriptor, Frame, GroupKind, Kind, Manager, Membership, NamespacedName, Objects,
    Outcome, Planned, Request, Result, paused,
};
use kube::Resource;
use schemas::addons::{ClusterResourceSet, ClusterResourceSetBinding};
use schemas::cluster::Cluster;
use schemas::deletion_grace::is_torn_down;

pub use observed::Observed;
pub use outcome::Applied;
pub use plan::{Plan, Target, plan};
pub use source::Source;
pub use status::{RESOURCES_APPLIED, conclude};

use crate::limits::RECONCILE;
use crate::names::FINALIZER;
use engine::selector;
use observe::ResourceSetController;

/// Index of sets by the Secrets and ConfigMaps that they name, see [`resource_key`].
const BY_RESOURCE: &str = "resource";

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor = Descriptor {
    name: "clusterresourceset",
    reconciles: &[GroupKind::new(ClusterResourceSet::GROUP, ClusterResourceSet::KIND)],
    start: |manager, ()| start(manager),
};

/// Starts the controller.
fn start(manager: &Manager) {
    let this = ResourceSetController {
        manager: manager.clone(),
        sets: manager.objects(),
        bindings: manager.objects(),
        clusters: manager.objects(),
        secrets: manager.objects(),
        config_maps: manager.objects(),
    };
    this.sets.index(BY_RESOURCE, |set| {
        let namespace = set.metadata.namespace.as_deref().unwrap_or_default();
        let resources = set.spec.resources.iter();
        resources.map(|resource| resource_key(&resource.kind, namespace, &resource.name)).collect()
    });
    let (of_cluster, of_connection, clusters) = (this.sets.clone(), this.sets.clone(), this.clusters.clone());
    let controller = Controller::new(manager, CONTROLLER.name)
        .reconciles(&this.sets)
        .time_limit(RECONCILE)
        .watches(&this.clusters, move |change| selecting(&of_cluster, change))
        .watches(&this.bindings, of_lost_binding)
        .watches(&this.secrets, naming(&this.sets))
        .watches(&this.config_maps, naming(&this.sets));
    manager.clusters().notify(&controller.queue(), move |name| {
        let cluster = clusters.get(name);
        cluster.map_or_else(Vec::new, |cluster| selected_by(&of_connection, &cluster))
    });
    controller.start(Frame::new(this));
}

fn resource_key(kind: &str, namespace: &str, name: &str) -> String {
    format!("{kind}/{namespace}/{name}")
}

/// Returns the sets that name the object that changed.
fn naming<K: Kind<DynamicType = ()>>(
    sets: &Objects<ClusterResourceSet>,
) -> impl Fn(&Change<K>) -> Vec<Request> + Send + Sync + 'static {
    let sets = sets.clone();
    move |change| {
        let NamespacedName { namespace, name } = change.name();
        requests_of(&sets.by_index(BY_RESOURCE, &resource_key(&K::kind(&()), &namespace, &name)))
    }
}

/// Returns the sets that select a Cluster by its labels.
fn selected_by(sets: &Objects<ClusterResourceSet>, cluster: &Cluster) -> Vec<Request> {
    let mut found = sets.in_namespace(cluster.metadata.namespace.as_deref().unwrap_or_default());
    found.retain(|set| selector::matches(&set.spec.cluster_selector, cluster.metadata.labels.as_ref()));
    requests_of(&found)
}

/// Returns the sets that select a Cluster, if a fact on which this depends has changed.
fn selecting(sets: &Objects<ClusterResourceSet>, change: &Change<Cluster>) -> Vec<Request> {
    let facts = |cluster: &Arc<Cluster>| {
        let is_paused = !paused::causes(cluster.as_ref(), Some(cluster)).is_empty();
        (cluster.meta().labels.clone(), is_torn_down(cluster), is_paused)
    };
    if change.old.as_ref().map(facts) == change.new.as_ref().map(facts) {
        return Vec::new();
    }
    change.new.as_ref().map_or_else(Vec::new, |cluster| selected_by(sets, cluster))
}

/// Returns the sets of a binding that is gone. If its Cluster is still there, they apply their resources again.
fn of_lost_binding(change: &Change<ClusterResourceSetBinding>) -> Vec<Request> {
    if change.new.is_some() {
        return Vec::new();
    }
    owner_requests(change, ClusterResourceSet::GROUP, ClusterResourceSet::KIND)
}

impl Planned for ResourceSetController {
    type Object = ClusterResourceSet;
    type Observed = Observed;
    type Plan = Plan;

    const FINALIZER: Option<&'static str> = Some(FINALIZER);
    const OWNED: &'static [&'static str] = &[RESOURCES_APPLIED, "Paused"];

    fn objects(&self) -> &Objects<ClusterResourceSet> {
        &self.sets
    }

    fn manager(&self) -> &Manager {
        &self.manager
    }

    /// A set belongs to no Cluster. The pause of a Cluster concerns only what is applied to it.
    fn cluster(&self, _: &Arc<ClusterResourceSet>) -> Membership {
        Membership::None
    }

    async fn observe(
        &self,
        set: Arc<ClusterResourceSet>,
        _: Option<Arc<Cluster>>,
    ) -> Result<Option<Observed>> {
        Ok(Some(self.read(set).await?))
    }

    fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
        plan(observed, now)
    }

    async fn apply(&self, observed: &Observed, plan: Plan) -> Outcome<ClusterResourceSet> {
        self.execute(observed, plan).await
    }

    fn observed_generation(set: &mut ClusterResourceSet) -> Option<&mut Option<i64>> {
        Some(&mut set.status.get_or_insert_default().observed_generation)
    }
}
