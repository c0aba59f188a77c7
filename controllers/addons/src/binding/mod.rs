//! The ClusterResourceSetBinding controller: a binding is deleted with its Cluster.

mod observe;
pub mod observed;
pub mod plan;

use engine::controller::requests_of;
use engine::{
    Action, Change, Controller, Descriptor, GroupKind, Manager, Objects, Reconciler, Request, Result,
};
use schemas::addons::ClusterResourceSetBinding;
use schemas::cluster::Cluster;
use schemas::deletion_grace::is_torn_down;

use observe::BindingController;
use plan::{Plan, cluster_of};

/// Index of bindings by their Cluster.
const BY_CLUSTER_NAME: &str = "spec.clusterName";

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor = Descriptor {
    name: "clusterresourcesetbinding",
    reconciles: &[GroupKind::new(ClusterResourceSetBinding::GROUP, ClusterResourceSetBinding::KIND)],
    start: |manager, ()| start(manager),
};

/// Starts the controller.
fn start(manager: &Manager) {
    let this = BindingController { bindings: manager.objects(), clusters: manager.objects() };
    this.bindings.index(BY_CLUSTER_NAME, |binding| vec![cluster_of(binding).to_string()]);
    let bindings = this.bindings.clone();
    Controller::new(manager, CONTROLLER.name)
        .reconciles(&this.bindings)
        .watches(&this.clusters, move |change| of_ending_cluster(&bindings, change))
        .start(this);
}

/// Returns the bindings of a Cluster that is being torn down or gone.
fn of_ending_cluster(
    bindings: &Objects<ClusterResourceSetBinding>,
    change: &Change<Cluster>,
) -> Vec<Request> {
    if change.new.as_ref().is_some_and(|cluster| !is_torn_down(cluster)) {
        return Vec::new();
    }
    requests_of(&bindings.by_index(BY_CLUSTER_NAME, &change.name().to_string()))
}

impl Reconciler for BindingController {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(observed) = self.read(&request) else { return Ok(Action::done()) };
        match plan::plan(&observed) {
            Plan::Delete => self.bindings.delete(observed.binding.as_ref()).await?,
            Plan::Keep => {}
        }
        Ok(Action::done())
    }
}
