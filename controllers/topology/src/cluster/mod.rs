//! Clusters with `spec.topology`: creates all objects of the cluster from its ClusterClass, keeps them as the class and the Cluster want them,
//! and takes them through upgrades.
//!
//! `observe` reads the class, its templates and what exists; `plan` decides about versions and makes the wanted objects; `apply` creates,
//! changes and deletes objects. At rest, no request is made.

mod apply;
mod blocked;
pub mod configuration;
mod hooks;
mod lifecycle;
mod memory;
mod observe;
mod observed;
mod patching;
pub mod plan;
mod planner;
mod run;
pub mod status;
mod watches;

use engine::{Controller, Descriptor, External, Manager};
use k8s_openapi::api::core::v1::{Node, Secret};
use schemas::cluster::{Cluster, ClusterClass, Machine, MachineDeployment, MachineHealthCheck, MachinePool};

pub use blocked::Blocked;
pub use observed::Observed;
pub use watches::matters;

use crate::extensions::Context;
use run::TopologyController;

const CONCURRENCY: usize = 10;

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor<Context> = Descriptor { name: "topology/cluster", reconciles: &[], start };

/// Starts the controller of topologies.
fn start(manager: &Manager, context: &Context) {
    if !manager.features().cluster_topology {
        return;
    }
    let (clusters, classes) = (manager.objects::<Cluster>(), manager.objects::<ClusterClass>());
    watches::index(&clusters, &classes);
    let (deployments, pools) = (manager.objects::<MachineDeployment>(), manager.objects::<MachinePool>());
    let (machines, checks) = (manager.objects::<Machine>(), manager.objects::<MachineHealthCheck>());
    let of_class = clusters.clone();
    let controller = Controller::new(manager, CONTROLLER.name)
        .concurrency(CONCURRENCY)
        .reconciles_if(&clusters, watches::matters)
        .watches(&classes, move |change| watches::of_class(change, &of_class))
        .watches(&deployments, watches::of_topology)
        .watches(&pools, watches::of_topology)
        .watches(&machines, watches::of_machine)
        .watches(&checks, watches::of_health_check)
        .reads(&manager.objects::<Secret>());
    let queue = controller.queue();
    manager.clusters().notify(&queue, |cluster| vec![cluster.clone()]);
    manager
        .clusters()
        .watch::<Node>(&queue, move |cluster, change| watches::of_node(cluster, change, &pools));
    let external = External::new(manager, &queue, move |resource, change| {
        watches::of_external(resource, change, &clusters, &classes)
    });
    controller.start(TopologyController::new(manager, context, external));
}
