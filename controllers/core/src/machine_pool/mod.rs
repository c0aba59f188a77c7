//! The MachinePool controller: it brings a group of machines, which the infrastructure manages, to its Nodes.

mod deletion;
mod facts;
mod machines;
mod nodes;
mod observe;
mod observed;
mod plan;
mod status;
mod v1beta1;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::controller::requests_of;
use engine::external::{change_key, reference_key};
use engine::in_place::SharedUpdater;
use engine::names::POOL_NAME;
use engine::object::label;
use engine::{
    Applied, Change, Controller, Descriptor, External, Frame, GroupKind, Manager, Membership, NamespacedName,
    Objects, Outcome, Planned, Queue, Request, Result, Tools,
};
use k8s_openapi::api::core::v1::Node;
use kube::api::DynamicObject;
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine, MachinePool};
use schemas::deletion_grace::is_torn_down;
use schemas::naming;

pub use observed::Observed;
pub use plan::{FINALIZER, Plan, plan};

use crate::change::cluster_of;
use observe::PoolController;

const OWNED: &[&str] = &["Paused"];
const CONCURRENCY: usize = 50;
const BY_CLUSTER_NAME: &str = "spec.clusterName";
const BY_REFERENCE: &str = "reference";
const BY_LABEL: &str = "pool-name";
const BY_PROVIDER_ID: &str = "spec.providerIDList";
const BY_NODE: &str = "status.nodeRefs";

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor<SharedUpdater> = Descriptor {
    name: "machinepool",
    reconciles: &[GroupKind::new(MachinePool::GROUP, MachinePool::KIND)],
    start: |manager, _| start(manager),
};

/// Starts the MachinePool controller, if its feature gate is on.
fn start(manager: &Manager) {
    if !manager.features().machine_pool {
        return;
    }
    let pools = manager.objects::<MachinePool>();
    index(&pools);
    let (clusters, machines) = (manager.objects::<Cluster>(), manager.objects::<Machine>());
    let of_clusters = pools.clone();
    let controller = Controller::new(manager, CONTROLLER.name)
        .concurrency(CONCURRENCY)
        .reconciles(&pools)
        .owns(&machines, MachinePool::GROUP, MachinePool::KIND)
        .watches(&clusters, move |change| of_cluster(&of_clusters, change));
    let queue = controller.queue();
    watch_workloads(manager, &pools, &queue);
    let referring = pools.clone();
    let external = External::new(manager, &queue, move |resource, change| {
        let mut requests = requests_of(&referring.by_index(BY_REFERENCE, &change_key(resource, change)));
        requests.extend(of_part(&referring, change));
        requests
    });
    let (manager, applied) = (manager.clone(), Applied::default());
    controller.start(Frame::new(PoolController { manager, clusters, pools, machines, external, applied }));
}

fn index(pools: &Objects<MachinePool>) {
    let namespace = |pool: &MachinePool| pool.metadata.namespace.clone().unwrap_or_default();
    pools.index(BY_CLUSTER_NAME, move |pool| {
        vec![NamespacedName::new(namespace(pool), pool.spec.cluster_name.as_str()).to_string()]
    });
    pools.index(BY_REFERENCE, move |pool| {
        let spec = &pool.spec.template.spec;
        let references = [spec.bootstrap.config_ref.as_ref(), Some(&spec.infrastructure_ref)];
        references.into_iter().flatten().map(|reference| reference_key(&namespace(pool), reference)).collect()
    });
    pools.index(BY_LABEL, move |pool| {
        let name = pool.metadata.name.as_deref().unwrap_or_default();
        vec![format!("{}/{}", namespace(pool), naming::label_value(name))]
    });
    pools.index(BY_PROVIDER_ID, move |pool| {
        pool.spec.provider_id_list.iter().map(|id| in_cluster(pool, id)).collect()
    });
    pools.index(BY_NODE, move |pool| {
        let nodes = pool.status.iter().flat_map(|status| &status.node_refs);
        nodes.filter_map(|node| Some(in_cluster(pool, node.name.as_deref()?))).collect()
    });
}

/// Returns `namespace/cluster/value`, an index key that is unique across clusters.
fn in_cluster(pool: &MachinePool, value: &str) -> String {
    let namespace = pool.metadata.namespace.as_deref().unwrap_or_default();
    format!("{namespace}/{}/{value}", pool.spec.cluster_name)
}

/// Requests the MachinePools of a Node, and those of a cluster that was connected or lost.
fn watch_workloads(manager: &Manager, pools: &Objects<MachinePool>, queue: &Arc<Queue>) {
    let all = pools.clone();
    manager
        .clusters()
        .notify(queue, move |cluster| requests_of(&all.by_index(BY_CLUSTER_NAME, &cluster.to_string())));
    let all = pools.clone();
    manager.clusters().watch::<Node>(queue, move |cluster, change| {
        let mut requests = Vec::new();
        for node in change.objects() {
            let name = node.metadata.name.as_deref().unwrap_or_default();
            requests.extend(requests_of(&all.by_index(BY_NODE, &format!("{cluster}/{name}"))));
            if let Some(id) = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()) {
                requests.extend(requests_of(&all.by_index(BY_PROVIDER_ID, &format!("{cluster}/{id}"))));
            }
        }
        requests
    });
}

/// Returns the MachinePools of a Cluster that appeared, was deleted, or of which something changed that the rules depend on.
fn of_cluster(pools: &Objects<MachinePool>, change: &Change<Cluster>) -> Vec<Request> {
    let facts = |cluster: &Arc<Cluster>| {
        (cluster.spec.paused, cluster.condition_is_true("ControlPlaneInitialized"), is_torn_down(cluster))
    };
    if change.old.as_ref().map(facts) == change.new.as_ref().map(facts) {
        return Vec::new();
    }
    requests_of(&pools.by_index(BY_CLUSTER_NAME, &change.name().to_string()))
}

/// Returns the MachinePool of an infrastructure object that there is for one machine, by the object's label.
fn of_part(pools: &Objects<MachinePool>, change: &Change<DynamicObject>) -> Vec<Request> {
    let namespace = change.name().namespace;
    let labels = change.objects().filter_map(|object| label(object.as_ref(), POOL_NAME));
    labels.flat_map(|value| requests_of(&pools.by_index(BY_LABEL, &format!("{namespace}/{value}")))).collect()
}

impl Planned for PoolController {
    type Object = MachinePool;
    type Observed = Observed;
    type Plan = Plan;

    const FINALIZER: Option<&'static str> = Some(FINALIZER);
    const OWNED: &'static [&'static str] = OWNED;
    const DEBOUNCES_MESSAGES: bool = true;

    fn objects(&self) -> &Objects<MachinePool> {
        &self.pools
    }

    fn manager(&self) -> &Manager {
        &self.manager
    }

    fn cluster(&self, pool: &Arc<MachinePool>) -> Membership {
        cluster_of(&self.clusters, pool.as_ref(), &pool.spec.cluster_name)
    }

    async fn has_parts(&self, pool: &Arc<MachinePool>) -> bool {
        self.has_any_part(pool).await
    }

    async fn observe(
        &self,
        pool: Arc<MachinePool>,
        cluster: Option<Arc<Cluster>>,
    ) -> Result<Option<Observed>> {
        let Some(cluster) = cluster else { return Ok(None) };
        Ok(Some(self.read(pool, cluster).await))
    }

    fn plan(observed: &Observed, _: DateTime<Utc>) -> Plan {
        plan(observed)
    }

    async fn apply(&self, _: &Observed, plan: Plan) -> Outcome<MachinePool> {
        Tools::new(CONTROLLER.name, &self.manager).applied(&self.applied).perform(plan).await
    }

    fn observed_generation(pool: &mut MachinePool) -> Option<&mut Option<i64>> {
        Some(&mut pool.status.get_or_insert_default().observed_generation)
    }
}
