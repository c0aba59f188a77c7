//! The Metal3Cluster controller. The infrastructure of a cluster is its control-plane endpoint, which the user provides.

pub mod plan;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::controller::requests_of;
use engine::{
    Action, Controller, Descriptor, Frame, GroupKind, Manager, Membership, NamespacedName, Objects, Outcome,
    Planned, Result, owners,
};
use schemas::cluster::{Cluster, Machine};
use schemas::infrastructure::Metal3Cluster;

use crate::names::CLUSTER_FINALIZER;
use plan::Observed;

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor = Descriptor {
    name: "metal3cluster",
    reconciles: &[GroupKind::new(Metal3Cluster::GROUP, Metal3Cluster::KIND)],
    start: |manager, ()| start(manager),
};

/// Starts the Metal3Cluster controller.
fn start(manager: &Manager) {
    let controller = Metal3ClusterController {
        objects: manager.objects(),
        clusters: manager.objects(),
        machines: manager.objects(),
        manager: manager.clone(),
    };
    let owned_by = |objects: &Objects<Metal3Cluster>, cluster: &NamespacedName| {
        let mut owned = objects.in_namespace(&cluster.namespace);
        owned.retain(|object| owners::named::<Cluster>(object.as_ref()).as_ref() == Some(cluster));
        requests_of(&owned)
    };
    let (of_cluster, of_machine) = (controller.objects.clone(), controller.objects.clone());
    Controller::new(manager, CONTROLLER.name)
        .reconciles(&controller.objects)
        .watches(&controller.clusters, move |change| owned_by(&of_cluster, &change.name()))
        .watches(&controller.machines, move |change| {
            // Only the deletion of the last Machine matters: it lets the Metal3Cluster go.
            let Some(machine) = change.old.as_ref().filter(|_| change.new.is_none()) else {
                return Vec::new();
            };
            let namespace = change.name().namespace;
            owned_by(&of_machine, &NamespacedName::new(namespace, machine.spec.cluster_name.as_str()))
        })
        .start(Frame::new(controller));
}

struct Metal3ClusterController {
    objects: Objects<Metal3Cluster>,
    clusters: Objects<Cluster>,
    machines: Objects<Machine>,
    manager: Manager,
}

impl Planned for Metal3ClusterController {
    type Object = Metal3Cluster;
    type Observed = Observed;
    type Plan = Metal3Cluster;

    const FINALIZER: Option<&'static str> = Some(CLUSTER_FINALIZER);
    const OWNED: &'static [&'static str] = plan::OWNED;

    fn objects(&self) -> &Objects<Metal3Cluster> {
        &self.objects
    }

    fn manager(&self) -> &Manager {
        &self.manager
    }

    /// Without an owner, the Metal3Cluster waits until the Cluster's controller sets the reference.
    fn cluster(&self, object: &Arc<Metal3Cluster>) -> Membership {
        let Some(name) = owners::named::<Cluster>(object.as_ref()) else { return Membership::Waits };
        self.clusters.get(&name).map_or(Membership::Missing(None), Membership::Of)
    }

    async fn has_parts(&self, object: &Arc<Metal3Cluster>) -> bool {
        owners::named::<Cluster>(object.as_ref())
            .is_some_and(|cluster| !self.machines.by_cluster(&cluster).is_empty())
    }

    async fn observe(
        &self,
        object: Arc<Metal3Cluster>,
        cluster: Option<Arc<Cluster>>,
    ) -> Result<Option<Observed>> {
        let Some(cluster) = cluster else { return Ok(None) };
        let has_machines = !self.machines.by_cluster(&NamespacedName::of(cluster.as_ref())).is_empty();
        Ok(Some(Observed { object, cluster, has_machines }))
    }

    fn plan(observed: &Observed, now: DateTime<Utc>) -> Metal3Cluster {
        plan::plan(observed, now)
    }

    async fn apply(&self, _: &Observed, wanted: Metal3Cluster) -> Outcome<Metal3Cluster> {
        Outcome { wanted: Some(wanted), errors: Vec::new(), action: Action::done() }
    }
}
