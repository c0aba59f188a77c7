//! The controller of Metal3Data: it claims addresses, and writes the Secrets with metadata and network data.

mod apply;
mod claims;
mod events;
mod observe;
mod observed;
mod plan;

use std::sync::Arc;

use engine::object::{is_deleting, label};
use engine::{
    Action, Manager, NamespacedName, Objects, Reconciler, Request, Result, finalizer, names, paused,
};
use k8s_openapi::api::core::v1::Secret;
use schemas::cluster::{Cluster, Machine};
use schemas::infrastructure::{Metal3Data, Metal3DataClaim, Metal3DataTemplate, Metal3Machine};
use schemas::metal3::BareMetalHost;

use crate::data::names::DATA_FINALIZER;

use claims::AddressClaims;
pub use claims::{Lease, Leased};
pub use events::start;
pub use observed::Observed;
pub use plan::{Plan, plan};

struct DataReconciler {
    data: Objects<Metal3Data>,
    templates: Objects<Metal3DataTemplate>,
    claims: Objects<Metal3DataClaim>,
    metal3_machines: Objects<Metal3Machine>,
    machines: Objects<Machine>,
    hosts: Objects<BareMetalHost>,
    clusters: Objects<Cluster>,
    secrets: Objects<Secret>,
    addresses: AddressClaims,
}

impl DataReconciler {
    fn new(manager: &Manager) -> Self {
        Self {
            data: manager.objects(),
            templates: manager.objects(),
            claims: manager.objects(),
            metal3_machines: manager.objects(),
            machines: manager.objects(),
            hosts: manager.objects(),
            clusters: manager.objects(),
            secrets: manager.objects(),
            addresses: AddressClaims::new(manager),
        }
    }
}

impl Reconciler for DataReconciler {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(data) = self.data.get(&request) else { return Ok(Action::done()) };
        let cluster = match label(data.as_ref(), names::CLUSTER_NAME) {
            Some(name) => self.clusters.get(&NamespacedName::new(request.namespace.as_str(), name)),
            None => None,
        };
        let is_missing = cluster.is_none() && label(data.as_ref(), names::CLUSTER_NAME).is_some();
        let waits = is_missing && !is_deleting(data.as_ref());
        if waits || !paused::causes(data.as_ref(), cluster.as_deref()).is_empty() {
            return Ok(Action::done());
        }
        // The finalizer is there before the first claim of an address.
        let data: Arc<Metal3Data> = finalizer::ensure(&self.data, &data, DATA_FINALIZER).await?;
        let observed = self.observe(data);
        let plan = plan(&observed);
        self.apply(&observed, plan).await.map(|()| Action::done())
    }
}
